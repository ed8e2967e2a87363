"""The rows of a run as columns: texts as codes, numbers as arrays, written in batches and read a few at a time.

found = read_columns(folder / "rows.parquet", ("policy", "budget", "verdict"))
found.text("policy").of(0), found.number("budget")[0]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.core.files import replacing
from thinkcap.statistics.arrays import Ints, Whole
from thinkcap.study.footer import unpacked
from thinkcap.study.rows import RENAMED, Row

_BATCH = 1 << 16
"""Rows that are Python objects at one time while columns are written."""
_AS_JSON = ("stages", "notes")
"""Nested fields are JSON text, as they stand in the journal, so that any tool can read the file."""
_LEFT_OUT = ("claims",)
MOST_BYTES = 4 << 30
"""What the columns of one run may take; those of a million rows with all their texts do not. A run that came from
somebody else may be a small file that unpacks to far more than there is."""
JOURNAL = b"thinkcap.journal"
"""Names, in the file itself, how many bytes of the journal its rows were made from."""

_FIELDS = [field for field in msgspec.structs.fields(Row) if field.name not in _LEFT_OUT]
Stored: type[msgspec.Struct] = msgspec.defstruct(
    "Stored",
    [
        (f.name, msgspec.Raw if f.name in _AS_JSON else f.type, *(() if f.required else (f.default,)))
        for f in _FIELDS
    ],
    kw_only=True,
)
"""A row of the journal as the columns want it."""


def write_columns(lines: Iterable[msgspec.Struct], file: BinaryIO, journal: int = 0) -> None:
    """Rows as `Stored`, a batch at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(field.name, kinds.get(field.type, pa.string())) for field in _FIELDS])
    schema = schema.with_metadata({JOURNAL: str(journal).encode()})
    nested = [at for at, field in enumerate(_FIELDS) if field.name in _AS_JSON]
    lines = iter(lines)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := [msgspec.structs.astuple(line) for line in islice(lines, _BATCH)]:
            columns: list[Sequence[Any]] = list(zip(*batch, strict=True))
            for at in nested:
                columns[at] = [str(raw, "utf-8") for raw in columns[at]]
            arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def write_parquet(rows: Iterable[Row], path: Path) -> None:
    """Rows that were made elsewhere than in a journal."""
    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(Stored)
    with replacing(path) as file:
        write_columns((decoder.decode(encoder.encode(row)) for row in rows), file)


class Coded:
    """A text column as codes (-1 where there is none) and the texts they stand for."""

    def __init__(self, column: Any) -> None:
        coded = column.unify_dictionaries().combine_chunks() if is_coded(column) else column.combine_chunks()
        coded = coded if is_coded(coded) else coded.dictionary_encode()
        self.codes: Whole = _codes(coded.indices)
        self._dictionary = coded.dictionary

    @cached_property
    def texts(self) -> list[str]:
        """All of them; where they may be as many as the rows, `at` makes only those of some rows."""
        return list(self._dictionary.to_pylist())

    def at(self, rows: Ints) -> list[str | None]:
        """The texts of these rows, each different one made once; None where there is none."""
        codes, place = np.unique(self.codes[rows], return_inverse=True)
        missing = int(codes.size > 0 and codes[0] < 0)
        found = [None] * missing + self._dictionary.take(_indices(codes[missing:])).to_pylist()
        return [found[at] for at in place.tolist()]

    def of(self, row: int) -> str:
        return self.texts[int(self.codes[row])]

    def are(self, word: str, rows: Ints | slice = slice(None)) -> NDArray[np.bool_]:
        code = self.texts.index(word) if word in self.texts else -2
        return np.asarray(self.codes[rows] == code)


def is_coded(column: Any) -> bool:
    return hasattr(column.type, "index_type")


