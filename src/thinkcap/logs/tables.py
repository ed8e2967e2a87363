"""Parquet of any origin, a few rows at a time, after its size in memory was estimated from its footer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.reading import Log, printable

_A_FEW = 64
"""Rows at a time: a repeated text is stored once in the file and once a row in memory."""


def parquet_cost(metadata: Any, columns: Sequence[str] | None = None) -> int:
    """Bytes of the columns once read: what is packed, and at least 16 bytes a value, however well it packs."""
    packed = values = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for at in range(group.num_columns):
            column = group.column(at)
            if columns is None or column.path_in_schema.partition(".")[0] in columns:
                packed += max(column.total_uncompressed_size, 0)
                values += max(column.num_values, 0)
    return packed + 16 * values


def parquet_rows(log: Log) -> Iterator[tuple[object, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(log.path) as opened:
            log.memory.check(parquet_cost(opened.metadata), log.path)
            for batch in opened.iter_batches(batch_size=_A_FEW):
                log.memory.check(4 * batch.nbytes, log.path)
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", row
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError, ValueError) as err:
        raise DataError(f"{log.path}: not a Parquet file that can be read ({printable(str(err))})") from err
