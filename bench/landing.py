"""What do last words in a closed thought do? `close` bare, with each sentence, a placebo, and the server alone.

    python bench/landing.py [--questions 300] [--model bundled] [--run runs/landing] [--page docs/dialects.md]
    python bench/landing.py --model http://localhost:8000/v1 --arms bare,native [--block landing-vllm]

One study of the bundled model's families, greedy. At the same cut every arm has thought the same words and has
room for any answer: what the sentence does. At the same cap every arm keeps the same room for its answer, and the
thought pays for the sentence: what it is worth. Differences are to the bare close, question by question.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from page import written
from thinkcap import logs
from thinkcap.api import run_study
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Question, Request
from thinkcap.engines import open_engine
from thinkcap.logs.arms import Arm
from thinkcap.policies.close import SENTENCES
from thinkcap.statistics.paired import PairedDifference, difference, holm
from thinkcap.study.config import StudyConfig

CUTS = (64, 128, 256)
CAPS = (128, 192, 256)
ANSWER = 48
"""Room for an answer under the same cap; the families' answers take about half of it."""
BARE, NATIVE = "bare", "native"
ARMS = (BARE, *SENTENCES, NATIVE)
_GREETING = Question("q", ({"role": "user", "content": "Hi"},))


@dataclass(frozen=True)
class Cell:
    """One arm at one cut or cap."""

    part: str
    at: int
    arm: str
    reserve: int
    budget: int

    @property
    def policy(self) -> dict[str, Any]:
        said = {} if self.arm in (BARE, NATIVE) else {"sentence": self.arm}
        return {"name": NATIVE if self.arm == NATIVE else "close", "reserve": self.reserve, **said}


def cells(forced: Mapping[str, int], arms: Sequence[str] = ARMS) -> list[Cell]:
    """llama.cpp and vLLM count a thought from behind its opening mark: one token less is left for the same cut."""
    room = max(forced.values()) + 2 * ANSWER
    found = []
    for arm in arms:
        mark = int(arm == NATIVE)
        found += [Cell("cut", cut, arm, room + mark, cut + room) for cut in CUTS]
        found += [Cell("cap", cap, arm, ANSWER + forced[arm] + mark, cap) for cap in CAPS]
    return found


async def forced_tokens(model: str) -> dict[str, int]:
    """What each arm puts into the model's mouth; the server writes the closing mark alone."""
    engine = await open_engine(model, concurrency=1)
    try:
        if not engine.card.holds:
            raise SystemExit(f"'{model}' does not end thoughts by itself, so there is no arm '{NATIVE}'")
        close = engine.card.spoken(PROMPTS).close
        words = {BARE: close, **{name: f"\n\n{said}{close}" for name, said in SENTENCES.items()}}
        words[NATIVE] = engine.card.close_tag
        return {
            arm: (await engine.prompt(Request(_GREETING, "think", 1, "close", prefill=(text,)))).forced
            for arm, text in words.items()
        }
    finally:
        await engine.aclose()


async def measured(model: str, questions: int, plan: list[Cell], out: Path) -> list[Arm]:
    policies = [{**cell.policy, "budgets": [cell.budget]} for cell in plan]
    config = StudyConfig.from_mapping({"model": model, "policy": policies, "limit": questions, "out": str(out)})
    result = await run_study(config)
    if result.failed:
        raise SystemExit(f"{result.failed} generations failed; nothing is compared")
    return list(logs.read([out]).arms)


def column(arms: list[Arm], cell: Cell, name: str) -> Any:
    """A cell's rows of all families in one column, in the order of questions."""
    options = {key: value for key, value in cell.policy.items() if key != "name"}
    wanted = (cell.policy["name"], cell.budget, options)
    mine = [arm for arm in arms if (arm.policy, arm.budget, dict(arm.options)) == wanted]
    rows = [
        (arm.task, int(question), value)
        for arm in mine
        for question, value in zip(arm.question, getattr(arm, name), strict=True)
    ]
    return np.array([value for _, _, value in sorted(rows)])


def table(plan: list[Cell], arms: list[Arm], forced: Mapping[str, int]) -> str:
    bare = {(cell.part, cell.at): cell for cell in plan if cell.arm == BARE}
    compared: dict[Cell, PairedDifference] = {}
    lines: dict[Cell, list[str]] = {}
    for cell in plan:
        base = bare[cell.part, cell.at]
        # Where the thought ended by itself nothing was closed, and all arms are one.
        cut = ~column(arms, base, "ended")
        counted = cut if cell.part == "cut" else np.ones(len(cut), bool)
        right = column(arms, cell, "right")[counted]
        lines[cell] = [f"{cell.at}", cell.arm, f"{forced[cell.arm]}", f"{len(right)}", f"{100 * right.mean():.1f}"]
        if cell is not base:
            compared[cell] = difference(right, column(arms, base, "right")[counted], "question")
    adjusted = holm({cell: found.test.p for cell, found in compared.items()})
    for cell, found in compared.items():
        gain, low, high = (100 * x for x in (found.test.difference, found.low, found.high))
        lines[cell] += [f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]", f"{adjusted[cell]:.2g}"]
    parts = {
        "cut": "Same cut: questions whose thought was closed there.",
        "cap": f"Same cap, {ANSWER} tokens kept for the answer: all questions.",
    }
    told = []
    for part, title in parts.items():
        head = ["tokens of thought" if part == "cut" else "cap", "arm", "forced tokens", "questions"]
        head += ["right (%)", "minus bare, points [95 %]", "p (Holm)"]
        rows = [lines[cell] for cell in sorted(plan, key=lambda c: c.at) if cell.part == part]
        told += [title, "", row(head), "|---" * len(head) + "|", *map(row, rows), ""]
    return "\n".join(told)


def row(values: list[str]) -> str:
    return "| " + " | ".join([*values, *[""] * (7 - len(values))]) + " |"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--run", type=Path, help="keep the run here, and go on with it where it stopped")
    parser.add_argument(
        "--arms", default=",".join(ARMS), help="bare, to which others are compared, and some of them"
    )
    parser.add_argument("--page", type=Path, help="write the table into this page")
    parser.add_argument("--block", default="landing", help="where in the page")
    args = parser.parse_args()
    forced = await forced_tokens(args.model)
    print(f"forced tokens: {forced}", file=sys.stderr)
    arms = [BARE, *(arm for arm in args.arms.split(",") if arm != BARE)]
    if unknown := set(arms) - set(ARMS):
        parser.error(f"no arm is called {', '.join(sorted(unknown))}; there are {', '.join(ARMS)}")
    plan = cells(forced, arms)
    with tempfile.TemporaryDirectory() as folder:
        found = await measured(args.model, args.questions, plan, args.run or Path(folder) / "run")
    said = table(plan, found, forced)
    print(said)
    if args.page:
        some = "" if len(arms) == len(ARMS) else f" --arms {','.join(arms)}"
        # A server's address is of no use to a reader.
        model = "behind a server" if "://" in args.model else f"model `{args.model}`"
        command = f"`python bench/landing.py --questions {args.questions}{some}`, {model}:"
        written(args.page, args.block, f"{command}\n\n{said}")


if __name__ == "__main__":
    asyncio.run(main())
