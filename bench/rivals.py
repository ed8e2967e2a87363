"""The rivals' table: accuracy against tokens charged, and against what their authors would count.

    python bench/rivals.py RUN [--page docs/rivals.md]   # of `thinkcap study --preset rivals --out RUN`
    python bench/rivals.py --study 100                   # makes that study of so many questions first

Both print Markdown, and fail if any row is above its cap. What sixteen budgets cost is `bench/rivals_replay.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from page import written
from thinkcap.policies.registry import RIVALS
from thinkcap.statistics.bootstrap import percentile_interval, weights
from thinkcap.study.config import StudyConfig
from thinkcap.study.options import PRESETS
from thinkcap.study.rivals import PAPER
from thinkcap.study.run import run

DRAWS = 2000
BASE = "close"
"""What every method is compared with: the plainest way to hold a cap with thinking."""

COLUMNS = ("policy", "budget", "question", "verdict", "tokens_charged", "notes")

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

    @property
    def shown(self) -> str:
        return f"`{self.name}`" + (" (rival)" if self.rival else "")

    @property
    def trials(self) -> float:
        """Their share of what is charged."""
        return float((self.charged - self.claimed).sum() / self.charged.sum())

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


def methods(run: Path) -> tuple[list[Method], list[int]]:
    """The study's methods with all caps and questions; one with missing rows is said and left out."""
    rows = pq.read_table(run / "rows.parquet")
    columns = {name: rows[name].to_numpy(zero_copy_only=False) for name in COLUMNS}
    above = int(np.sum(columns["tokens_charged"] > columns["budget"]))
    if above:
        sys.exit(f"{above} rows are above their cap")
    caps = sorted({int(b) for b in columns["budget"]})
    questions = sorted(set(columns["question"]))
    place = {question: i for i, question in enumerate(questions)}
    found: dict[str, dict[int, list[tuple[int, bool, int, int]]]] = {}
    for policy, budget, question, verdict, charged, notes in zip(*columns.values(), strict=True):
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


Areas = tuple[float, float, float, float]
"""An area, how far it is from the base's, and the interval of that."""


