"""Everything the page says, and the page as a file: nothing is fetched, model text is only ever data.

write_page(Path("runs/study"))
write_page(Path("runs/a"), compare=Path("runs/b"))
content(Path("runs/study")).data["verdict"]
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import msgspec

from thinkcap.core.errors import ConfigError
from thinkcap.core.files import private_folder, replace_text
from thinkcap.diagnose.diagnosis import Diagnosis, diagnose
from thinkcap.policies.methods import explained
from thinkcap.policies.registry import POLICIES, declared
from thinkcap.report.explorer.answers import Answered, Axes, StageSymbols, answered
from thinkcap.report.explorer.compare import compared
from thinkcap.report.explorer.shell import alone, in_script
from thinkcap.report.explorer.views import views
from thinkcap.report.material import Material, StudyRun, load
from thinkcap.report.tables.select import ModelTask
from thinkcap.study.columns import check_size
from thinkcap.verdict.say import Spoken, say

INLINE_BYTES = 1_100_000
"""Details of this many questions are inside the page; those of the others are in files beside it."""
SHARD = 40
FOLDER = "report-data"


class Details(Sequence[dict[str, Any]]):
    """What stands behind each line of the list of questions: JSON until it is asked for."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(at, slice):
            return [msgspec.json.decode(text) for text in self.texts[at]]
        return dict(msgspec.json.decode(self.texts[at]))


@dataclass(frozen=True)
class Content:
    data: dict[str, Any]
    details: Details


def write_page(folder: Path, *, compare: Path | None = None, diagnosis: Diagnosis | None = None) -> Path:
    """`report.html` in the folder of the run, with `report-data/` beside it where the questions are many."""
    return _write(folder, content(folder, compare=compare, diagnosis=diagnosis))


def content(folder: Path, *, compare: Path | None = None, diagnosis: Diagnosis | None = None) -> Content:
    """Of a finished run; with another one beside it, paired where questions match."""
    if compare is not None and compare.resolve() == folder.resolve():
        raise ConfigError(f"--compare names '{compare}', the run itself; wanted another run")
    material = load([folder] if compare is None else [folder, compare])
    mine = material.runs[0]
    alone = replace(material, records=_only(material, mine), runs=(mine,))
    found = diagnosis or diagnose(alone.records)
    said, stages = say(found), StageSymbols()
    axes = _axes(alone)
    budgets, policies = axes.budgets, axes.policies
    tasks = list(dict.fromkeys(cell["task"] for cell in mine.summary["cells"]))
    findings = {f.task: f for f in found.findings}
    lines, size = [], 0
    for line in (a for task in tasks for a in answered(folder, task, axes, stages)):
        lines.append(line)
        size += len(line.detail)
        check_size(size, folder)
    data = _about(mine, said) | {
        "budgets": budgets,
        "policies": policies,
        "methods": [explained(p) for p in policies],
        "tasks": tasks,
        "views": [v for t in tasks for v in views(_group(alone, t), findings.get(t), budgets, policies)],
        "stages": stages.names,
        "questions": question_list(lines),
        **_advice(found, said),
    }
    if compare is not None:
        other = material.runs[1]
        codes = _codes(compare, other, lines, axes)
        data["other"] = compared(material, mine, other) | {"codes": codes}
    return Content(data, Details([line.detail for line in lines]))


def _only(material: Material, run: StudyRun) -> Any:
    return replace(material.records, arms=tuple(a for a in material.records.arms if a.file == run.name))


def _group(material: Material, task: str) -> ModelTask:
    """A run has one model, so its tasks are its groups."""
    arms = tuple(a for a in material.records.arms if a.task == task)
    return ModelTask(arms[0].model if arms else "", task, arms)


def _axes(material: Material) -> Axes:
    policies = list(dict.fromkeys(a.method for a in material.records.arms))
    cells = {(cell["policy"], cell["budget"]) for run in material.runs for cell in run.summary["cells"]}
    # A cell in which every row failed has no arm, but the page must still say that it failed.
    policies += [p for p in dict.fromkeys(p for p, _ in sorted(cells)) if p not in policies]
    return ordered(policies, {b for _, b in cells})


