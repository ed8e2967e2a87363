"""The rivals' table: accuracy against tokens charged, and against what their authors would count.

    thinkcap study --preset rivals --limit 100 --out runs/rivals
    python bench/rivals.py runs/rivals [--page docs/rivals.md]
    python bench/rivals.py --replay [--questions 200]

The first way reads a finished study and prints Markdown; it fails if any row is above its cap. With `--replay`
each method that tries answers on the way runs at its largest budget alone and at sixteen budgets, and prints how
many tokens were generated for both (goal: at most 1.2 times as many).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from thinkcap.api import run_study
from thinkcap.policies.registry import RIVALS, PolicySpec
from thinkcap.statistics.bootstrap import percentile_interval, weights
from thinkcap.study.config import StudyConfig
from thinkcap.study.rivals import TRIALS
from thinkcap.study.values import PolicyPlan

DRAWS = 2000
BASE = "close"
"""What every method is compared with: the plainest way to hold a cap with thinking."""
BUDGETS = tuple(range(32, 513, 32))
GOAL = 1.2
MARK = "<!-- bench/rivals.py -->"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """One line of the table: right, tokens charged and tokens claimed, each caps x questions."""

    name: str
    right: Floats
    charged: Floats
    claimed: Floats

    @property
    def rival(self) -> bool:
        return self.name.partition("(")[0] in RIVALS

    def area(self, tokens: Floats, draw: Floats, low: float, high: float) -> Floats:
        """Per draw of questions: the accuracy that so many tokens on average buy, over their logarithm.

        A step curve: below a method's cheapest cap it has nothing, between two caps the better of what was paid.
        """
        share = draw / draw.sum(axis=1, keepdims=True)
        spent, right = share @ tokens.T, share @ self.right.T
        order = np.argsort(spent, axis=1)
        spent = np.clip(np.take_along_axis(spent, order, 1), low, high)
        best = np.maximum.accumulate(np.take_along_axis(right, order, 1), axis=1)
        ends = np.concatenate([spent[:, 1:], np.full((len(spent), 1), high)], axis=1)
        widths = np.log2(ends) - np.log2(spent)
        return np.asarray((best * widths).sum(axis=1) / np.log2(high / low))


def methods(columns: Mapping[str, Any]) -> tuple[list[Method], list[int]]:
    """The study's methods with all caps and questions; one with missing rows is said and left out."""
    above = int(np.sum(columns["tokens_charged"] > columns["budget"]))
    if above:
        sys.exit(f"{above} rows are above their cap")
    caps = sorted({int(b) for b in columns["budget"]})
    questions = sorted(set(columns["question"]))
    place = {question: i for i, question in enumerate(questions)}
    found: dict[str, dict[int, list[tuple[int, bool, int, int]]]] = {}
    for policy, budget, question, verdict, charged, notes in zip(
        *(columns[c] for c in ("policy", "budget", "question", "verdict", "tokens_charged", "notes")), strict=True
    ):
        told = json.loads(notes)
        row = (place[question], verdict == "right", int(charged), int(charged) - int(told.get("trial_tokens", 0)))
        found.setdefault(policy, {}).setdefault(int(budget), []).append(row)
    table = []
    for name, by in found.items():
        if any(len(by.get(cap, ())) != len(questions) for cap in caps):
            print(f"{name} is not complete and left out", file=sys.stderr)
            continue
        cube = np.array([sorted(by[cap]) for cap in caps], dtype=np.float64)
        table.append(Method(name, cube[:, :, 1], cube[:, :, 2], cube[:, :, 3]))
    return table, caps


