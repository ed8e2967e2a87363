"""Opening logs safely: bounded, regular files only, and every refusal names file, line and column.

>>> whole("3.0", "a.csv", 4, "tokens")
3
"""

from __future__ import annotations

import csv
import gzip
import json
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from thinkcap.core.errors import DataError
from thinkcap.logs.memory import Memory, json_cost
from thinkcap.study.footer import unpacked

_YES = {"1", "true", "yes", "right", "correct", "c", "pass", "passed", "1.0"}
_NO = {"0", "false", "no", "wrong", "incorrect", "i", "fail", "failed", "unreadable", "0.0"}
_LARGEST = 2**53
"""Whole numbers beyond it are no counts; a float cannot even hold them."""

_LONGEST_NAME = 200
_A_FEW = 64
"""Parquet rows at a time: a repeated text is stored once in the file and once a row in memory."""


def printable(text: str) -> str:
    """A name from a log as a terminal may show it: no escapes, no lone surrogates, not endless."""
    if len(text) <= _LONGEST_NAME and text.isprintable():
        return text
    shown = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 3] + "..."
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)


def regular(path: Path) -> Path:
    """The path of a plain file or of a folder; a device or a pipe may never end."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as err:
        raise DataError(f"{path}: no such file or folder") from err
    except (OSError, ValueError) as err:
        raise DataError(f"{path}: cannot be read ({getattr(err, 'strerror', None) or err})") from err
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(
            f"{path}: neither a file nor a folder, but a device or a pipe; save the log to a file first"
        )
    return path


class Log:
    """One file, opened as often as a format wants to look at it, and never further than memory allows."""

    def __init__(self, path: Path, memory: Memory | None = None) -> None:
        self.path, self.memory = path, memory or Memory()

    @property
    def name(self) -> str:
        return printable(self.path.name)

    @cached_property
    def suffix(self) -> str:
        """`.jsonl` of `run.jsonl.gz`."""
        suffixes = [s.lower() for s in self.path.suffixes[-2:]]
        return (suffixes[-2:-1] or [""])[0] if suffixes[-1:] == [".gz"] else (suffixes[-1:] or [""])[0]

    @property
    def is_table(self) -> bool:
        return self.suffix in (".csv", ".tsv")

    def _open(self) -> IO[bytes]:
        packed = self.path.suffix.lower() == ".gz"
        return gzip.open(self.path) if packed else self.path.open("rb")  # type: ignore[return-value]

    def lines(self, *, blank: bool = False) -> Iterator[tuple[int, str]]:
        """Numbered lines, one at a time: memory does not grow with the file. `blank`: the empty ones too."""
        found, most = False, max(self.memory.left // 16, 1024)
        try:
            with self._open() as stream:
                number = 0
                while raw := stream.readline(most + 1):
                    number += 1
                    if len(raw) > most:
                        self.memory.check(16 * len(raw), f"{self.path}, line {number}")
                    content = bool(raw.strip())
                    found |= content
                    if content or blank:
                        yield number, decode(raw, self.path, number)
        except (OSError, EOFError, zlib.error) as err:
            raise _unreadable(self.path, err) from err
        if not found:
            raise DataError(f"{self.path}: the file is empty, line 1, column 1; nothing to diagnose")

    def rows(self) -> Iterator[tuple[object, dict[str, Any]]]:
        """Each row and its place, of whatever kind of table the file is."""
        kinds = {".parquet": self._parquet, ".csv": self.table, ".tsv": self.table}
        yield from kinds.get(self.suffix, self.objects)()

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of JSON lines, or of JSON printed over many lines, one object after the other."""
        for number, text in self._whole(self.lines()):
            yield number, an_object(parsed(text, self.path, number), self.path, number)

    def _whole(self, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """A line that is only a brace begins an object that another such line ends."""
        begun, size = 0, 0
        parts: list[str] = []
        for number, text in lines:
            if not parts and text[:2] not in ("{\n", "{\r"):
                yield number, text
                continue
            begun, size = begun if parts else number, size + len(text)
            parts.append(text)
            self.memory.check(16 * size, f"{self.path}, line {begun}")
            if text.rstrip() == "}":
                yield begun, "".join(parts)
                parts, size = [], 0
        if parts:
            yield begun, "".join(parts)

    @cached_property
    def first(self) -> dict[str, Any]:
        """The first object of JSON lines; empty for other files."""
        return next(self.objects())[1] if self.suffix in (".jsonl", ".ndjson") else {}

    def table(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a CSV or TSV."""
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        # A quoted text may hold empty lines.
        reader = csv.DictReader((text for _, text in self.lines(blank=True)), delimiter=self._delimiter)
        try:
            for row in reader:
                if None in row or None in row.values():
                    raise DataError(
                        f"{self.path}, line {reader.line_num}: {len(reader.fieldnames or [])} columns wanted, "
                        f"the header's; this line has {'more' if None in row else 'fewer'}"
                    )
                yield reader.line_num, row
        except csv.Error as err:
            raise DataError(f"{self.path}, line {reader.line_num}: not CSV ({err})") from err

    @cached_property
    def header(self) -> list[str]:
        """The column names of a CSV; none for other files."""
        if not self.is_table:
            return []
        text = next(self.lines())[1].strip("\r\n")
        try:
            return next(csv.reader([text], delimiter=self._delimiter), [])
        except csv.Error as err:
            raise DataError(f"{self.path}, line 1: not CSV ({err})") from err

    @property
    def _delimiter(self) -> str:
        return "\t" if self.suffix == ".tsv" else ","

    def _parquet(self) -> Iterator[tuple[object, dict[str, Any]]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        number = 0
        try:
            self.memory.check(unpacked(self.path), self.path)
            with pq.ParquetFile(self.path) as opened:
                for batch in opened.iter_batches(batch_size=_A_FEW):
                    self.memory.check(4 * batch.nbytes, self.path)
                    for row in batch.to_pylist():
                        number += 1
                        yield f"row {number}", row
        except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError, ValueError) as err:
            raise DataError(f"{self.path}: not a Parquet file that can be read ({printable(str(err))})") from err

    @cached_property
    def document(self) -> Any:
        """A whole JSON document; None for other files."""
        if self.suffix != ".json":
            return None
        most = self.memory.left // 2
        try:
            with self._open() as stream:
                raw = stream.read(most + 1)
        except (OSError, EOFError, zlib.error) as err:
            raise _unreadable(self.path, err) from err
        self.memory.check(2 * len(raw), self.path)
        if not raw.strip():
            raise DataError(f"{self.path}: the file is empty, line 1, column 1; nothing to diagnose")
        self.memory.check(json_cost(raw), self.path)
        return parsed(decode(raw, self.path, 1), self.path, 1)


def _unreadable(path: Path, err: Exception) -> DataError:
    return DataError(f"{path}: cannot be read ({getattr(err, 'strerror', None) or err}); wanted a log file")


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


def parsed(text: str, path: object, line: int) -> Any:
    """JSON, or one line that says where it is none. Depth and digits are bounded by the standard library."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as err:
        at = line + err.lineno - 1
        raise DataError(f"{path}, line {at}, column {err.colno}: not JSON ({err.msg})") from err
    except RecursionError as err:
        raise DataError(f"{path}, line {line}, column 1: nested too deeply to be a log") from err
    except ValueError as err:
        raise DataError(f"{path}, line {line}, column 1: a number has too many digits to be one of a log") from err


def an_object(value: Any, file: object, line: object) -> Any:
    """The value, if it is a JSON object."""
    if not isinstance(value, Mapping):
        raise refused(file, line, 1, f"wanted an object, got {type(value).__name__}")
    return value


def place(line: object) -> str:
    return f"line {line}" if isinstance(line, int) else str(line)


def refused(file: object, line: object, column: str | int, why: str) -> DataError:
    """What is wrong with one value of a log, and where it stands."""
    name = f"column '{column}'" if isinstance(column, str) else f"column {column}"
    return DataError(f"{file}, {place(line)}, {name}: {why}")


def whole(value: Any, file: str, line: object, column: str) -> int:
    """A whole number from whatever a log wrote; refuses the rest by name."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if isinstance(value, bool) or not abs(number) <= _LARGEST or number != int(number):
        raise refused(file, line, column, f"{shown(value)} is not a whole number")
    return int(number)


def shown(value: Any) -> str:
    """A value of a log inside a message: short, on one line, harmless to a terminal."""
    try:
        text = repr(value)
    except ValueError:
        # An integer of thousands of digits has no decimal text.
        return "a number of thousands of digits"
    return printable(text if len(text) <= 60 else text[:57] + "...")


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
        if word in _YES:
            return True
        if word in _NO:
            return False
    wanted = "wanted 0 or 1, true or false, right or wrong (a partial score needs a threshold first)"
    raise refused(file, line, column, f"{shown(value)} is not a verdict; {wanted}")