def ordered(policies: Iterable[str], budgets: Iterable[int]) -> Axes:
    """The plain modes first, so that their colours are the same on every page."""
    first = [p for p in POLICIES if declared(p).plain]
    return Axes(sorted(policies, key=lambda p: first.index(p) if p in first else len(first)), sorted(budgets))


def _advice(found: Diagnosis, said: Spoken) -> dict[str, Any]:
    """The method that is advised at each cap of each task, and where the verdict looks first.

    Of several groups of questions the first counts: the page shows one star per cap.
    """
    ways = {(f.task, arm.name): arm.method for f in found.findings for arm in f.arms}
    advice: dict[str, list[tuple[int, str]]] = {}
    for one in (a for a in said.advice if a.group == 1):
        advice.setdefault(one.task, []).append((one.cap, ways[one.task, one.policy]))
    spoken = [s.numbers for s in said.sentences if not s.topic and s.numbers.get("group") == 1]
    if not spoken:
        return {"advice": advice, "opens": None}
    task = spoken[0]["task"]
    policies = [ways[task, numbers["policy"]] for numbers in spoken if numbers["task"] == task]
    return {"advice": advice, "opens": {"task": task, "cap": spoken[0]["cap"], "policies": policies}}


def _about(run: StudyRun, said: Spoken) -> dict[str, Any]:
    about, summary = run.about, run.summary
    engine = about["engine"]
    return {
        "name": run.name,
        "model": engine["model"],
        "rows": summary["rows"],
        "failed": summary["failed"],
        "generated": summary["tokens_generated"],
        "alone": summary["tokens_alone"],
        "verdict": [s.text for s in said.sentences if not s.detail],
        "notes": list(said.notes),
        "provenance": about,
        "thinks": [engine["open_tag"], engine["close_tag"]],
    }


def question_list(lines: Sequence[Answered]) -> dict[str, Any]:
    groups = sorted({line.group for line in lines})
    tasks = list(dict.fromkeys(line.task for line in lines))
    return {
        "groups": groups,
        "id": [line.id for line in lines],
        "task": [tasks.index(line.task) for line in lines],
        "group": [groups.index(line.group) for line in lines],
        "snippet": [line.snippet for line in lines],
        "codes": [line.codes for line in lines],
        "stages": [line.stages for line in lines],
    }


def _codes(folder: Path, other: StudyRun, lines: Sequence[Answered], axes: Axes) -> list[list[str] | None]:
    """The other run's letters for the same questions under the same methods and caps."""
    found: dict[tuple[str, str], list[str]] = {}
    for task in dict.fromkeys(cell["task"] for cell in other.summary["cells"]):
        for line in answered(folder, task, axes, StageSymbols()):
            found[line.task, line.id] = line.codes
    return [found.get((line.task, line.id)) for line in lines]


def _write(folder: Path, made: Content) -> Path:
    beside = folder / FOLDER
    if beside.is_symlink():
        beside.unlink()
    # Another report on the same run may be at it too.
    shutil.rmtree(beside, ignore_errors=True)
    texts = [in_script(detail.decode()) for detail in made.details.texts]
    inside = _sample([len(t.encode()) for t in texts])
    if len(inside) < len(texts):
        private_folder(beside)
        for at in range(0, len(texts), SHARD):
            rows = {i: texts[i] for i in range(at, min(at + SHARD, len(texts))) if i not in inside}
            body = ",".join(f'"{i}":{text}' for i, text in rows.items())
            replace_text(beside / f"{at // SHARD}.js", f"thinkcapShard({{{body}}});\n")
    inlined = ",".join(f'"{i}":{texts[i]}' for i in sorted(inside))
    path = folder / "report.html"
    data = made.data | {"inside": sorted(inside), "shard": SHARD, "beside": FOLDER}
    replace_text(path, alone(data, f"{{{inlined}}}"))
    return path


def _sample(sizes: Sequence[int]) -> set[int]:
    """Questions spread evenly over the list, as many as fit."""
    if sum(sizes) <= INLINE_BYTES:
        return set(range(len(sizes)))
    step = max(1, len(sizes) // 64)
    order = [i for start in range(step) for i in range(start, len(sizes), step)]
    chosen: set[int] = set()
    total = 0
    for i in order:
        if total + sizes[i] > INLINE_BYTES:
            break
        chosen.add(i)
        total += sizes[i]
    return chosen
