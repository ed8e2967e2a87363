"""How the cost of a run's verbs grows with its rows: seconds and memory of going on, reporting and calibrating.

    python bench/rows.py [--rows 320000] [--keep FOLDER]

Makes the folder of a finished study (rows as a study writes them, 20 policies at 16 budgets) of a tenth of the
rows and of all of them, and measures each verb in a process of its own. Prints one line per verb and size.
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
import numpy as np
import tomli_w

from thinkcap.core.files import replacing
from thinkcap.diagnose.summary import conclude, write_summary
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.grading import Grader
from thinkcap.policies.registry import PolicySpec
from thinkcap.study.columns import Stored, write_columns
from thinkcap.study.config import DENSE, StudyConfig
from thinkcap.study.journal import COLUMNS, Journal
from thinkcap.study.plan import Cell, StudyPlan, plan
from thinkcap.study.provenance import provenance
from thinkcap.study.questions import FILE, Asked, Chain
from thinkcap.study.rows import Row, StageRow
from thinkcap.study.run import Result
from thinkcap.study.times import write_times
from thinkcap.study.values import PolicyPlan, parse_budgets
from thinkcap.traces.store import TraceStore

BUDGETS = parse_budgets(DENSE)
PLAIN = ("nothink", "think", "think[heuristic]", "close")
RESERVES = tuple(range(8, 8 + 16 * 4, 4))
POLICIES = (*(PolicySpec(name) for name in PLAIN), *(PolicySpec("close", {"reserve": r}) for r in RESERVES))
A_QUESTION = len(POLICIES) * len(BUDGETS)
GOALS = {"resume": (60, 1.5e9), "report": (40, 2e9), "calibrate": (5, 1e9)}
"""Seconds and bytes wanted at 3.2 million rows."""


def reply(prompt: str) -> str:
    return "<think>so</think>#### 42"


async def engine(model: str, **_: object) -> ScriptedEngine:
    """What the study of the bench names as its model; it never writes a token."""
    return ScriptedEngine(reply)


class Chained:
    """The lengths of one question's chains, from which every row of it follows."""

    def __init__(self, number: int) -> None:
        rng = Random(number)
        self.thought = min(2600, int(rng.lognormvariate(5.6, 0.8)) + 20)
        self.answer = rng.randint(8, 90)
        self.quick, self.deep = rng.random() < 0.7, rng.random() < 0.93

    def row(self, cell: Cell, prompts: str) -> Row:
        name, budget = cell.spec.name, cell.budget
        long = name != "nothink"
        chain = self.thought if long else self.answer
        room = budget - 8 if name == "close" else budget
        ended = chain <= room
        stages = [StageRow("think" if long else "answer", room, min(chain, room), 0, 0, 61, ended, "cut")]
        if name == "close" and not ended:
            stages.append(StageRow("close", 8, 6, 6, 0, 61 + room, True, "fresh"))
        good = self.deep if long and ended else self.quick
        answered = ended or name == "close"
        return Row(
            task=cell.task.name, question=cell.question.id, group=cell.question.group, model="scripted",
            policy=cell.spec.label, budget=budget, seed=cell.seed, grader=Grader.version, prompts=prompts,
            verdict=("right" if good else "wrong") if answered else "unreadable", failed=False, error=None,
            gold_hash=cell.task.gold_hash(cell.question.id), answer=("42" if good else "41") if answered else None,
            level=2 if answered else 0, text="The sum is 40 and 2 more make it: #### 42" if answered else None,
            guess=False, ended=ended, tokens_charged=sum(s.charged for s in stages),
            tokens_generated=sum(s.generated for s in stages), tokens_think=min(chain, room) if long else 0,
            tokens_reread=0, tokens_prompt=61, calls=len(stages), stage=stages[-1].stage,
            stages=tuple(stages), source="derived", notes={}, claims={},
        )  # fmt: skip

    def asked(self, cell: Cell) -> Asked:
        chains = {}
        for mode, length in (("think", self.thought), ("nothink", self.answer)):
            spent = min(length, BUDGETS[-1])
            cuts = tuple((b, 5 * b) for b in BUDGETS if b < spent)
            chains[mode] = Chain("word " * spent, spent, length <= BUDGETS[-1], cuts)
        text = str(cell.question.messages[-1]["content"])
        return Asked(cell.task.name, cell.question.id, cell.seed, "", text, "42", {}, chains)


