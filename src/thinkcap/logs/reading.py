"""Opening logs safely: encoding and syntax errors name the file, the line and the column.

>>> whole("3.0", "a.csv", 4, "tokens")
3
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError

_YES = {"1", "true", "yes", "right", "correct", "c", "pass", "passed"}
_NO = {"0", "false", "no", "wrong", "incorrect", "i", "fail", "failed", "unreadable"}


def text_of(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as err:
        raise DataError(f"{path}: cannot be read ({err.strerror}); wanted a log file") from err
    if not raw.strip():
        raise DataError(f"{path}: the file is empty, line 1, column 1; nothing to diagnose")
    return decode(raw, path, 1)


def decode(raw: bytes, path: Path | str, line: int) -> str:
    try:
        return raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as err:
        at = line + raw[: err.start].count(b"\n")
        column = err.start - raw.rfind(b"\n", 0, err.start)
        raise DataError(
            f"{path}, line {at}, column {column}: byte 0x{raw[err.start]:02x} is not UTF-8; "
            f"convert the file (for example: iconv -f latin1 -t utf-8)"
        ) from err


def json_of(path: Path) -> Any:
    text = text_of(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as err:
        raise DataError(f"{path}, line {err.lineno}, column {err.colno}: not JSON ({err.msg})") from err


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not blank, one at a time: memory does not grow with the file."""
    found = False
    try:
        with path.open("rb") as stream:
            for number, raw in enumerate(stream, 1):
                if raw.strip():
                    found = True
                    yield number, decode(raw, path, number)
    except OSError as err:
        raise DataError(f"{path}: cannot be read ({err.strerror}); wanted a log file") from err
    if not found:
        raise DataError(f"{path}: the file is empty, line 1, column 1; nothing to diagnose")


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, text in lines_of(path):
        try:
            row = json.loads(text)
        except json.JSONDecodeError as err:
            raise DataError(f"{path}, line {number}, column {err.colno}: not JSON ({err.msg})") from err
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number}, column 1: wanted an object, got {type(row).__name__}")
        yield number, row


def whole(value: Any, file: str, line: object, column: str) -> int:
    """A whole number from whatever a log wrote; refuses the rest by name."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or number != number or number != int(number):
        place = f"line {line}" if isinstance(line, int) else str(line)
        raise DataError(f"{file}, {place}, column '{column}': {value!r} is not a whole number")
    return int(number)


def verdict(value: Any, file: str, line: object, column: str) -> bool | None:
    """Right or wrong from what tools write (1, true, 'C', 'right' ...); None for an empty value."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        if value in (0, 1):
            return bool(value)
    elif isinstance(value, str):
        word = value.strip().lower()
        if word in _YES or word in ("1.0",):
            return True
        if word in _NO or word in ("0.0",):
            return False
    place = f"line {line}" if isinstance(line, int) else str(line)
    raise DataError(
        f"{file}, {place}, column '{column}': {value!r} is no verdict; wanted 0 or 1, true or false, "
        f"right or wrong (a partial score needs a threshold before it can be diagnosed)"
    )
