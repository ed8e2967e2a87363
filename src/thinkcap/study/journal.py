"""The journal of a run (`rows.jsonl`) survives kill -9: it only grows, a row is one line, written whole.

Whoever reads it cannot write (`standing`); whoever writes holds its lock (`Journal`), and drops a line that a
crash left half written. Neither holds rows: of each place in the plan it is known where its row lies and how it
stands. Where the columns beside the journal tell that already, the journal is not read at all.

    with Journal(folder / "rows.jsonl", plan) as journal:
        journal.append(row, place)
    for row in journal.rows: ...
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.core.files import cannot_write, private_file, private_folder
from thinkcap.grading import Grader
from thinkcap.statistics.arrays import Bools, Ints
from thinkcap.study.columns import JOURNAL, read_columns
from thinkcap.study.plan import MISSING, StudyPlan
from thinkcap.study.rows import RENAMED, Row, State, stands
from thinkcap.traces.lock import FileLock

COLUMNS = "rows.parquet"
_KEYS = ("task", "question", "policy", "budget", "seed")
_Kind = TypeVar("_Kind", bound=msgspec.Struct)


class _Line(State, frozen=True, kw_only=True):
    """What of a row decides how a study goes on."""

    claims: dict[str, int]


@dataclass
class Standing:
    """How the rows of a plan stand, the last one of each key."""

    done: Bools
    failed: Bools
    present: Bools
    read: int = 0
    """Bytes of the journal this was read from: its whole lines."""
    places: tuple[Ints, NDArray[np.int32]] | None = None
    """Where in the journal each row lies and how long it is; None where the columns told how they stand."""
    claimed: dict[str, int] = field(default_factory=dict)
    """Tokens already accounted for, by trace."""


def standing(path: Path, plan: StudyPlan, prompts: str) -> Standing:
    """How the rows stand; reads only, so it may look on while a study writes."""
    found = _of_columns(path, plan, prompts)
    return found if found is not None else _of_lines(path, plan, prompts)


def _of_columns(path: Path, plan: StudyPlan, prompts: str) -> Standing | None:
    """From the columns beside the journal, where they were made from all of it and hold this very plan."""
    beside = path.with_name(COLUMNS)
    try:
        if beside.is_symlink():
            return None
        size = path.stat().st_size
        columns = read_columns(beside, (*_KEYS, "failed", "grader", "prompts"))
        texts = [columns.text(name) for name in ("task", "question", "policy")]
        if int(columns.metadata.get(JOURNAL, b"-1")) != size or len(columns) != len(plan):
            return None
        numbers = [columns.number(name).astype(np.int64) for name in ("budget", "seed")]
        places = plan.places([*(t.codes for t in texts), *numbers], [t.texts for t in texts])
        failed = columns.number("failed").astype(np.bool_)
        ours = columns.text("grader").are(Grader.version) & columns.text("prompts").are(prompts)
    except (OSError, ValueError, DataError):
        return None
    if not np.array_equal(places, np.arange(len(plan))):
        return None
    return Standing(ours & ~failed, failed, np.ones(len(plan), dtype=np.bool_), size)


def _of_lines(path: Path, plan: StudyPlan, prompts: str) -> Standing:
    n = len(plan)
    starts, lengths = np.full(n, MISSING, dtype=np.int64), np.zeros(n, dtype=np.int32)
    found = Standing(np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n, np.bool_), 0, (starts, lengths))
    grader, claimed = Grader.version, found.claimed
    for line, start, end in _whole_lines(path, _Line):
        for key, tokens in line.claims.items():
            claimed[key] = max(tokens, claimed.get(key, 0))
        found.read = end
        place = plan.place(line.task, line.question, line.policy, line.budget, line.seed)
        if place != MISSING:
            starts[place], lengths[place] = start, end - start
            found.done[place], found.failed[place] = stands(line, grader, prompts), line.failed
    np.not_equal(starts, MISSING, out=found.present)
    return found


def _whole_lines(path: Path, kind: type[_Kind]) -> Iterator[tuple[_Kind, int, int]]:
    """Each line, where it starts and ends. A half line at the end (a crash, or a writer at work) is left out."""
    decode = msgspec.json.Decoder(kind).decode
    start = 0
    try:
        lines = path.open("rb", buffering=1 << 20)
    except FileNotFoundError:
        return
    with lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                read = decode(line)
            except (ValueError, RecursionError) as err:
                raise DataError(
                    f"'{path}' line {number} is not a row of this version: {err}; "
                    f"choose another --out, or move that file away to grade again from the traces"
                ) from err
            end = start + len(line)
            yield read, start, end
            start = end


_EARLIER = tuple((f'"{old}":'.encode(), f'"{new}":'.encode()) for new, old in RENAMED.items())


def _today(line: bytes) -> bytes:
    """A row under today's names. Inside a text the quotes are escaped, so only names are met."""
    for old, new in _EARLIER:
        if old in line:
            line = line.replace(old, new)
    return line


