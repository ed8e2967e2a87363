"""The runs of a folder at a glance, from their own small files; no model is opened, nothing is written.

for run in list_runs(Path("runs")):
    print(run.name, run.state, run.rows)
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from thinkcap.core.errors import ConfigError
from thinkcap.core.files import read_file
from thinkcap.study.config import StudyConfig
from thinkcap.study.progress import noted
from thinkcap.traces.lock import FileLock

RunState = Literal["finished", "running", "stopped"]


@dataclass(frozen=True)
class Listed:
    name: str
    model: str
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    budgets: tuple[int, ...]
    questions: int | None
    """How many were asked; None before a study is finished."""
    state: RunState
    rows: int
    total: int | None
    """Rows it has when it is finished; None where an unfinished one does not say."""
    failed: int
    seconds_left: float | None
    """While it runs, as it says itself."""
    best: Mapping[str, Any] | None
    """Policy, budget and accuracy of the most accurate cell; None before a study is finished."""
    written_s: float
    """When something was last written, in seconds since 1970."""


def list_runs(root: Path) -> list[Listed]:
    """Every run right below a folder, the latest first; links are other names of runs already there."""
    if not root.is_dir():
        raise ConfigError(
            f"no folder at '{root}'; wanted one with runs in it, such as the one `thinkcap study` makes"
        )
    folders = [f for f in root.iterdir() if not f.is_symlink() and (f / "rows.jsonl").is_file()]
    return sorted((_listed(folder) for folder in folders), key=lambda run: -run.written_s)


class _BestOf(msgspec.Struct, frozen=True):
    policy: str
    budget: int
    accuracy: float | None


class _AskedOf(msgspec.Struct, frozen=True):
    questions: int = 0


class _MadeFrom(msgspec.Struct, frozen=True):
    tasks: dict[str, _AskedOf] = {}


class _Concluded(msgspec.Struct, frozen=True):
    """What of a summary the list shows."""

    rows: int
    failed: int
    cells: list[_BestOf]
    provenance: _MadeFrom


def state_of(folder: Path) -> RunState:
    return _standing(folder)[0]


def _standing(folder: Path) -> tuple[RunState, _Concluded | None]:
    summary: _Concluded | None = _read(folder / "summary.json", msgspec.json.Decoder(_Concluded).decode)
    if FileLock.held(folder / "rows.jsonl"):
        return "running", summary
    return "finished" if summary else "stopped", summary


def _listed(folder: Path) -> Listed:
    journal = folder / "rows.jsonl"
    study = _read(folder / "study.toml", lambda raw: tomllib.loads(raw.decode()))
    state, summary = _standing(folder)
    cells = [c for c in summary.cells if c.accuracy is not None] if summary else []
    best = max(cells, key=lambda c: (c.accuracy or 0.0, -c.budget), default=None)
    over = summary if state == "finished" else None
    told = None if over else noted(folder)
    return Listed(
        name=folder.name,
        model=str((study or {}).get("model", "")),
        **_planned(study or {}),
        questions=sum(task.questions for task in over.provenance.tasks.values()) if over else None,
        state=state,
        rows=over.rows if over else told.done if told else _lines(journal),
        total=over.rows if over else told.total if told else None,
        failed=over.failed if over else told.failed if told else 0,
        seconds_left=told.seconds_left if told and state == "running" else None,
        best=None if best is None else msgspec.structs.asdict(best),
        written_s=max(f.stat().st_mtime for f in (journal, folder / "summary.json") if f.exists()),
    )


def _planned(study: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Tasks, methods and budgets as the study names them; nothing of a study.toml that is not one."""
    try:
        config = StudyConfig.from_mapping(study)
        cells = config.cells
    except ConfigError:
        return {"tasks": (), "methods": (), "budgets": ()}
    return {
        "tasks": config.tasks if study else (),
        "methods": tuple(dict.fromkeys(spec.label for spec, _ in cells)) if study else (),
        "budgets": tuple(sorted({budget for _, budget in cells})) if study else (),
    }


def _read(path: Path, parse: Callable[[bytes], Any]) -> Any:
    """What a file says; None where it is missing or broken, for one bad run must not hide the others."""
    try:
        return parse(read_file(path))
    except (OSError, ValueError, RecursionError):
        return None


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
