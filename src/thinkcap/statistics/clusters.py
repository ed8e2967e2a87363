"""Several answers to one question are not several questions: what such rows are worth, and a test that knows it.

A configuration that was run with several seeds answers every question several times, and those answers are alike.
An interval that took each of them for a question of its own would be too narrow.

    >>> twice = np.array([1, 2, 3, 4, 1, 2, 3, 4])
    >>> design_effect([1, 0, 1, 1, 1, 0, 1, 1], twice)      # the second seed says nothing new
    2.0
    >>> design_effect([1, 0, 1, 1], None)
    1.0
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkcap.statistics.arrays import Floats, Ints, aligned, distinct
from thinkcap.statistics.distributions import binomial, student_quantile

FEW = 10
"""Questions with something to count up to which their spread says too little about how alike their answers are."""


def repeated(questions: Ints) -> Ints | None:
    """The same where some question stands in several rows; None where every row is a question of its own."""
    return questions if len(distinct([questions])[0]) < len(questions) else None


def design_effect(values: ArrayLike, questions: Ints | None, level: float = 0.95) -> float:
    """How many rows are worth one independent row: from 1 to as many as a question has answers.

    The variance of the mean by questions over that by rows (Kish), made larger where the questions are few (Korn
    and Graubard 1998). Where at most ten questions hold anything but the commonest value, nobody can tell how
    alike answers are: then all answers of a question are taken for one, rather too wide than too narrow.
    """
    if questions is None or len(questions) == 0:
        return 1.0
    seen = np.asarray(values, dtype=np.float64)
    aligned(values=seen, questions=questions)
    _, place, size = np.unique(questions, return_inverse=True, return_counts=True)
    most = float((size**2).sum() / len(seen))
    levels, counts = np.unique(seen, return_counts=True)
    telling = np.unique(place[seen != levels[counts.argmax()]])
    if len(telling) <= FEW:
        return most
    apart = seen - seen.mean()
    sums, n = np.bincount(place, apart), len(size)
    raw = n / (n - 1) * float((sums**2).sum()) / float((apart**2).sum())
    half = 0.5 + level / 2
    return min(max(1.0, raw * (student_quantile(half, n - 1) / NormalDist().inv_cdf(half)) ** 2), most)


def design_effect_of_lengths(lengths: Ints, questions: Ints | None, level: float = 0.95) -> float:
    """How alike the lengths of one question's chains are, judged at the middle: who is among the longer half."""
    return 1.0 if questions is None else design_effect(lengths >= np.median(lengths), questions, level)


def by_question(values: ArrayLike, questions: Ints) -> Floats:
    """Sums of each question's rows, by column where there are several."""
    _, place = np.unique(questions, return_inverse=True)
    table = np.asarray(values, dtype=np.float64)
    sums = np.zeros((int(place.max()) + 1, *table.shape[1:]))
    np.add.at(sums, place, table)
    return sums


def averaged(rows: NDArray[Any], questions: Ints | None) -> NDArray[Any]:
    """A row a question, the mean of its rows; the rows themselves where each is a question of its own."""
    return (
        rows
        if questions is None
        else (by_question(rows, questions).T / by_question(np.ones(len(rows)), questions)).T
    )


def flips(differences: ArrayLike, questions: Ints) -> float:
    """Two-sided p of the sum of differences, each question's own sum taken with either sign: exact.

    With one row per question it is McNemar's exact test.
    """
    sums = np.rint(by_question(differences, questions)).astype(np.int64)
    won, lost = int(sums[sums > 0].sum()), int(-sums[sums < 0].sum())
    chances, start = np.ones(1), 0
    for size, count in zip(*np.unique(np.abs(sums[sums != 0]), return_counts=True), strict=True):
        # Chances of how much is won of all that differs; far from the middle they vanish and need no room.
        step = np.zeros(size * count + 1)
        step[::size] = binomial(int(count), 0.5)
        inside = np.flatnonzero(step)
        chances = np.convolve(chances, step[inside[0] : inside[-1] + 1])
        start += int(inside[0])
    return min(1.0, 2.0 * float(chances[: max(0, min(won, lost) - start + 1)].sum()))