def numbers(column: Any) -> NDArray[Any]:
    """The values of a column, nan for none. `to_numpy` would import pandas first, which takes longer than this."""
    import pyarrow.types as kinds

    array = column.combine_chunks() if hasattr(column, "chunks") else column
    kind, start, end = array.type, array.offset, array.offset + len(array)
    whole = kinds.is_integer(kind) or kinds.is_boolean(kind)
    if not (kinds.is_floating(kind) or (whole and not array.null_count)):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    valid, data = array.buffers()
    if kinds.is_boolean(kind):
        return _bits(data or b"", start, end)
    values = np.frombuffer(data or b"", dtype=kind.to_pandas_dtype())[start:end]
    return np.where(_bits(valid, start, end), values, np.nan) if array.null_count else values


def _bits(data: Any, start: int, end: int) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(data, np.uint8), count=end, bitorder="little")[start:].view(np.bool_)


def _codes(indices: Any) -> NDArray[np.int32]:
    valid, data = indices.buffers()
    start, end = indices.offset, indices.offset + len(indices)
    codes = np.frombuffer(data or b"", dtype=indices.type.to_pandas_dtype())[start:end].astype(
        np.int32, copy=False
    )
    if not indices.null_count:
        return codes
    return np.where(_bits(valid, start, end), codes, np.int32(-1))


def _indices(codes: Whole) -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int32(), len(codes), [None, pa.py_buffer(codes.astype(np.int32))])


class RowColumns:
    """Some columns of a run. A column that holds something else than it should is refused by name."""

    def __init__(self, table: Any, path: Path) -> None:
        self.table, self._path = table, path
        self.metadata: Mapping[bytes, bytes] = table.schema.metadata or {}

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def text(self, name: str) -> Coded:
        try:
            return Coded(self.table[name])
        except (KeyError, TypeError, ValueError, AttributeError, NotImplementedError) as err:
            raise self._wrong(name, err) from err

    def number(self, name: str) -> NDArray[Any]:
        try:
            return numbers(self.table[name])
        except (KeyError, TypeError, ValueError) as err:
            raise self._wrong(name, err) from err

    def _wrong(self, name: str, err: Exception) -> DataError:
        return DataError(f"'{self._path}', column '{name}': not as a study writes it ({err}); run the study again")


def read_columns(
    path: Path, names: Sequence[str], left_out: Mapping[str, str | bool | None] = MappingProxyType({})
) -> RowColumns:
    """These columns and no others, texts never as Python objects.

    `left_out` names those that may have been taken out before a file was shared, and what every row has instead.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.read_schema(path)
        stored = {name: name if name in about.names else RENAMED.get(name, name) for name in names}
        here = {name: at for name, at in stored.items() if at in about.names or name not in left_out}
        missing = [at for at in here.values() if at not in about.names]
        if missing:
            raise DataError(f"'{path}' has no column '{missing[0]}'; wanted all columns that a study writes")
        columns = list(here.values())
        check_size(unpacked(path, columns), path)
        with pq.ParquetFile(path, read_dictionary=columns) as file:
            table = file.read(columns=columns).select(columns).rename_columns(list(here))
        for name in (name for name in names if name not in here):
            value = pa.scalar(left_out[name], pa.bool_() if left_out[name] is False else pa.string())
            table = table.append_column(name, pa.repeat(value, table.num_rows))
        # New names leave behind what the file says of itself.
        return RowColumns(table.replace_schema_metadata(about.metadata), path)
    except FileNotFoundError:
        raise DataError(f"no rows at '{path}'; wanted the folder of a finished study") from None
    except (pa.ArrowException, OSError, ValueError, KeyError) as err:
        raise DataError(f"cannot read '{path}' as rows of a study: {err}") from err


def check_size(size: int, path: Path) -> None:
    if size > MOST_BYTES:
        raise DataError(
            f"'{path}' would take {size / 2**30:.3g} GiB in memory, and {MOST_BYTES / 2**30:.3g} GiB is the most "
            f"that is read from one run; study fewer questions or budgets in one folder"
        )
