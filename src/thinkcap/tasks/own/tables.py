"""Anyone's table as records: JSONL, JSON, CSV, TSV or Parquet, with errors that say where the file is wrong.

    for where, record in records(Path("questions.csv")): ...     # ('questions.csv line 2', {'question': ...})

What is empty in a table without types (CSV) is left out of its record.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError

_LONGEST_CELL = 131_072
SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
MOST_COLUMNS = 10_000
Record = Mapping[str, Any]
_OTHERS = {
    b"PK\x03\x04": "a spreadsheet or an archive: save it as .csv, or unpack it",
    b"\x1f\x8b": "packed with gzip: unpack it",
    b"\x28\xb5\x2f\xfd": "packed with zstd: unpack it",
    b"PAR1": "a Parquet file: name it .parquet",
}
"""What people rename, by its first bytes."""

_DELIMITERS = ",;\t|"
_LISTS = ("examples", "data", "questions", "rows", "items")
"""Where a .json file keeps its records that is not a list itself."""


def records(path: Path) -> Iterator[tuple[str, Record]]:
    """Every record with its place in the file."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path)
    text = _text(path)
    if suffix in (".csv", ".tsv"):
        return _delimited(path, text, "\t" if suffix == ".tsv" else None)
    if suffix == ".json" and (whole := _list(text)) is not None:
        return _listed(path, whole)
    return _lines(path, text)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(8)
    for mark, what in _OTHERS.items():
        if head.startswith(mark):
            raise DataError(f"{path} is {what}; wanted a table in UTF-8")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as err:
        line = path.read_bytes()[: err.start].count(b"\n") + 1
        raise DataError(f"{path} line {line}: byte {err.start} is not UTF-8; save the file as UTF-8") from err
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise DataError(f"{path} line {line}: a NUL byte, so this is not text; wanted a table in UTF-8")
    return text


def _lines(path: Path, text: str) -> Iterator[tuple[str, Record]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as err:
            raise DataError(
                f"{where} column {err.colno}: not JSON ({err.msg}); wanted one object per line"
            ) from err
        except (RecursionError, ValueError) as err:
            raise DataError(f"{where}: nested too deeply, or a number with too many digits") from err
        yield where, _object(where, record)


def _list(text: str) -> list[Any] | None:
    """The records of a .json file; None where it is one object a line after all, or no JSON."""
    try:
        whole = json.loads(text)
    except (RecursionError, ValueError):
        return None
    if isinstance(whole, dict):
        whole = next((whole[key] for key in _LISTS if isinstance(whole.get(key), list)), None)
    return whole if isinstance(whole, list) else None


def _listed(path: Path, whole: list[Any]) -> Iterator[tuple[str, Record]]:
    for number, record in enumerate(whole, 1):
        where = f"{path} record {number}"
        yield where, _object(where, record)


def _object(where: str, record: Any) -> Record:
    if not isinstance(record, dict):
        raise DataError(f"{where}: a {type(record).__name__}; wanted an object with question and answer")
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as err:
        # What no UTF-8 can hold, and so no request and no row.
        raise DataError(f"{where}: half a surrogate pair (\\ud800 to \\udfff) is not a character") from err
    return record


def _delimited(path: Path, text: str, delimiter: str | None) -> Iterator[tuple[str, Record]]:
    head = text.partition("\n")[0]
    # Spreadsheets write `;` where the comma is the decimal sign; the header tells.
    delimiter = delimiter or max(_DELIMITERS, key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    try:
        names = [name.strip() for name in next(reader, [])]
        if not any(names):
            raise DataError(f"{path} line 1: empty; wanted a header row with question and answer")
        if len(names) > MOST_COLUMNS:
            raise DataError(
                f"{path} line 1: {len(names):,} columns; wanted {MOST_COLUMNS:,} at most, a question in each line"
            )
        twice = next((name for name, count in Counter(names).items() if name and count > 1), None)
        if twice is not None:
            raise DataError(f"{path} line 1: two columns are named '{twice}'; give each its own name")
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            where = f"{path} line {reader.line_num}"
            if max(map(len, row)) > _LONGEST_CELL:
                # The csv module's own limit is one for the whole process, and logs are read with another.
                raise DataError(f"{where}: a cell of {max(map(len, row)):,} characters; wanted {_LONGEST_CELL:,}")
            if len(row) > len(names):
                raise DataError(f"{where}: more cells than the header has; quote cells that hold '{delimiter}'")
            if len(row) < len(names):
                raise DataError(f"{where}: fewer cells than the header has")
            yield where, {name: cell for name, cell in zip(names, row, strict=True) if name and cell != ""}
    except csv.Error as err:
        raise DataError(
            f"{path} line {reader.line_num}: not CSV ({err}); quote cells that hold quotes or line ends"
        ) from err


def _parquet(path: Path) -> Iterator[tuple[str, Record]]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if file.metadata.num_columns > MOST_COLUMNS:
                raise DataError(f"{path}: {file.metadata.num_columns:,} columns; wanted {MOST_COLUMNS:,} at most")
            number = 0
            for batch in file.iter_batches(1024):
                for record in batch.to_pylist():
                    number += 1
                    yield f"{path} row {number}", {key: cell for key, cell in record.items() if cell is not None}
    except (pyarrow.ArrowException, OSError, ValueError) as err:
        said = " ".join(str(err).split())[:200]
        raise DataError(f"{path}: not readable as Parquet ({said}); write it again, or save it as .jsonl") from err
