"""What a report is made of: the records of one or more runs, and where each came from.

material = load([Path("runs/study")])
material.hardware(material.records.arms[0])
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from thinkcap.diagnose.pairs import Comparisons, compare
from thinkcap.diagnose.runs import configurations
from thinkcap.diagnose.summary import load_summary
from thinkcap.logs import Arm, Questions, Records
from thinkcap.logs import read as read_logs
from thinkcap.logs.formats.study import read_run


@dataclass(frozen=True)
class StudyRun:
    """A folder of a finished study."""

    folder: Path
    name: str
    summary: Mapping[str, Any]

    @property
    def about(self) -> Mapping[str, Any]:
        about: Mapping[str, Any] = self.summary["provenance"]
        return about


@dataclass(frozen=True)
class Material:
    records: Records
    runs: tuple[StudyRun, ...] = ()
    names: tuple[str, ...] = ()
    """Question ids by their code in the arms of our own runs."""

    @cached_property
    def comparisons(self) -> Comparisons:
        """As a diagnosis of the same records makes them."""
        return compare(configurations(self.records.arms))

    def manifest(self, arm: Arm) -> Mapping[str, Any]:
        """Provenance of an arm; empty where another tool's log stores none."""
        return next((run.about for run in self.runs if run.name == arm.file), {})

    def hardware(self, arm: Arm) -> str:
        return str(self.manifest(arm).get("hardware", ""))

    def temperature(self, arm: Arm) -> float | None:
        value = self.manifest(arm).get("temperature")
        return None if value is None else float(value)


def is_run(path: Path) -> bool:
    return path.is_dir() and (path / "rows.parquet").is_file()


def load(paths: Sequence[Path], **reading: Any) -> Material:
    """Runs of ours with their provenance; anything else by the importers (`reading` are their options)."""
    questions = Questions()
    arms: list[Arm] = []
    notes: list[str] = []
    runs: list[StudyRun] = []
    for path in (p for p in paths if is_run(p)):
        name = _unused(path.resolve().name, [r.name for r in runs])
        runs.append(StudyRun(path, name, load_summary(path)))
        if not any(cell["graded"] for cell in runs[-1].summary["cells"]):
            notes.append(f"{name}: every row failed; nothing is graded")
            continue
        found, said = read_run(path, questions, reading.get("model"))
        # Every run's file is called rows.parquet; the folder tells them apart.
        arms += _enriched([replace(arm, file=name) for arm in found], path, questions)
        notes += said
    others = [p for p in paths if not is_run(p)]
    if others:
        records = read_logs(others, **reading)
        arms += records.arms
        notes += records.notes
    return Material(Records(tuple(arms), tuple(dict.fromkeys(notes))), tuple(runs), tuple(questions.names))


def _unused(name: str, taken: Sequence[str]) -> str:
    wanted, number = name, 2
    while wanted in taken:
        wanted, number = f"{name} ({number})", number + 1
    return wanted


def _enriched(arms: list[Arm], folder: Path, questions: Questions) -> list[Arm]:
    """Votes and reading levels, which only the rows of our own runs have."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(
        folder / "rows.parquet",
        columns=["task", "question", "policy", "budget", "seed", "verdict", "level", "notes"],
    )
    table = table.filter(pc.is_valid(table["verdict"]))
    marks = pc.or_(pc.starts_with(table["policy"], "vote"), pc.starts_with(table["policy"], "gate"))
    voted: dict[tuple[str, str, int, int], dict[int, int]] = {}
    for row in table.filter(marks).to_pylist():
        agree = json.loads(row["notes"] or "{}").get("agree")
        if agree is not None:
            key = (row["task"], row["policy"], row["budget"], row["seed"])
            voted.setdefault(key, {})[questions.code(row["question"])] = int(agree)
    done = []
    for arm in arms:
        votes = voted.get((arm.task, arm.method, arm.budget or 0, arm.seed or 0))
        if votes and all(int(q) in votes for q in arm.question):
            extra = {**arm.extra, "agree": np.array([votes[int(q)] for q in arm.question], dtype=np.int64)}
            arm = replace(arm, extra=extra)
        done.append(arm)
    return done
