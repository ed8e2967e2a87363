"""What a report is made of: the records of one or more runs, and where each came from.

material = load([Path("runs/study")])
material.hardware(material.records.arms[0])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from thinkcap.diagnose.pairs import Comparisons, compare
from thinkcap.diagnose.runs import configurations
from thinkcap.diagnose.summary import load_summary
from thinkcap.logs import Arm, Questions, Records
from thinkcap.logs import read as read_logs
from thinkcap.logs.formats.study import read_run
from thinkcap.logs.memory import Memory
from thinkcap.study.columns import MOST_BYTES


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
        found, said = read_run(path, questions, reading.get("model"), Memory(reading.get("memory", MOST_BYTES)))
        # Every run's file is called rows.parquet; the folder tells them apart.
        arms += [replace(arm, file=name) for arm in found]
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
