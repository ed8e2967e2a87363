"""Where in a JSON file a row stands, found only when somebody has to be told.

>>> line_of('{"a": [\\n 1,\\n {"b": 2}]}', ("a", 1))
3
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.logs.reading import an_object, refused

_SPACE = " \t\r\n"


@dataclass(frozen=True)
class Place:
    """A row of a JSON document: its file and the keys that lead to it. Cheap to make, costly to print."""

    path: Path
    keys: tuple[str | int, ...]

    def __str__(self) -> str:
        trail = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in self.keys).lstrip(".")
        try:
            return f"line {line_of(self.path.read_text(encoding='utf-8-sig'), self.keys)} ({trail})"
        except (OSError, ValueError, LookupError):
            return f"row {trail}"


def line_of(text: str, keys: tuple[str | int, ...]) -> int:
    """The line on which the value behind `keys` starts; skips siblings with the standard decoder."""
    decoder = json.JSONDecoder()
    at = _skip(text, 0)
    for key in keys:
        at = _enter(text, at, key, decoder)
    return text.count("\n", 0, at) + 1


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at


def _enter(text: str, at: int, key: str | int, decoder: json.JSONDecoder) -> int:
    opened = text[at]
    at = _skip(text, at + 1)
    index = 0
    while text[at] not in "]}":
        found: str | int = index
        if opened == "{":
            found, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        if found == key:
            return at
        _, at = decoder.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1
    raise LookupError(key)


class PlacedRow(dict[str, Any]):
    """A row that names itself when a column is missing from it."""

    def __init__(self, values: Mapping[str, Any], place: Place) -> None:
        super().__init__(values)
        self.place = place

    def __missing__(self, key: str) -> Any:
        raise refused(self.place.path.name, self.place, key, "no value")


def numbered(
    rows: Sequence[Any], path: Path, where: tuple[str | int, ...], ids: Sequence[str] | None = None
) -> Iterator[tuple[Place, PlacedRow]]:
    """Rows of a JSON array, or those that stood under `ids`, with their places; only objects are rows."""
    for i, values in enumerate(rows):
        place = Place(path, (*where, i if ids is None else ids[i]))
        named = {} if ids is None else {"id": ids[i]}
        yield place, PlacedRow(named | an_object(values, path.name, place), place)
