"""Seconds each answer took to write, beside the rows: a clock inside them would make two equal runs differ.

An answer's time is that of its calls together; a chain that was cut counts by its share of the tokens.
`times.parquet` has the rows of `rows.parquet` in their order; no time where a killed run lost it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from thinkcap.core.errors import DataError
from thinkcap.core.files import replacing
from thinkcap.study.plan import Key
from thinkcap.study.rows import read_parquet

FILE = "times.parquet"
KEYS = ("task", "question", "policy", "budget", "seed")


def read_times(folder: Path) -> dict[Key, float]:
    """What an earlier part of the run took; nothing where that is not known, for it only costs a column."""
    try:
        columns = read_parquet(folder / FILE)
        rows = zip(*(columns[name].tolist() for name in (*KEYS, "wall_s")), strict=True)
        return {tuple(key): seconds for *key, seconds in rows if seconds == seconds}
    except (DataError, KeyError, AttributeError):
        return {}


def write_times(folder: Path, keys: Iterable[Key], seconds: Mapping[Key, float]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = list(keys)
    columns = dict(zip(KEYS, zip(*keys, strict=True), strict=True))
    times = pa.table({**columns, "wall_s": pa.array([seconds.get(key) for key in keys], pa.float64())})
    with replacing(folder / FILE) as file:
        pq.write_table(times, file, compression="zstd")
