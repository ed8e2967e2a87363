"""The runs below a folder, as the page asks for them; what was made once is kept while its files stay as they are.

shelf = Shelf(Path("runs"))
shelf.listed()
shelf.content("today", "yesterday").data["verdict"]
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from thinkcap.core.errors import ConfigError, DataError, ThinkcapError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.report.explorer.page import Content, content
from thinkcap.report.material import load
from thinkcap.study.listing import Listed, list_runs
from thinkcap.verdict.say import say
from thinkcap.view.following import Following

_FILES = ("rows.jsonl", "rows.parquet", "summary.json", "chains.jsonl", "study.toml", "progress.json")
_MOST_PAGES, _MOST_FOLLOWED = 4, 8
_Made = TypeVar("_Made")


class NoRun(DataError):
    """There is no such run here."""


class Shelf:
    """May be used from several threads."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._making, self._opening = threading.Lock(), threading.Lock()
        self._pages: OrderedDict[Any, Content] = OrderedDict()
        self._followed: OrderedDict[str, Following] = OrderedDict()
        self._headlines: dict[Any, str] = {}

    def listed(self) -> list[dict[str, Any]]:
        """Every run, the latest first, with its headline where that is known already."""
        found = []
        for run in list_runs(self.root):
            folder = self.root / run.name
            if self._stays_inside(folder):
                found.append(asdict(run) | {"headline": self._headlines.get(self._signature(folder))})
        return found

    def folders(self) -> list[Path]:
        return [self.root / run["name"] for run in self.listed()]

    def run(self, name: str) -> Listed:
        """Only what was found in the folder has a name: nothing that is asked for becomes a path."""
        for run in list_runs(self.root):
            if run.name == name and self._stays_inside(self.root / run.name):
                return run
        raise NoRun(f"there is no run '{name}' in '{self.root.name}'")

    def content(self, name: str, other: str | None = None) -> Content:
        folder = self.root / self.run(name).name
        beside = None if other is None else self.root / self.run(other).name
        key = (name, other, self._signature(folder), beside and self._signature(beside))
        with self._making:
            return _kept(self._pages, key, _MOST_PAGES, lambda: content(folder, compare=beside))

    def following(self, name: str) -> Following:
        folder = self.root / self.run(name).name
        with self._opening:
            return _kept(self._followed, name, _MOST_FOLLOWED, lambda: Following(folder))

    def without_headline(self) -> list[Path]:
        """Finished runs that were not diagnosed yet as they are now."""
        finished = (self.root / run.name for run in list_runs(self.root) if run.state == "finished")
        return [f for f in finished if self._stays_inside(f) and self._signature(f) not in self._headlines]

    def diagnose(self, folder: Path) -> None:
        signature = self._signature(folder)
        self._headlines[signature] = _headline(folder)

    def _stays_inside(self, folder: Path) -> bool:
        """A link to a file elsewhere is not followed, whatever it is called."""
        return all((folder / name).resolve().parent == folder for name in _FILES if (folder / name).is_symlink())

    def _signature(self, folder: Path) -> tuple[Any, ...]:
        stats = []
        for name in ("rows.parquet", "summary.json", "chains.jsonl"):
            try:
                about = (folder / name).stat()
                stats.append((about.st_mtime_ns, about.st_size, about.st_ino))
            except OSError:
                stats.append((0, 0, 0))
        return (folder.name, *stats)


def _headline(folder: Path) -> str:
    try:
        return say(diagnose(load([folder]).records)).headline
    except ThinkcapError as err:
        return str(err)


def _kept(kept: OrderedDict[Any, _Made], key: Any, most: int, make: Callable[[], _Made]) -> _Made:
    if key not in kept:
        kept[key] = make()
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
    return kept[key]


def place_of(folder: Path) -> tuple[Path, str | None]:
    """The folder of runs, and the one to open first where a run itself was named."""
    if not folder.is_dir():
        raise ConfigError(
            f"no folder at '{folder}'; wanted one with runs in it, such as the one `thinkcap study` makes"
        )
    found = folder.resolve()
    return (found.parent, found.name) if (found / "rows.jsonl").is_file() else (found, None)
