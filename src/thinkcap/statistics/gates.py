"""Vote agreement as a gate: trust the vote where it is clear, spend more where it is not.

>>> g = gate([4, 1], [True, False], [False, True], threshold=3)
>>> g.right, g.confident.n, g.low.second_right
(2, 1, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Ints, aligned, bools, counts
from thinkcap.statistics.paired import McNemar, mcnemar


@dataclass(frozen=True)
class GateSide:
    """The questions on one side of the gate, and how both methods do there."""

    n: int
    first_right: int
    second_right: int


@dataclass(frozen=True)
class Chosen:
    """One of two answers for every question, against always taking the one or the other."""

    n: int
    right: int
    against_first: McNemar
    against_second: McNemar


@dataclass(frozen=True)
class Gate(Chosen):
    """The first method where its top class has at least `threshold` votes, otherwise the second."""

    threshold: int
    confident: GateSide
    low: GateSide


@dataclass(frozen=True)
class Weighted(Chosen):
    """Votes with the second method's answer counted as `weight` more of them; both are always paid."""

    weight: int
    changed: int
    """Questions on which the second method's answer carried the vote."""


def gate(
    top_votes: ArrayLike,
    first_right: ArrayLike,
    second_right: ArrayLike,
    questions: Ints | None = None,
    *,
    threshold: int,
) -> Gate:
    """`questions` says which rows answer the same one, None where none do; so in all that follows."""
    first, second = bools(first_right), bools(second_right)
    sure = counts(top_votes, "votes") >= threshold
    taken = _taken(~sure, first, second, questions)
    return Gate(*taken, threshold, _side(sure, first, second), _side(~sure, first, second))


def weighted(
    top_votes: ArrayLike,
    support: ArrayLike,
    first_right: ArrayLike,
    second_right: ArrayLike,
    questions: Ints | None = None,
    *,
    weight: int,
) -> Weighted:
    """`top_votes`: size of the samples' largest class; `support`: votes the second method's answer has among them.

    Only these two classes can win; of equals the samples' own stands, as it was there first.
    """
    votes, backed = counts(top_votes, "votes"), counts(support, "votes")
    aligned(votes=votes, support=backed)
    carried = backed + weight > votes
    taken = _taken(carried, bools(first_right), bools(second_right), questions)
    return Weighted(*taken, weight, int(carried.sum()))


def _taken(
    second_there: Bools, first: Bools, second: Bools, questions: Ints | None
) -> tuple[int, int, McNemar, McNemar]:
    n = aligned(votes=second_there, first=first, second=second)
    if n == 0:
        raise DataError("no questions on which to choose between two methods")
    chosen = np.where(second_there, second, first)
    return n, int(chosen.sum()), mcnemar(chosen, first, questions), mcnemar(chosen, second, questions)


def _side(rows: Bools, first: Bools, second: Bools) -> GateSide:
    return GateSide(int(rows.sum()), int((rows & first).sum()), int((rows & second).sum()))


def split_half(
    votes: Ints, first: Bools, second: Bools, questions: Ints | None = None, *, threshold: int
) -> tuple[Gate, Gate]:
    """The same fixed threshold on the first and second half: does it hold up, or was it luck?"""

    def half(rows: slice) -> Gate:
        return gate(votes[rows], first[rows], second[rows], _part(questions, rows), threshold=threshold)

    middle = len(votes) // 2
    return half(slice(middle)), half(slice(middle, None))


def _part(questions: Ints | None, rows: slice) -> Ints | None:
    return None if questions is None else questions[rows]


Taken = TypeVar("Taken", bound=Chosen)


@dataclass(frozen=True)
class Calibrated(Generic[Taken]):
    """A threshold or weight chosen on some questions, and how it does on the others."""

    setting: int
    calibration: Taken
    test: Taken


def calibrate(
    votes: Ints,
    first: Bools,
    second: Bools,
    questions: Ints | None = None,
    *,
    calibration: int,
    thresholds: Sequence[int] | None = None,
) -> Calibrated[Gate]:
    """Choose the threshold on the first `calibration` questions, report on the rest. Ties: the lowest."""
    options = list(thresholds) if thresholds else list(range(1, int(votes.max()) + 1))

    def make(rows: slice, threshold: int) -> Gate:
        return gate(votes[rows], first[rows], second[rows], _part(questions, rows), threshold=threshold)

    return _calibrated(make, options, calibration, len(votes))


def calibrate_weight(
    votes: Ints,
    support: Ints,
    first: Bools,
    second: Bools,
    questions: Ints | None = None,
    *,
    calibration: int,
    weights: Sequence[int] = (1, 2, 3),
) -> Calibrated[Weighted]:
    """The same for the weight of the second method's answer."""

    def make(rows: slice, weight: int) -> Weighted:
        chosen = (votes[rows], support[rows], first[rows], second[rows], _part(questions, rows))
        return weighted(*chosen, weight=weight)

    return _calibrated(make, weights, calibration, len(votes))


def _calibrated(
    make: Callable[[slice, int], Taken], options: Sequence[int], calibration: int, n: int
) -> Calibrated[Taken]:
    if not 0 < calibration < n:
        raise DataError(f"calibration on {calibration} of {n} questions leaves nothing to test on")
    head = {option: make(slice(calibration), option) for option in options}
    best = max(head, key=lambda option: (head[option].right, -option))
    return Calibrated(best, head[best], make(slice(calibration, None), best))
