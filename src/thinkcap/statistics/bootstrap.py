"""Resampling by weights: rows that look alike form one cell, a draw is one multinomial over the cells.

Exactly the same law as resampling rows, but a million rows cost no more than their distinct outcomes.

    >>> cells = cells_of(np.array([[1, 0], [1, 0], [0, 1]]))
    >>> cells.counts.tolist(), cells.means().tolist()
    ([1, 2], [0.6666666666666666, 0.3333333333333333])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.arrays import Floats, Ints

_BLOCK_BYTES = 64 << 20
"""Draws are made in blocks, so that draws x cells never needs more memory than this."""


@dataclass(frozen=True)
class Cells:
    """Distinct outcome rows with how often each occurs."""

    values: Floats
    counts: Ints

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    def means(self) -> Floats:
        return np.asarray(self.counts @ self.values / self.n, dtype=np.float64)

    def draws(self, times: int, seed: int) -> Floats:
        """Means of `times` resamples: an array (times x columns)."""
        blocks = [w @ self.values / self.n for w in weights(self.counts, times, seed)]
        return np.concatenate(blocks)


def cells_of(rows: NDArray[Any]) -> Cells:
    """Group equal rows. Rows of small integers are packed into one number first: 30 times quicker."""
    rows = np.asarray(rows)
    if rows.ndim != 2 or len(rows) == 0:
        raise DataError("a bootstrap needs at least one row of outcomes")
    whole = rows.dtype.kind in "biu"
    low = int(rows.min()) if whole else 0
    span = int(rows.max()) - low + 1 if whole else 0
    if whole and span ** rows.shape[1] < 2**62:
        codes = np.zeros(len(rows), dtype=np.int64)
        for column in range(rows.shape[1]):
            codes = codes * span + (rows[:, column].astype(np.int64) - low)
        distinct, counts = np.unique(codes, return_counts=True)
        powers = span ** np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
        values = (distinct[:, None] // powers % span + low).astype(np.float64)
    else:
        values, counts = np.unique(rows.astype(np.float64), axis=0, return_counts=True)
    return Cells(values, counts.astype(np.int64))


def weights(counts: Ints, times: int, seed: int) -> Iterator[Floats]:
    """Multinomial weights over cells, in blocks of bounded size."""
    if times < 1:
        raise ConfigError(f"a bootstrap needs at least one draw, got {times}")
    rng = np.random.default_rng(seed)
    n = int(counts.sum())
    block = max(1, _BLOCK_BYTES // (8 * max(1, len(counts))))
    left = times
    while left > 0:
        take = min(block, left)
        yield rng.multinomial(n, counts / n, size=take).astype(np.float64)
        left -= take


def percentile_interval(draws: Floats, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval; infinities are kept, so a quantity may lie beyond what was observed.

    A draw without a value is refused: sorted last, it would pass for the largest.
    """
    if len(draws) == 0 or np.isnan(draws).any():
        without = int(np.isnan(draws).sum())
        raise DataError(f"{without} of {len(draws)} draws have no value; leave them out first and say how many")
    tail = (1 - level) / 2
    ordered = np.sort(draws)
    # Order statistics, not interpolation: interpolating between a number and infinity has no meaning.
    low = ordered[max(0, int(np.floor(tail * (len(ordered) - 1))))]
    high = ordered[min(len(ordered) - 1, int(np.ceil((1 - tail) * (len(ordered) - 1))))]
    return float(low), float(high)
