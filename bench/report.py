"""Seconds and memory of a whole report (explorer, every table, every figure) over a large study.

    python bench/report.py [--questions 5000] [--keep FOLDER]

The study is made here: chains of known length, both modes and a cascade at sixteen budgets. Prints one line per
step; exits 1 beyond 60 seconds or 1 GB in all at 5,000 questions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from thinkcap.diagnose.summary import summarise, write_summary
from thinkcap.study.columns import write_parquet
from thinkcap.study.config import DENSE
from thinkcap.study.questions import FILE, Asked, Chain
from thinkcap.study.rows import Row, StageRow
from thinkcap.study.values import parse_budgets

BUDGETS = parse_budgets(DENSE)
MOST_SECONDS, MOST_BYTES = 60, 10**9
GROUPS = ("arithmetic", "boolean", "dates", "ordering", "tracking")
WORDS = ("so", "then", "carry", "the", "one", "and", "add", "what", "is", "left", "over", "to", "get")


class Chained:
    """One question's chains, from which every row of it follows."""

    def __init__(self, number: int) -> None:
        self.rng = Random(number)
        self.id, self.group = f"q{number}", GROUPS[number % 5]
        self.long = min(2600, int(self.rng.lognormvariate(5.6, 0.8)) + 20)
        self.short = self.rng.randint(8, 90)
        self.quick, self.deep = self.rng.random() < 0.7, self.rng.random() < 0.93

    def row(self, policy: str, budget: int) -> Row:
        probe = max(1, budget // 4)
        stages = []
        if policy in ("nothink", "town"):
            first = budget if policy == "nothink" else probe
            stages.append(self._stage("answer" if policy == "nothink" else "probe", first, self.short))
        if policy == "think" or (policy == "town" and not stages[-1].ended):
            stages.append(self._stage("think", budget if policy == "think" else budget - probe, self.long))
        last = stages[-1]
        good = self.deep if last.stage == "think" else self.quick
        verdict = ("right" if good else "wrong") if last.ended else "unreadable"
        return Row(
            task="families", question=self.id, group=self.group, model="bench", policy=policy, budget=budget,
            seed=0,
            verdict=verdict, failed=False, error=None, gold_hash=self.id, level=2 if last.ended else 0,
            answer=("42" if good else "41") if last.ended else None, text="#### 42" if last.ended else None,
            guess=False, ended=last.ended, tokens_charged=sum(s.charged for s in stages),
            tokens_generated=sum(s.charged for s in stages), tokens_think=0, tokens_reread=0,
            tokens_prompt=30, calls=len(stages), stage=last.stage, stages=tuple(stages), source="derived",
            grader="bench", prompts="bench", notes={}, claims={},
        )  # fmt: skip

    def _stage(self, name: str, budget: int, length: int) -> StageRow:
        spent = min(budget, length)
        return StageRow(name, budget, spent, spent, 0, 30, length <= budget, "cut")

    def asked(self) -> Asked:
        chains = {}
        for mode, length in (("think", self.long), ("nothink", self.short)):
            spent = min(length, BUDGETS[-1])
            words = [self.rng.choice(WORDS) for _ in range(spent)]
            ends = [0]
            for word in words:
                ends.append(ends[-1] + len(word) + 1)
            cuts = tuple((b, ends[b]) for b in BUDGETS if b < spent)
            chains[mode] = Chain(" ".join(words), spent, length <= BUDGETS[-1], cuts)
        return Asked("families", self.id, 0, self.group, f"Question {self.id}: what is 6 x 7?", "42", {}, chains)


def rows(questions: list[Chained]) -> Iterator[Row]:
    for policy in ("nothink", "think", "town"):
        for budget in BUDGETS:
            for question in questions:
                yield question.row(policy, budget)


def make(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    questions = [Chained(i) for i in range(count)]
    made = list(rows(questions))
    write_parquet(made, folder / "rows.parquet")
    engine = {"model": "bench", "open_tag": "<think>", "close_tag": "</think>"}
    write_summary(
        summarise(folder / "rows.parquet", {"engine": engine, "hardware": "here", "temperature": 0.0}),
        folder / "summary.json",
    )
    encoder = msgspec.json.Encoder()
    with (folder / FILE).open("wb") as file:
        file.writelines(encoder.encode(q.asked()) + b"\n" for q in questions)


def measured(*words: str) -> tuple[float, float, int]:
    """Wall seconds, processor seconds and the largest resident size of one command."""
    started = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-m", "thinkcap", *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"thinkcap {' '.join(words)} ended with status {status}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--questions", type=int, default=5000)
    options.add_argument("--keep", type=Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary) / "run"
        make(folder, chosen.questions)
        page_s, page_cpu, page_bytes = measured("report", str(folder))
        all_s, all_cpu, all_bytes = measured("report", str(folder), "--all")
        size = (folder / "report.html").stat().st_size
    print(f"{chosen.questions} questions, {chosen.questions * 3 * len(BUDGETS):,} rows")
    print(f"explorer alone: {page_s:.1f} s ({page_cpu:.1f} s of processor), {page_bytes / 1e6:.0f} MB")
    print(f"page of {size / 1e6:.2f} MB")
    print(f"explorer, tables and figures: {all_s:.1f} s ({all_cpu:.1f} s of processor), {all_bytes / 1e6:.0f} MB")
    print(json.dumps({"seconds": round(all_s, 2), "bytes": all_bytes, "page_bytes": size}))
    return int(chosen.questions >= 5000 and (all_s > MOST_SECONDS or all_bytes > MOST_BYTES))


if __name__ == "__main__":
    sys.exit(main())