def printed(table: Sequence[Method], caps: Sequence[int]) -> str:
    count = table[0].right.shape[1]
    low, high = caps[0] / 4, float(caps[-1])
    drawn = np.concatenate([*weights(np.ones(count, dtype=np.int64), DRAWS, 0)])
    whole = np.ones((1, count))
    base = next(m for m in table if m.name == BASE)
    plain = base.area(base.charged, whole, low, high), base.area(base.charged, drawn, low, high)
    rows = []
    for method in table:
        areas = []
        for tokens in (method.charged, method.claimed):
            gap = method.area(tokens, drawn, low, high) - plain[1]
            at = float((method.area(tokens, whole, low, high) - plain[0])[0])
            areas.append((float(method.area(tokens, whole, low, high)[0]), at, *percentile_interval(gap)))
        rows.append((method, areas))
    rows.sort(key=lambda row: -row[1][0][0])
    heads = [f"{cap}: right % (charged, claimed)" for cap in caps]
    lines = [
        f"{count} questions, caps {', '.join(map(str, caps))}, no row above its cap. *Charged* counts every "
        "token, trials too; *claimed* leaves trials out, as the authors do. The area is the mean accuracy that a "
        f"number of tokens buys, over the logarithm of {low:.0f} to {high:.0f} tokens; differences from `{BASE}` "
        f"in points, with 95 % intervals from {DRAWS:,} paired draws of questions.",
        "",
        f"| method | area charged | against `{BASE}` | area claimed | against `{BASE}` | {' | '.join(heads)} |",
        "|---|" + "---:|" * (4 + len(caps)),
    ]
    for method, areas in rows:
        name = f"`{method.name}`" + (" (rival)" if method.rival else "")
        cells = [text for area in areas for text in (f"{100 * area[0]:.1f}", _gap(*area[1:]))]
        for at in range(len(caps)):
            right, charged, claimed = (100 * method.right[at].mean(), method.charged[at], method.claimed[at])
            cells.append(f"{right:.1f} ({charged.mean():.0f}, {claimed.mean():.0f})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_surprises(rows)])


def _gap(at: float, low: float, high: float) -> str:
    return f"{100 * at:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _surprises(rows: Sequence[tuple[Method, list[tuple[float, float, float, float]]]]) -> list[str]:
    """What the numbers say, in words."""
    said = []
    for method, (charged, claimed) in rows:
        if claimed[1] > 0 >= charged[1] and method.rival:
            said.append(f"- `{method.name}` is ahead of `{BASE}` only while its trials are free.")
        if charged[2] > 0 and method.rival:
            said.append(f"- `{method.name}` beats `{BASE}` with every token charged.")
        trials = float((method.charged - method.claimed).sum() / method.charged.sum())
        if trials >= 0.1:
            said.append(f"- {100 * trials:.0f} % of what `{method.name}` is charged is trials.")
    best = rows[0][0]
    whose = "a rival" if best.rival else "not a rival"
    return [f"- The largest area with every token charged has `{best.name}`, {whose}.", *said]


async def replayed(spec: PolicySpec, questions: int) -> tuple[int, int]:
    """Tokens generated for the largest budget alone, and for all sixteen."""
    found = []
    for budgets in (BUDGETS[-1:], BUDGETS):
        with tempfile.TemporaryDirectory() as folder:
            config = StudyConfig(policies=(PolicyPlan(spec),), budgets=budgets, limit=questions, out=Path(folder))
            result = await run_study(config)
            found.append(int(str(result.summary["tokens_generated"])))
    return found[0], found[1]


def replays(questions: int) -> bool:
    print(f"{questions} questions; tokens generated for {BUDGETS[-1]} alone, and for {len(BUDGETS)} budgets")
    fine = True
    for table in TRIALS:
        spec = PolicySpec.from_table(table)
        alone, all_ = asyncio.run(replayed(spec, questions))
        fine = fine and all_ <= GOAL * alone
        print(f"{spec}: {alone:,} and {all_:,}, {all_ / alone:.2f} times as many (goal: at most {GOAL})")
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--page", type=Path, help="replace what stands between the marks of this page")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--questions", type=int, default=200)
    args = parser.parse_args()
    if args.replay:
        return 0 if replays(args.questions) else 1
    if args.run is None:
        parser.error("wanted the folder of a finished study, or --replay")
    rows = pq.read_table(args.run / "rows.parquet")
    text = printed(*methods({name: rows[name].to_numpy(zero_copy_only=False) for name in rows.column_names}))
    print(text)
    if args.page:
        before, _, rest = args.page.read_text().partition(MARK)
        args.page.write_text(f"{before}{MARK}\n\n{text}\n\n{MARK}{rest.partition(MARK)[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
