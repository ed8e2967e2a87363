"""What a study taught about spending tokens, as one JSON file: what to do from which cap on, when to stop, and
the allocator's numbers. `calibrate` writes it beside the profile, `auto` and `stop` read it.

    found = Allocation.from_file(Path("profile.allocation.json"))
    found.entry(256).policy
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkcap.allocate.stop import DEFAULT, Stopping
from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.core.types import EMPTY

if TYPE_CHECKING:  # numpy is loaded where an allocator is really used
    from thinkcap.allocate.model import Allocator

_TOP = ("about", "caps", "stop", "allocator")
_ENTRY = ("at_least", "policy", "kind", "quick", "sure", "evidence")


@dataclass(frozen=True)
class Entry:
    """From `at_least` tokens up to the next entry; its evidence is of a cap of just `at_least`."""

    at_least: int
    policy: str
    kind: str = "fixed"
    """fixed, split, stop or allocator: which of the answers this is."""
    quick: str | None = None
    """With an allocator: what questions get that need no thinking."""
    sure: float | None = None
    """With an allocator: the chance with which the budget it gives must suffice."""
    evidence: Mapping[str, Any] = EMPTY


_PLAIN = (Entry(1, "nothink"), Entry(256, "stop", "stop"))
"""Where no study was made: as the gateway does without a profile, and looping chains are stopped."""


@dataclass(frozen=True)
class Allocation:
    entries: tuple[Entry, ...] = _PLAIN
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

    def entry(self, cap: int) -> Entry:
        """Of the largest cap that is not above this one; below them all, no thinking."""
        fitting = [e for e in self.entries if e.at_least <= cap]
        return fitting[-1] if fitting else Entry(1, "nothink")

    def to_json(self) -> str:
        caps = [
            {key: value for key in _ENTRY if (value := getattr(e, key)) is not None and value != EMPTY}
            for e in self.entries
        ]
        table = {"about": dict(self.about), "caps": caps, "stop": self.stop.to_mapping()}
        if self.allocator is not None:
            table["allocator"] = dict(self.allocator)
        return json.dumps(table, indent=1) + "\n"

    @classmethod
    def from_file(cls, path: Path) -> Allocation:
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
        except OSError as err:
            raise ConfigError(
                f"cannot read the allocation '{path}': {err.strerror}; make one with thinkcap calibrate --allocate"
            ) from err
        except (json.JSONDecodeError, UnicodeDecodeError) as err:
            raise ConfigError(f"the allocation '{path}' is not JSON: {err}") from err
        try:
            return cls.from_mapping(table)
        except ConfigError as err:
            raise ConfigError(f"allocation '{path}': {err}") from err

    @classmethod
    def from_mapping(cls, table: Any) -> Allocation:
        if not isinstance(table, Mapping) or not isinstance(table.get("caps"), list):
            raise ConfigError("wanted an object with a list `caps`")
        for key in table:
            if key not in _TOP:
                raise ConfigError(f"unknown key '{key}'{nearest(key, _TOP)}")
        stop = Stopping.from_mapping(table["stop"]) if "stop" in table else DEFAULT
        allocator = table.get("allocator")
        if allocator is not None:
            from thinkcap.allocate.model import Allocator

            Allocator.from_mapping(allocator)
        return cls(tuple(_entry(e) for e in table["caps"]), stop, allocator, table.get("about", {}))


def _entry(table: Any) -> Entry:
    if not isinstance(table, Mapping):
        raise ConfigError(f"an entry of `caps` must be an object, saw {table!r}")
    for key in table:
        if key not in _ENTRY:
            raise ConfigError(f"unknown key '{key}' in `caps`{nearest(key, _ENTRY)}")
    at_least, policy, sure = table.get("at_least"), table.get("policy"), table.get("sure")
    if isinstance(at_least, bool) or not isinstance(at_least, int) or at_least < 1 or not isinstance(policy, str):
        raise ConfigError(f"an entry of `caps` needs at_least and a policy by name, saw {dict(table)!r}")
    if sure is not None and (not isinstance(sure, int | float) or not 0 < sure <= 1):
        raise ConfigError(f"sure is {sure!r}; wanted a chance above 0, at most 1")
    return Entry(
        at_least, policy, str(table.get("kind", "fixed")), table.get("quick"), sure, table.get("evidence", EMPTY)
    )


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
