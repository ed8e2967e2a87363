"""Two ways of answering, compared on the same questions, row by row.

>>> mcnemar([1, 1, 1, 0], [0, 0, 1, 0]).only_first
2
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.arrays import Ints, outcomes
from thinkcap.statistics.clusters import design_effect, flips
from thinkcap.statistics.distributions import binomial, crossing, student_quantile

Label = TypeVar("Label", bound=Hashable)


@dataclass(frozen=True)
class McNemar:
    """Exact two-sided McNemar on discordant pairs; the p is by questions where they have several rows."""

    n: int
    only_first: int
    only_second: int
    p: float

    @property
    def difference(self) -> float:
        """Accuracy of the first minus that of the second."""
        return (self.only_first - self.only_second) / self.n


def mcnemar_counts(only_first: int, only_second: int, n: int) -> McNemar:
    if n == 0:
        raise DataError("a paired test needs at least one question that both answered, got none")
    if min(only_first, only_second) < 0 or only_first + only_second > n:
        raise ConfigError(f"impossible discordant counts {only_first}:{only_second} of {n}")
    trials = only_first + only_second
    p = (
        1.0
        if trials == 0
        else min(1.0, 2.0 * float(binomial(trials, 0.5)[: min(only_first, only_second) + 1].sum()))
    )
    return McNemar(n, only_first, only_second, p)


def mcnemar(first: ArrayLike, second: ArrayLike, questions: Ints | None = None) -> McNemar:
    """Row i of both must be the same question.

    Where a question has several rows (`questions` says which), the counts are of rows and the p is of questions:
    each is turned round as a whole.
    """
    a, b = outcomes(first=first, second=second)
    found = mcnemar_counts(int((a & ~b).sum()), int((b & ~a).sum()), len(a))
    return found if questions is None else replace(found, p=flips(a.astype(np.int8) - b, questions))


@dataclass(frozen=True)
class PairedDifference:
    test: McNemar
    matched_by: str
    low: float
    high: float
    level: float
    questions: int
    """Different ones among the rows: fewer than `test.n` where some have several."""


def difference_interval(
    first: ArrayLike, second: ArrayLike, questions: Ints | None = None, *, level: float = 0.95
) -> tuple[float, float]:
    """Tango's score interval of the paired difference in accuracy, first minus second.

    It is never of zero width, however few pairs differ. Where the exact test does not reject at this level it is
    widened to 0, so that interval and p never disagree; it then covers more than it claims.
    """
    found = difference(first, second, "row", questions, level=level)
    return found.low, found.high


def interval_of(test: McNemar, level: float = 0.95, effect: float = 1.0) -> tuple[float, float]:
    """The same from counts, of which `effect` are worth one."""
    b, c, n = test.only_first / effect, test.only_second / effect, test.n / effect
    z = NormalDist().inv_cdf(0.5 + level / 2)
    seen = test.difference
    low = crossing(lambda d: _score(d, b, c, n) - z, -1.0, seen)
    high = crossing(lambda d: _score(d, b, c, n) + z, seen, 1.0)
    if test.p > 1 - level:
        return min(low, 0.0), max(high, 0.0)
    # Where the test rejects 0 so does the interval, though the score of questions of unequal weight may not.
    return (max(low, 0.0), high) if seen > 0 else (low, min(high, 0.0))


def _score(difference: float, b: float, c: float, n: float) -> float:
    """Tango (1998): b - c less its expectation, over its standard error where this were the true difference."""
    linear = (2 * n - b + c) * difference - b - c
    root = math.sqrt(max(0.0, linear * linear + 8 * n * c * difference * (1 - difference)))
    only_second = (root - linear) / (4 * n)
    spread = n * (2 * only_second + difference * (1 - difference))
    excess = b - c - n * difference
    if spread <= 0:
        return math.copysign(math.inf, excess) if excess else 0.0
    return excess / math.sqrt(spread)


def difference(
    first: ArrayLike, second: ArrayLike, matched_by: str, questions: Ints | None = None, *, level: float = 0.95
) -> PairedDifference:
    """Test and interval of rows that somebody has already matched, and says how."""
    test = mcnemar(first, second, questions)
    effect = design_effect(np.asarray(first, dtype=np.int8) - np.asarray(second, dtype=np.int8), questions, level)
    asked = test.n if questions is None else len(np.unique(questions))
    return PairedDifference(test, matched_by, *interval_of(test, level, effect), level, asked)


def mean_difference(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> tuple[float, float]:
    """Student's interval of the mean of first minus second, row by row."""
    apart = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if len(apart) < 2:
        raise DataError(f"an interval of a mean difference needs two pairs or more, got {len(apart)}")
    half = student_quantile(0.5 + level / 2, len(apart) - 1) * float(apart.std(ddof=1)) / math.sqrt(len(apart))
    return float(apart.mean()) - half, float(apart.mean()) + half


def holm(p_values: Mapping[Label, float]) -> dict[Label, float]:
    """Holm's step-down adjustment over one family of tests, under the names given and in their order.

    Whatever sentences a reader sees together are one family: pass all their p at once, quote only what comes back.
    """
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    adjusted: dict[Label, float] = {}
    running = 0.0
    for rank, (name, p) in enumerate(ordered):
        running = max(running, min(1.0, (len(ordered) - rank) * p))
        adjusted[name] = running
    return {name: adjusted[name] for name in p_values}


def mcnemar_power(n: int, only_first: float, only_second: float, alpha: float = 0.05) -> float:
    """Chance that the exact test rejects at n questions with these discordant shares; summed exactly."""
    if not (only_first >= 0 and only_second >= 0 and only_first + only_second <= 1):
        raise ConfigError(f"discordant shares must be a partition, got {only_first} and {only_second}")
    discordant = only_first + only_second
    if discordant == 0:
        return 0.0
    chance = binomial(n, discordant)
    power = 0.0
    for t in np.flatnonzero(chance > 1e-12).tolist():
        wins = np.arange(t + 1)
        p = np.minimum(1.0, 2.0 * np.cumsum(binomial(t, 0.5))[np.minimum(wins, t - wins)])
        power += float(chance[t] * binomial(t, only_first / discordant)[p <= alpha].sum())
    return power


@lru_cache(maxsize=1024)
def least_detectable(n: int, alpha: float = 0.05, power: float = 0.8, noise: float = 0.05) -> float | None:
    """Smallest one-way difference seen with this power, when `noise` of the questions flip the other way too.

    None when even a difference of 1 - 2 noise is not: the sample is too small to show anything.
    """
    for step in range(1, 101):
        effect = step / 100
        if effect + 2 * noise > 1:
            return None
        if mcnemar_power(n, effect + noise, noise, alpha) >= power:
            return effect
    return None
