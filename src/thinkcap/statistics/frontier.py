"""The least budget that solves each question, and what an oracle who knew it would pay.

>>> frontier([128, 256], [[1, 1], [0, 1], [0, 0]]).by_budget
{128: 1, 256: 1, 0: 1}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import bools


@dataclass(frozen=True)
class Frontier:
    n: int
    by_budget: dict[int, int]
    """Questions by least sufficient budget; key 0: solved at none."""
    cumulative: tuple[float, ...]
    solved: int
    cost_charged: float
    """Mean nominal cap when unsolved questions are charged the largest cap."""
    cost_skipped: float
    """The same when an oracle does not try them."""


def frontier_counts(budgets: Sequence[int], solved_first: Sequence[int], n: int) -> Frontier:
    """From counts per tier; `solved_first[i]` questions need budgets[i]."""
    if len(budgets) != len(solved_first) or sum(solved_first) > n or n <= 0:
        raise DataError(f"tiers {list(solved_first)} do not fit {n} questions at budgets {list(budgets)}")
    solved = int(sum(solved_first))
    spent = float(sum(b * k for b, k in zip(budgets, solved_first, strict=True)))
    tiers = {int(b): int(k) for b, k in zip(budgets, solved_first, strict=True)}
    return Frontier(
        n,
        {**tiers, 0: n - solved},
        tuple(float(x) for x in np.cumsum(solved_first) / n),
        solved,
        (spent + (n - solved) * max(budgets)) / n,
        spent / n,
    )


def frontier(budgets: Sequence[int], right: ArrayLike) -> Frontier:
    """`right`: questions x budgets, budgets rising."""
    table = bools(right)
    if table.ndim != 2 or table.shape[1] != len(budgets) or len(table) == 0:
        raise DataError(f"wanted questions x {len(budgets)} budgets, got {table.shape}")
    if list(budgets) != sorted(set(budgets)):
        raise DataError(f"budgets must rise, got {list(budgets)}")
    any_right = table.any(axis=1)
    first = np.argmax(table, axis=1)[any_right]
    return frontier_counts(budgets, np.bincount(first, minlength=len(budgets)).tolist(), len(table))
