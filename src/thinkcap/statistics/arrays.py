"""Array types and the one way arrays are checked, so that every estimator refuses the same things.

>>> aligned(right=bools([1, 0]), ended=bools([1, 1]))
2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkcap.core.errors import DataError

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Whole = NDArray[np.integer[Any]]
"""Whole numbers of any width: codes of texts take half of what counts do."""


def bools(values: ArrayLike) -> Bools:
    """A boolean array; refuses anything but 0, 1, False and True (a missing verdict is no verdict)."""
    array = np.asarray(values)
    if array.dtype == np.bool_:
        return array
    if array.size and not np.isin(array, (0, 1)).all():
        raise DataError("an outcome must be 0 or 1; leave out rows without an outcome first")
    return array.astype(np.bool_)


def counts(values: ArrayLike, what: str = "token counts") -> Ints:
    """A whole, non-negative integer array."""
    array = np.asarray(values)
    if array.size and (np.any(array < 0) or np.any(array != np.floor(array))):
        worst = int(np.argmax((array < 0) | (array != np.floor(array))))
        raise DataError(f"{what} must be whole and not negative; element {worst} is {array[worst]}")
    return array.astype(np.int64)


def aligned(**columns: NDArray[Any]) -> int:
    """The common length of named columns; refuses columns of different lengths."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"columns must be of one length, got {lengths}")
    return next(iter(lengths.values()))


def outcomes(**columns: ArrayLike) -> tuple[Bools, ...]:
    """Named columns of outcomes, checked: each 0 or 1, all of one length."""
    found = {name: bools(values) for name, values in columns.items()}
    aligned(**found)
    return tuple(found.values())


def chains(lengths: ArrayLike, ended: ArrayLike) -> tuple[Ints, Bools]:
    """How long each chain is and whether it ended, checked."""
    spent, done = counts(lengths), bools(ended)
    aligned(lengths=spent, ended=done)
    return spent, done


def share(part: float, whole: float) -> float | None:
    """part / whole, or None where there is no whole: undefined is not 0."""
    return None if whole == 0 else float(part) / float(whole)


def distinct(columns: Sequence[Whole]) -> tuple[Ints, Ints]:
    """The first row of each different combination, in order of appearance, and each row's number among them.

    >>> first, number = distinct([np.array([7, 5, 7]), np.array([0, 1, 0])])
    >>> first.tolist(), number.tolist()
    ([0, 1], [0, 1, 0])
    """
    combined, span = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        if len(column) == 0:
            break
        low = int(column.min())
        wide = int(column.max()) - low + 1
        if wide > 1 << 24:
            column, low = np.unique(column, return_inverse=True)[1], 0
            wide = int(column.max()) + 1
        if span * wide > 1 << 62:
            combined = np.unique(combined, return_inverse=True)[1]
            span = int(combined.max()) + 1
        combined = combined * wide + (column - low)
        span *= wide
    if span <= max(1 << 16, 4 * len(combined)):
        # Few enough to have a place each, so that nothing is sorted but the first rows.
        seen = np.full(span, len(combined), dtype=np.int64)
        seen[combined[::-1]] = np.arange(len(combined))[::-1]
        first = np.sort(seen[seen < len(combined)])
        seen[combined[first]] = np.arange(len(first))
        return first, seen[combined]
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]
