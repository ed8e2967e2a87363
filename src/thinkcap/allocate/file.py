"""What a study taught about spending tokens, as one JSON file: what to do from which cap on, when to stop, and
the allocator's numbers. `calibrate` writes it beside the profile, `auto` and `stop` read it.

    found = Allocation.from_file(Path("profile.allocation.json"))
    found.entry(256).policy
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from thinkcap.allocate.stop import DEFAULT, Stopping
from thinkcap.core.errors import ConfigError
from thinkcap.core.types import EMPTY
from thinkcap.settings import Read, Text, inside, load, table_of

if TYPE_CHECKING:  # numpy is loaded where an allocator is really used
    from thinkcap.allocate.model import Allocator


@dataclass(frozen=True)
class CapEntry:
    """From `at_least` tokens up to the next entry; its evidence is of a cap of just `at_least`."""

    at_least: Annotated[int, Meta(ge=1, description="a number of tokens")]
    policy: Text
    kind: str = "fixed"
    """fixed, split, stop or allocator: which of the answers this is."""
    quick: str | None = None
    """With an allocator: what questions get that need no thinking."""
    sure: Annotated[float, Meta(gt=0, le=1, description="a chance")] | None = None
    """With an allocator: the chance with which the budget it gives must suffice."""
    evidence: Mapping[str, Any] = EMPTY
    budget: Annotated[int, Meta(ge=1, description="a number of tokens")] | None = None
    """Most tokens to spend if the cap is larger: the budget it was measured with."""


_PLAIN = (CapEntry(1, "nothink"), CapEntry(256, "stop", "stop"))
"""Where no study was made: as the gateway does without a profile, and looping chains are stopped."""


@dataclass(frozen=True)
class Allocation:
    entries: tuple[CapEntry, ...] = _PLAIN
    stop: Stopping = DEFAULT
    allocator: Mapping[str, Any] | None = None
    """As numbers; `Allocator.from_mapping` reads them."""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        caps = [e.at_least for e in self.entries]
        if not caps or caps != sorted(set(caps)):
            raise ConfigError(f"an allocation's caps must grow from entry to entry, saw {caps}")
        if self.allocator is None and any(e.sure is not None for e in self.entries):
            raise ConfigError("an entry with `sure` needs an allocator in the same file")

    def entry(self, cap: int) -> CapEntry:
        """Of the largest cap that is not above this one; below them all, no thinking."""
        fitting = [e for e in self.entries if e.at_least <= cap]
        return fitting[-1] if fitting else CapEntry(1, "nothink")

    def to_json(self) -> str:
        caps = [
            {
                key: value
                for key in (f.name for f in fields(CapEntry))
                if (value := getattr(e, key)) is not None and value != EMPTY
            }
            for e in self.entries
        ]
        table = {"about": dict(self.about), "caps": caps, "stop": self.stop.to_mapping()}
        if self.allocator is not None:
            table["allocator"] = dict(self.allocator)
        return json.dumps(table, indent=1) + "\n"

    @classmethod
    def from_file(cls, path: Path) -> Allocation:
        table = table_of(path, "the allocation", "make one with thinkcap calibrate --allocate")
        with inside(f"allocation '{path}'"):
            return cls.from_mapping(table)

    @classmethod
    def from_mapping(cls, table: Any) -> Allocation:
        file = load(_File, table)
        return cls(file.caps, file.stop, file.allocator, file.about)


def _numbers(value: Any) -> Mapping[str, Any]:
    from thinkcap.allocate.model import Allocator

    Allocator.from_mapping(value)
    return dict(value)


@dataclass(frozen=True)
class _File:
    """As it lies on disk."""

    caps: tuple[CapEntry, ...]
    stop: Annotated[Stopping, Read(Stopping.from_mapping)] = DEFAULT
    allocator: Annotated[Mapping[str, Any], Read(_numbers)] | None = None
    about: Mapping[str, Any] = EMPTY


_NONE = Allocation()


def allocation(table: str) -> Allocation:
    """The file of that name, read once for as long as it does not change; the default where none is named."""
    if not table:
        return _NONE
    path = Path(table)
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        changed = 0
    return _read(path, changed)


@lru_cache(maxsize=16)
def _read(path: Path, changed: int) -> Allocation:
    return Allocation.from_file(path)


def stopping(table: str) -> Stopping:
    return allocation(table).stop


@lru_cache(maxsize=16)
def _allocator(path: Path, changed: int) -> Allocator:
    from thinkcap.allocate.model import Allocator

    found = _read(path, changed).allocator
    assert found is not None
    return Allocator.from_mapping(found)


def thinking_budget(table: str, text: str, sure: float) -> int:
    """What the file's allocator gives a question; 0: do not think."""
    path = Path(table)
    return _allocator(path, path.stat().st_mtime_ns).budget(text, sure)