class Rows(Sequence[Row]):
    """The rows of a plan that there are, in its order, each read when it is asked for."""

    def __init__(self, path: Path, plan: StudyPlan, found: Standing, prompts: str) -> None:
        self._path, self._plan, self._standing, self._prompts = path, plan, found, prompts

    @property
    def failed(self) -> int:
        return int(self._standing.failed.sum())

    def __len__(self) -> int:
        return int(self._standing.present.sum())

    def __iter__(self) -> Iterator[Row]:
        return self.read(Row)

    def read(self, kind: type[_Kind]) -> Iterator[_Kind]:
        """Every row, of which only what this kind asks for is made."""
        decode = msgspec.json.Decoder(kind).decode
        starts, lengths = self._places()
        with self._path.open("rb", buffering=0) as file:
            for at in np.flatnonzero(self._standing.present).tolist():
                yield decode(_today(os.pread(file.fileno(), int(lengths[at]), int(starts[at]))))

    def at(self, place: int) -> Row:
        starts, lengths = self._places()
        with self._path.open("rb", buffering=0) as file:
            return msgspec.json.decode(
                _today(os.pread(file.fileno(), int(lengths[place]), int(starts[place]))), type=Row
            )

    def _places(self) -> tuple[Ints, NDArray[np.int32]]:
        if self._standing.places is None:
            self._standing.places = _of_lines(self._path, self._plan, self._prompts).places
        assert self._standing.places is not None
        return self._standing.places

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        places = np.flatnonzero(self._standing.present)[at]
        return [self.at(int(p)) for p in places] if isinstance(at, slice) else self.at(int(places))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(Row.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]


class Journal:
    """The one writer of a run's rows: it holds their lock, and only grows the file.

    The last row of a key counts, so a failed one can be made good.
    """

    def __init__(self, path: Path, plan: StudyPlan, prompts: str) -> None:
        self.path = path
        self._encoder = msgspec.json.Encoder()
        private_folder(path.parent)
        self._lock = FileLock.take(path)
        try:
            self.standing = standing(path, plan, prompts)
            if self.standing.places is None and not self.standing.done.all():
                # To go on, it must be known which tokens are counted, and that stands in the journal alone.
                self.standing = _of_lines(path, plan, prompts)
            self.current = self.standing.places is None
            self._end = self.standing.read
            self._file = os.fdopen(private_file(path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0)
            # Only the lock's holder may drop a half line: for anybody else it is a row being written.
            if os.fstat(self._file.fileno()).st_size != self._end:
                self._file.truncate(self._end)
        except BaseException:
            self._lock.release()
            raise
        self.rows = Rows(path, plan, self.standing, prompts)

    @property
    def size(self) -> int:
        """Bytes of whole rows."""
        return self._end

    def append(self, row: Row, place: int) -> None:
        line = self._encoder.encode(row) + b"\n"
        try:
            # Unbuffered: whatever becomes of this process, the row is the system's to keep.
            written = self._file.write(line)
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError as err:
            raise cannot_write(self.path, err) from err
        found = self.standing
        if found.places is not None:
            starts, lengths = found.places
            starts[place], lengths[place] = self._end, len(line)
        found.present[place], found.failed[place] = True, row.failed
        self._end += len(line)
        self.current = False

    def close(self) -> None:
        # A full disk was reported when the row came; the half line is dropped when the journal is opened again.
        with suppress(OSError):
            os.fsync(self._file.fileno())
        with suppress(OSError):
            self._file.close()
        self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
