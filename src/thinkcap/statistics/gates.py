"""Vote agreement as a gate: trust the vote where it is clear, spend more where it is not.

>>> g = gate([4, 1], [True, False], [False, True], threshold=3)
>>> g.right, g.confident.n, g.low.second_right
(2, 1, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Ints, aligned, bools, counts
from thinkcap.statistics.paired import McNemar, mcnemar


@dataclass(frozen=True)
class Part:
    n: int
    first_right: int
    second_right: int


@dataclass(frozen=True)
class Gate:
    """The first method where its top class has at least `threshold` votes, otherwise the second."""

    threshold: int
    n: int
    right: int
    confident: Part
    low: Part
    against_first: McNemar
    against_second: McNemar


def gate(top_votes: ArrayLike, first_right: ArrayLike, second_right: ArrayLike, *, threshold: int) -> Gate:
    votes, first, second = counts(top_votes, "votes"), bools(first_right), bools(second_right)
    n = aligned(votes=votes, first=first, second=second)
    if n == 0:
        raise DataError("no questions to gate")
    sure = votes >= threshold
    chosen = np.where(sure, first, second)
    return Gate(
        threshold,
        n,
        int(chosen.sum()),
        _part(sure, first, second),
        _part(~sure, first, second),
        mcnemar(chosen, first),
        mcnemar(chosen, second),
    )


def _part(rows: Bools, first: Bools, second: Bools) -> Part:
    return Part(int(rows.sum()), int((rows & first).sum()), int((rows & second).sum()))


def split_half(votes: Ints, first: Bools, second: Bools, *, threshold: int) -> tuple[Gate, Gate]:
    """The same fixed threshold on the first and second half: does it hold up, or was it luck?"""
    middle = len(votes) // 2
    return (
        gate(votes[:middle], first[:middle], second[:middle], threshold=threshold),
        gate(votes[middle:], first[middle:], second[middle:], threshold=threshold),
    )


@dataclass(frozen=True)
class Calibrated:
    threshold: int
    calibration: Gate
    test: Gate


def calibrate(
    votes: Ints, first: Bools, second: Bools, *, calibration: int, thresholds: Sequence[int] | None = None
) -> Calibrated:
    """Choose the threshold on the first `calibration` questions, report on the rest. Ties: the lowest."""
    if not 0 < calibration < len(votes):
        raise DataError(f"calibration on {calibration} of {len(votes)} questions leaves nothing to test on")
    options = list(thresholds) if thresholds else list(range(1, int(votes.max()) + 1))
    head = [gate(votes[:calibration], first[:calibration], second[:calibration], threshold=t) for t in options]
    best = max(head, key=lambda g: (g.right, -g.threshold))
    rest = gate(votes[calibration:], first[calibration:], second[calibration:], threshold=best.threshold)
    return Calibrated(best.threshold, best, rest)


@dataclass(frozen=True)
class Weighted:
    """Votes with the second method's answer counted as `weight` more of them; both are always paid."""

    weight: int
    n: int
    right: int
    changed: int
    """Questions on which the second method's answer carried the vote."""
    against_first: McNemar
    against_second: McNemar


def weighted(
    top_votes: ArrayLike, support: ArrayLike, first_right: ArrayLike, second_right: ArrayLike, *, weight: int
) -> Weighted:
    """`top_votes`: size of the samples' largest class; `support`: votes the second method's answer has among them.

    Only these two classes can win; of equals the samples' own stands, as it was there first.
    """
    votes, backed = counts(top_votes, "votes"), counts(support, "votes")
    first, second = bools(first_right), bools(second_right)
    n = aligned(votes=votes, support=backed, first=first, second=second)
    if n == 0:
        raise DataError("no questions to vote on")
    carried = backed + weight > votes
    chosen = np.where(carried, second, first)
    return Weighted(
        weight, n, int(chosen.sum()), int(carried.sum()), mcnemar(chosen, first), mcnemar(chosen, second)
    )


@dataclass(frozen=True)
class CalibratedWeight:
    weight: int
    calibration: Weighted
    test: Weighted


def calibrate_weight(
    top_votes: ArrayLike,
    support: ArrayLike,
    first_right: ArrayLike,
    second_right: ArrayLike,
    *,
    calibration: int,
    weights: Sequence[int] = (1, 2, 3),
) -> CalibratedWeight:
    """Choose the weight on the first `calibration` questions, report on the rest. Ties: the lowest."""
    columns = (counts(top_votes, "votes"), counts(support, "votes"), bools(first_right), bools(second_right))
    if not 0 < calibration < len(columns[0]):
        raise DataError(f"calibration on {calibration} of {len(columns[0])} questions leaves nothing to test on")
    head = [weighted(*(c[:calibration] for c in columns), weight=w) for w in weights]
    best = max(head, key=lambda found: (found.right, -found.weight))
    rest = weighted(*(c[calibration:] for c in columns), weight=best.weight)
    return CalibratedWeight(best.weight, best, rest)


def top_class_size(votes: Sequence[Sequence[str]]) -> Ints:
    """Size of the largest class of equal answers per question; 0 where nobody answered."""
    sizes = []
    for ballots in votes:
        given = [b.strip() for b in ballots if b.strip()]
        sizes.append(max((given.count(b) for b in set(given)), default=0))
    return np.asarray(sizes, dtype=np.int64)
