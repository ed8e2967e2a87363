"""What sixteen budgets of a method generate, against its largest budget alone, and the least that its rules allow.

    python bench/rivals_replay.py --questions 200

For each method that tries answers on the way, and for `close` beside them. It fails where thoughts and trials are
more than 1.2 times as many, where a method whose trials are its answers needs more than 1.2 times in all, or where
anything was written twice.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from thinkcap.core.engine import Engine
from thinkcap.engines import open_engine
from thinkcap.policies.registry import PolicySpec, parse
from thinkcap.study.config import StudyConfig
from thinkcap.study.rivals import TRIALS
from thinkcap.study.rows import Row
from thinkcap.study.run import run
from thinkcap.study.values import PolicyPlan
from thinkcap.traces.remember import Remembering
from thinkcap.traces.store import TraceStore

BUDGETS = tuple(range(32, 513, 32))
GOAL = 1.2
TWICE = 1.01
"""So much more than the least possible is written anew, and not cut or found."""
BEFORE = ("think", "trial")
"""Stages before the answer; the one after a thought that was cut is `close`."""
AT_ONCE = 20
"""Questions at a time, after each of which there is a table to look at."""
METHODS = (
    PolicySpec("close"),
    *map(PolicySpec.from_table, TRIALS),
    *map(parse, ("sure(at=line,finish=last)", "agree(finish=last)", "settle(at=line,last=4,finish=last)")),
)


@dataclass
class Replayed:
    """What one method has written so far."""

    method: PolicySpec
    rows: int = 0
    right: int = 0
    alone: Counter[str] = field(default_factory=Counter)
    every: Counter[str] = field(default_factory=Counter)
    least: int = 0

    async def add(self, offset: int, questions: int, engine: Engine) -> None:
        """The largest budget alone and all budgets, each from nothing, of so many questions more."""
        alone, every = [
            await _rows(self.method, budgets, offset, questions, engine) for budgets in (BUDGETS[-1:], BUDGETS)
        ]
        self.rows += len(every)
        self.right += sum(row.verdict == "right" for row in every)
        self.alone += _generated(alone)
        self.every += _generated(every)
        self.least += least(every)

    @property
    def times(self) -> float:
        return self.every.total() / self.alone.total()

    @property
    def before_answers(self) -> float:
        """Times as many thoughts and trials."""
        return sum(self.every[s] for s in BEFORE) / sum(self.alone[s] for s in BEFORE)

    @property
    def fine(self) -> bool:
        free = self.times <= GOAL or self.method.options.get("finish") != "last"
        return free and self.before_answers <= GOAL and self.every.total() <= TWICE * self.least

    def __str__(self) -> str:
        cells = (
            f"`{self.method}`",
            f"{100 * self.right / self.rows:.1f}",
            f"{self.alone.total():,}",
            *(f"{self.every[stage]:,}" for stage in (*BEFORE, "close")),
            f"{self.before_answers:.2f}",
            f"{self.times:.2f}",
            f"{self.least / self.alone.total():.2f}",
        )
        return f"| {' | '.join(cells)} |"


async def _rows(
    method: PolicySpec, budgets: tuple[int, ...], offset: int, questions: int, engine: Engine
) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        plan = (PolicyPlan(method),)
        config = StudyConfig(policies=plan, budgets=budgets, offset=offset, limit=questions, out=Path(folder))
        return [*(await run(config, engine=engine)).rows]


def _generated(rows: Sequence[Row]) -> Counter[str]:
    by_stage: Counter[str] = Counter()
    for row in rows:
        for stage in row.stages:
            by_stage[stage.stage] += stage.generated
    return by_stage


def least(rows: Sequence[Row]) -> int:
    """Tokens that these rows cannot do without: of each turn its longest, and of what follows words of ours after
    so many tokens of it the longest too. No two of them begin alike, so no store could serve one from another."""
    needed: dict[tuple[str, int, int], int] = {}
    for row in rows:
        written = 0
        for stage in row.stages:
            forced = stage.prompt - stage.reread - row.stages[0].prompt if stage.charged else 0
            if forced:
                place, tokens = (row.question, stage.reread, forced), stage.charged - forced
            else:
                written += stage.charged
                place, tokens = (row.question, 0, 0), written
            needed[place] = max(tokens, needed.get(place, 0))
    return sum(needed.values())


async def measured(questions: int) -> list[Replayed]:
    found = [Replayed(method) for method in METHODS]
    async with aclosing(await open_engine("bundled")) as bare:
        for start in range(0, questions, AT_ONCE):
            with (
                tempfile.TemporaryDirectory() as folder,
                TraceStore.open(Path(folder) / "shared.sqlite", bare.card.fingerprint) as store,
            ):
                # A thought that another method has asked for is not computed anew; whoever asks still counts it.
                engine = Remembering(bare, store)
                for one in found:
                    await one.add(start, min(AT_ONCE, questions - start), engine)
            done = min(questions, start + AT_ONCE)
            print(done, "questions", *found, sep="\n", file=sys.stderr, flush=True)
    return found


def printed(found: Sequence[Replayed], questions: int) -> str:
    head = ("method", "right %", f"{BUDGETS[-1]} alone", f"{len(BUDGETS)} budgets: thoughts", "trials", "answers")
    reached = "reached" if all(one.fine for one in found) else "not reached"
    lines = [
        f"{questions} questions, {len(BUDGETS)} budgets from {BUDGETS[0]} to {BUDGETS[-1]}, tokens generated.",
        "",
        f"| {' | '.join(head)} | times alone: thoughts and trials | all | least possible |",
        "|---|" + "---:|" * 8,
        *map(str, found),
        "",
        "*Least possible* counts each turn once, at its longest, and each trial and answer once for each place in",
        f"the thought. The goal, at most {GOAL} times, is {reached} by thoughts and trials of every method, and",
        "by all tokens of those that give their last trial as the answer (`finish=last`).",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=200)
    questions = parser.parse_args().questions
    found = asyncio.run(measured(questions))
    print(printed(found, questions))
    return 0 if all(one.fine for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
