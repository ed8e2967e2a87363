"""The runs of a folder at a glance, from their own small files; nothing is imported, opened or written.

for run in list_runs(Path("runs")):
    print(run.name, run.state, run.rows)
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from thinkcap.core.errors import ConfigError
from thinkcap.traces.lock import FileLock

RunState = Literal["finished", "running", "stopped"]


@dataclass(frozen=True)
class Listed:
    name: str
    model: str
    tasks: tuple[str, ...]
    state: RunState
    rows: int
    failed: int
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


def _listed(folder: Path) -> Listed:
    journal = folder / "rows.jsonl"
    study = _read(folder / "study.toml", tomllib.loads)
    summary = _read(folder / "summary.json", json.loads)
    cells = [c for c in summary.get("cells", ()) if c.get("accuracy") is not None]
    best = max(cells, key=lambda c: (c["accuracy"], -c["budget"]), default=None)
    if FileLock.held(journal):
        state: RunState = "running"
    else:
        state = "finished" if summary else "stopped"
    finished = state == "finished"
    return Listed(
        name=folder.name,
        model=str(study.get("model", "")),
        tasks=tuple(map(str, study.get("tasks", ()))),
        state=state,
        rows=summary["rows"] if finished else _lines(journal),
        failed=summary["failed"] if finished else 0,
        best=None if best is None else {name: best[name] for name in ("policy", "budget", "accuracy")},
        written_s=max(f.stat().st_mtime for f in (journal, folder / "summary.json") if f.exists()),
    )


def _read(path: Path, parse: Any) -> dict[str, Any]:
    """What a file says; nothing where it is missing or broken, for one bad run must not hide the others."""
    try:
        found = parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
