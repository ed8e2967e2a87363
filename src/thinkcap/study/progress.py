"""How far a study is: told to whoever watches, and noted beside its rows for those who look on from outside.

`progress.json` is there while a study is unfinished: a killed one leaves it, a finished one has a summary instead.

    note = Noting(folder)
    note(progress)
    noted(folder).seconds_left
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from thinkcap.core.errors import StoreError
from thinkcap.core.files import read_file, replace_text

FILE = "progress.json"
_EVERY_S = 1.0


@dataclass
class Progress:
    """How far a run is; handed to whoever shows it."""

    total: int
    done: int = 0
    failed: int = 0
    tokens: int = 0
    resumed: int = 0
    started: float = field(default_factory=time.monotonic)
    where: Callable[[], str] | None = None
    """Says where the engines are, for engines that are in many places."""
    left: Callable[[], float | None] = lambda: None
    """Seconds still to go; None while nothing is known."""


Watcher = Callable[[Progress], None]


class Noted(msgspec.Struct, frozen=True):
    total: int
    done: int
    failed: int
    tokens: int
    seconds_left: float | None
    written_s: float
    """Seconds since 1970, so that a reader can count on from there."""


class Noting:
    """Writes the file at most once a second; a disk that refuses costs the note, not the study."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock, self._next = folder / FILE, clock, clock()

    def __call__(self, progress: Progress, *, now: bool = False) -> None:
        if not now and self._clock() < self._next:
            return
        self._next = self._clock() + _EVERY_S
        counts = (progress.total, progress.done, progress.failed, progress.tokens)
        found = Noted(*counts, progress.left(), time.time())
        with suppress(OSError, StoreError):
            replace_text(self._path, msgspec.json.encode(found).decode())

    def over(self) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def noted(folder: Path) -> Noted | None:
    """None where nothing is noted, or nothing that can be read."""
    try:
        return msgspec.json.decode(read_file(folder / FILE), type=Noted)
    except (OSError, ValueError, RecursionError):
        return None
