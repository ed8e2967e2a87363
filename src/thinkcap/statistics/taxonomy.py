"""Where a cascade's wrong answers come from: accepted too early, never solved, or spoiled on the way.

>>> t = failures([1, 0, 0], [0, 1, 1], [1, 0, 1])
>>> t.false_accept, t.still_wrong, t.regression
(0, 1, 1)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.statistics.arrays import aligned, bools, outcomes


@dataclass(frozen=True)
class Failures:
    """F1, F2, F3; they partition the wrong answers."""

    wrong: int
    false_accept: int
    """F1: the first answer was accepted and wrong."""
    still_wrong: int
    """F2: escalated, and wrong before and after."""
    regression: int
    """F3: escalated though the first answer was right, and wrong after."""
    unsolved_by_all: int | None
    """Of F2: wrong in every other arm too; None when no other arm was given."""


def failures(
    right: ArrayLike, escalated: ArrayLike, first_right: ArrayLike, others_right: ArrayLike | None = None
) -> Failures:
    """`others_right`: questions x other arms, or one column."""
    good, sent, before = outcomes(right=right, escalated=escalated, first=first_right)
    still = ~good & sent & ~before
    everywhere = None
    if others_right is not None:
        table = bools(others_right).reshape(len(good), -1)
        solved = np.asarray(table.any(axis=1))
        aligned(right=good, others=solved)
        everywhere = int((still & ~solved).sum())
    return Failures(
        int((~good).sum()),
        int((~good & ~sent).sum()),
        int(still.sum()),
        int((~good & sent & before).sum()),
        everywhere,
    )
