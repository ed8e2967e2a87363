"""A bound on what logs may take in memory: a small file can unpack to a very large one.

>>> Memory(parse_size("64kB")).charge(10**6, "a.jsonl")
Traceback (most recent call last):
thinkcap.core.errors.DataError: a.jsonl: it takes more than the 64 kB allowed; raise --memory or split the log
"""

from __future__ import annotations

import re

from thinkcap.core.errors import ConfigError, DataError

DEFAULT = 1024**3
_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def parse_size(text: str) -> int:
    """`512MB` or `2G` in bytes."""
    found = re.fullmatch(r"\s*+(\d{1,9}(?:\.\d{1,6})?)\s*+([kmgt]?)i?b?\s*+", text, re.IGNORECASE | re.ASCII)
    if not found or float(found[1]) == 0:
        raise ConfigError(f"--memory: '{text}' is not a size; wanted a number with a unit, such as 512MB or 2GB")
    return int(float(found[1]) * _UNITS[found[2].lower()])


class Memory:
    """Bytes left for all logs of one reading. Counts are estimates, made before the memory is taken."""

    def __init__(self, limit: int = DEFAULT) -> None:
        self.limit, self._left = limit, limit

    def charge(self, size: int, file: object) -> None:
        """Take for good: rows that are kept."""
        self.check(size, file)
        self._left -= size

    def check(self, size: int, file: object) -> None:
        """Take for a moment: a document that is parsed, read and forgotten."""
        if size > self._left:
            raise DataError(
                f"{file}: it takes more than the {_said(self.limit)} allowed; raise --memory or split the log"
            )

    @property
    def left(self) -> int:
        return self._left


def json_cost(raw: bytes) -> int:
    """About what a JSON text takes once parsed: objects cost far more than the braces they are written with."""
    containers = 200 * raw.count(b"{") + 64 * raw.count(b"[")
    return 2 * len(raw) + containers + 60 * (raw.count(b",") + raw.count(b":"))


def _said(size: int) -> str:
    for unit, scale in (("GB", 1024**3), ("MB", 1024**2), ("kB", 1024)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"