def make(folder: Path, count: int) -> StudyConfig:
    """A finished study of about so many rows."""
    questions = folder.with_suffix(".jsonl")
    asked = (
        {"id": f"q{i}", "question": f"Question {i}: 6 x 7?", "answer": "42"} for i in range(count // A_QUESTION)
    )
    questions.write_text("".join(json.dumps(q) + "\n" for q in asked))
    plans = tuple(PolicyPlan(spec) for spec in POLICIES)
    model = f"{Path(__file__).stem}:engine"
    config = StudyConfig(model=model, tasks=(str(questions),), policies=plans, budgets=BUDGETS, out=folder)
    cells = plan(config)
    chains = [Chained(number) for number in range(len(cells.asked))]
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(tomli_w.dumps(config.to_mapping()))
    with (folder / "rows.jsonl").open("wb") as file:
        file.writelines(_lines(cells, chains, config.prompts.hash))
    with (folder / FILE).open("wb") as file:
        for at, chain in enumerate(chains):
            file.write(msgspec.json.encode(chain.asked(cells[at])) + b"\n")
    write_times(folder, cells, np.full(len(cells), 0.5))
    card = ScriptedEngine(reply).card
    TraceStore.open(folder / "traces.sqlite", card.fingerprint).close()
    with Journal(folder / "rows.jsonl", cells, config.prompts.hash) as journal:
        with replacing(folder / COLUMNS) as file:
            write_columns(journal.rows.read(Stored), file, journal.size)
        about = provenance(config, card, cells, started=time.time(), concurrency=64)
        result = Result(folder, journal.rows, about)
        write_summary(conclude(result), folder / "summary.json")
    return config


def _lines(cells: StudyPlan, chains: list[Chained], prompts: str) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for at, cell in enumerate(cells):
        yield encode(chains[at % len(chains)].row(cell, prompts)) + b"\n"


_PEAK = """
import atexit, runpy, sys
peak = sys.argv.pop(1)
def note():
    with open("/proc/self/status") as status, open(peak, "w") as file:
        file.write(next(line.split()[1] for line in status if line.startswith("VmHWM")))
atexit.register(note)
runpy.run_module("thinkcap", run_name="__main__")
"""
"""Notes the largest resident size of the process itself: what wait() tells includes that of whoever started it."""


def measured(peak: Path, *words: str) -> tuple[float, float, int]:
    """Wall seconds, processor seconds and the largest resident size of one command."""
    started = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", _PEAK, str(peak), *words]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"thinkcap {' '.join(words)} ended with status {status}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, int(peak.read_text()) * 1024


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rows", type=int, default=320_000)
    options.add_argument("--keep", type=Path)
    chosen = options.parse_args()
    print(f"{'rows':>9}  {'verb':<24}{'wall s':>8}{'CPU s':>8}{'MB':>7}   wanted at 3,200,000 rows")
    with tempfile.TemporaryDirectory(dir=chosen.keep) as temporary:
        for count in (chosen.rows // 10, chosen.rows):
            folder = Path(temporary) / f"rows{count}"
            config = make(folder, count)
            rows = len(plan(config))
            study = str(folder / "study.toml")
            verbs = {
                "resume": ("study", study),
                "report": ("report", str(folder)),
                "calibrate": ("calibrate", str(folder), "--out", str(folder / "profile.toml")),
                "regrade": ("regrade", str(folder)),
                "resume from the journal": ("study", study),
            }
            for verb, words in verbs.items():
                if verb == "resume from the journal":
                    (folder / COLUMNS).unlink()
                wall, cpu, peak = measured(Path(temporary) / "peak", *words)
                goal = GOALS.get(verb)
                wanted = f"   {goal[0]} s, {goal[1] / 1e6:,.0f} MB" if goal else ""
                print(f"{rows:>9,}  {verb:<24}{wall:>8.1f}{cpu:>8.1f}{peak / 1e6:>7,.0f}{wanted}", flush=True)


if __name__ == "__main__":
    main()