def printed(table: Sequence[Method], caps: Sequence[int]) -> str:
    count = table[0].right.shape[1]
    drawn = np.concatenate([*weights(np.ones(count, dtype=np.int64), DRAWS, 0)])
    rows = _measured(table, caps, drawn)
    low, high = _range(caps)
    heads = [f"{cap}: right % (charged, claimed)" for cap in caps]
    lines = [
        f"{count} questions, caps {', '.join(map(str, caps))}, no row above its cap. *Charged* counts every "
        "token, trials too; *claimed* leaves trials out, as the authors do. The area is the mean accuracy that a "
        f"number of tokens buys, over the logarithm of {low:.0f} to {high:.0f} tokens; differences from `{BASE}` "
        f"are in points, with 95 % intervals from {DRAWS:,} paired draws of questions.",
        "",
        f"| method | area charged | against `{BASE}` | area claimed | against `{BASE}` | {' | '.join(heads)} |",
        "|---|" + "---:|" * (4 + len(caps)),
    ]
    for method, areas in rows:
        cells = [text for area in areas for text in (f"{100 * area[0]:.1f}", _gap(*area[1:]))]
        for at in range(len(caps)):
            right, charged, claimed = (100 * method.right[at].mean(), method.charged[at], method.claimed[at])
            cells.append(f"{right:.1f} ({charged.mean():.0f}, {claimed.mean():.0f})")
        lines.append(f"| {method.shown} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_matched(table, caps, drawn), "", *_surprises(rows)])


def _range(caps: Sequence[int]) -> tuple[float, float]:
    """What a method may spend on average, for it to count."""
    return caps[0] / 4, float(caps[-1])


def _measured(table: Sequence[Method], caps: Sequence[int], drawn: Floats) -> list[tuple[Method, list[Areas]]]:
    """The methods with both their areas, the largest first."""
    low, high = _range(caps)
    whole = np.ones((1, drawn.shape[1]))
    base = next(m for m in table if m.name == BASE)
    plain = base.area(base.charged, whole, low, high), base.area(base.charged, drawn, low, high)
    rows = []
    for method in table:
        areas = []
        for tokens in (method.charged, method.claimed):
            gap = method.area(tokens, drawn, low, high) - plain[1]
            here = method.area(tokens, whole, low, high)
            areas.append((float(here[0]), float((here - plain[0])[0]), *percentile_interval(gap)))
        rows.append((method, areas))
    return sorted(rows, key=lambda row: -row[1][0][0])


def _gap(at: float, low: float, high: float) -> str:
    return f"{100 * at:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def _matched(table: Sequence[Method], caps: Sequence[int], drawn: Floats) -> list[str]:
    """At each cap the rival with the most right answers, beside the paper's methods."""
    ours, theirs = ([m for m in table if m.name in PAPER], [m for m in table if m.rival])
    iris = next(m for m in ours if m.name == "iris")
    share = drawn / drawn.sum(axis=1, keepdims=True)
    lines = [
        "At the same cap, the best of each side picked on these very questions:",
        "",
        "| cap | best of the paper's, right % (charged) | `iris` | best rival | against the best | and `iris` |",
        "|---:|---|---|---|---:|---:|",
    ]
    beats = []
    for at, cap in enumerate(caps):
        best, rival = _best(ours, at), _best(theirs, at)
        gaps = []
        for other in (best, iris):
            more = rival.right[at] - other.right[at]
            gaps.append((float(more.mean()), *percentile_interval(share @ more)))
        if gaps[0][1] > 0:
            beats.append(f"`{rival.name}` at {cap}")
        cells = [
            f"`{m.name}` {100 * m.right[at].mean():.1f} ({m.charged[at].mean():.0f})" for m in (best, iris, rival)
        ]
        lines.append(f"| {cap} | {' | '.join([*cells, *(_gap(*gap) for gap in gaps)])} |")
    told = "At no cap does a rival beat the best of the paper's methods by more than chance allows."
    return [*lines, "", f"Rivals beat the best of the paper's methods: {', '.join(beats)}." if beats else told]


def _best(side: Sequence[Method], at: int) -> Method:
    """The most right answers, and of several such the fewest tokens."""
    return max(side, key=lambda m: (m.right[at].mean(), -m.charged[at].mean()))


def _surprises(rows: Sequence[tuple[Method, list[Areas]]]) -> list[str]:
    """What the numbers say, in words."""
    rivals = [(method, *areas) for method, areas in rows if method.rival]
    free = [m.shown for m, charged, claimed in rivals if claimed[2] > 0 >= charged[2]]
    real = [m.shown for m, charged, _ in rivals if charged[2] > 0]
    worse = [m.shown for m, charged, _ in rivals if charged[3] < 0]
    trials = sorted(((m.trials, m.name) for m, _, _ in rivals if m.trials >= 0.02), reverse=True)
    best = rows[0][0]
    said = [f"- The largest area with every token charged is that of {best.shown}."]
    for names, what in (
        (real, f"Better than `{BASE}` with every token charged"),
        (free, f"Better than `{BASE}` only while their trials are free"),
        (worse, f"Worse than `{BASE}` with every token charged"),
    ):
        said.append(f"- {what}: {', '.join(names) or 'none'}.")
    shares = ", ".join(f"`{name}` {100 * share:.0f} %" for share, name in trials)
    return [*said, *([f"- Trials among the tokens charged: {shares}."] if shares else [])]


async def studied(questions: int, folder: Path) -> None:
    words = {**PRESETS["rivals"], "limit": questions, "out": str(folder)}
    await run(StudyConfig.from_mapping(words), watch=lambda p: p.done % 500 or print(p.done, file=sys.stderr))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--page", type=Path, help="also write what is printed into this page's block 'rivals'")
    parser.add_argument("--study", type=int, metavar="QUESTIONS")
    args = parser.parse_args()
    if args.run is None and not args.study:
        parser.error("wanted the folder of a finished study, or --study")
    with tempfile.TemporaryDirectory() as folder:
        if args.study:
            asyncio.run(studied(args.study, Path(folder)))
        text = printed(*methods(args.run or Path(folder)))
    print(text)
    if args.page:
        written(args.page, "rivals", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
