"""What a Parquet file takes once unpacked, from its footer, read here because pyarrow cannot be asked.

    unpacked(Path("rows.parquet"), ["task", "budget"])        # bytes

Asked for a column whose footer contradicts itself, pyarrow ends the whole process; reading such a file's rows it
refuses properly. The footer is Thrift's compact protocol: a few kinds of values, one inside the other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_MAGIC = b"PAR1"
_DEEPEST = 32
_ROW_GROUPS, _COLUMNS, _ABOUT, _PATH, _VALUES, _UNPACKED = 4, 1, 3, 3, 5, 6
"""Numbers of fields, as parquet.thrift gives them."""


def unpacked(path: Path, columns: Sequence[str] | None = None) -> int:
    """Bytes of the columns once read: what is packed, and at least 16 bytes a value, however well it packs.

    Raises ValueError where there is no footer, or none that can be read.
    """
    packed = values = 0
    for group in _many(_Compact(_footer(path)).struct().get(_ROW_GROUPS)):
        for column in _many(group.get(_COLUMNS)):
            about = column.get(_ABOUT)
            name = next(iter(about.get(_PATH, ())), b"") if isinstance(about, dict) else b""
            if columns is None or (isinstance(name, bytes) and name.decode("utf-8", "replace") in columns):
                packed += _count(about, _UNPACKED)
                values += _count(about, _VALUES)
    return packed + 16 * values


def _many(found: Any) -> list[dict[int, Any]]:
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return found
    raise ValueError("its footer lists no columns")


def _count(about: Any, field: int) -> int:
    found = about.get(field) if isinstance(about, dict) else None
    if not isinstance(found, int):
        raise ValueError("its footer does not say how large a column is")
    return max(found, 0)


def _footer(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or length + 12 > size:
            raise ValueError("it has no footer")
        file.seek(size - 8 - length)
        return file.read(length)


class _Compact:
    """Values one after the other; a struct is a dictionary by field number."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            # Of a field that is true or false the kind is the value.
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError(f"its footer is nested over {_DEEPEST} deep")
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            # One by one: a size that is a lie ends with the bytes, not with the memory.
            return [self._value(head & 15, depth + 1) for _ in range(size)]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"its footer holds a value of an unknown kind ({kind})")

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise ValueError("its footer ends too early")
        self._at += count
        return found

    def _varint(self) -> int:
        found = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise ValueError("its footer holds a number without an end")

    def _signed(self) -> int:
        found = self._varint()
        return (found >> 1) ^ -(found & 1)
