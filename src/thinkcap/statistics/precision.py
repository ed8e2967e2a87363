"""How sure a share or a mean is: an interval for reports, textbook ones beside it, and one side alone.

>>> proportion(558, 563).low > 0.979
True
>>> proportion(20, 20).low < 0.84
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.arrays import Ints, bools
from thinkcap.statistics.clusters import design_effect
from thinkcap.statistics.distributions import beta_quantile

FEW = 10
"""Right or wrong answers up to which Wilson's interval may cover far less than it claims (84 % for the first)."""


@dataclass(frozen=True)
class Proportion:
    """k of n with an interval; `value`, `low` and `high` are None where n is 0."""

    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None
    method: str
    level: float


def _check(k: int, n: int, level: float) -> None:
    if not 0 <= k <= n:
        raise ConfigError(f"a proportion needs 0 <= k <= n, got k={k}, n={n}")
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level lies between 0 and 1, got {level}")


def proportion(k: int, n: int, level: float = 0.95, effect: float = 1.0) -> Proportion:
    """The interval reports print: Wilson, or the exact one where at most ten are right or at most ten wrong.

    At 95 % it covers at least 93 % whatever the true share and n (by enumeration); near 0 and 1 up to 100 %.
    `effect` rows are worth one, where several answer the same question (`clusters`); so in all that follows.
    """
    exact = min(k, n - k) / effect <= FEW
    return clopper_pearson(k, n, level, effect) if exact else wilson(k, n, level, effect)


def accuracy(right: ArrayLike, questions: Ints | None = None, level: float = 0.95) -> Proportion:
    """The share of right rows. `questions` says which rows answer the same one; None where none do."""
    good = bools(right)
    return proportion(int(good.sum()), len(good), level, design_effect(good, questions, level))


def wilson(k: int, n: int, level: float = 0.95, effect: float = 1.0) -> Proportion:
    """The textbook interval; with few right or few wrong it covers too little, so reports use `proportion`."""
    # Wilson, not Wald: at 197 of 200 Wald's upper end is 1.002.
    _check(k, n, level)
    if n == 0:
        return Proportion(k, n, None, None, None, "wilson", level)
    low, high = score_interval(k / n, n / effect, level)
    return Proportion(k, n, k / n, 0.0 if k == 0 else low, 1.0 if k == n else high, "wilson", level)


def score_interval(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval around a share of n, also where the count behind it is not known."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    zz = z * z
    centre = (share + zz / (2 * n)) / (1 + zz / n)
    half = z * math.sqrt(share * (1 - share) / n + zz / (4 * n * n)) / (1 + zz / n)
    return centre - half, centre + half


def clopper_pearson(k: int, n: int, level: float = 0.95, effect: float = 1.0) -> Proportion:
    """Exact: never covers less than it claims, so it is wider than Wilson."""
    _check(k, n, level)
    if n == 0:
        return Proportion(k, n, None, None, None, "clopper-pearson", level)
    tail = (1 - level) / 2
    right, wrong = k / effect, (n - k) / effect
    low = 0.0 if k == 0 else beta_quantile(tail, right, wrong + 1)
    high = 1.0 if k == n else beta_quantile(1 - tail, right + 1, wrong)
    return Proportion(k, n, k / n, low, high, "clopper-pearson", level)


def hoeffding_lower(value: float | None, n: float, delta: float = 0.05) -> float | None:
    """One-sided lower bound that holds with probability 1 - delta for any bounded law; None where n is 0."""
    if value is None or n == 0:
        return None
    if not 0 < delta < 1:
        raise ConfigError(f"delta lies between 0 and 1, got {delta}")
    return value - math.sqrt(math.log(1 / delta) / (2 * n))


def simultaneous(family: int, level: float = 0.95) -> float:
    """The level for each of `family` intervals that must hold all at once with `level` (Bonferroni)."""
    if family < 1:
        raise ConfigError(f"a family has at least one member, got {family}")
    return 1 - (1 - level) / family


def mean_interval(
    values: ArrayLike, lowest: float, highest: float, level: float = 0.95, effect: float = 1.0
) -> tuple[float, float]:
    """Interval of the mean of a quantity known to lie in [lowest, highest], one value a row.

    One imagined value at either bound joins the sample (Bonett and Price do so for paired shares), so that a
    sample in which nothing happened does not claim certainty. It covers what it claims or more.
    """
    seen = np.asarray(values, dtype=np.float64)
    if seen.size == 0:
        raise DataError("an interval of a mean needs at least one value")
    if seen.min() < lowest or seen.max() > highest:
        raise DataError(f"a value lies outside {lowest} to {highest}: {seen.min()} to {seen.max()}")
    padded = np.append(seen, (lowest, highest))
    half = NormalDist().inv_cdf(0.5 + level / 2) * float(padded.std()) * math.sqrt(effect / len(padded))
    centre = float(padded.mean())
    # The estimate itself always belongs to its interval, also where the imagined values pull the centre away.
    mean = float(seen.mean())
    return max(lowest, min(centre - half, mean)), min(highest, max(centre + half, mean))


@dataclass(frozen=True)
class StopPrecision:
    """How often an answer that stopped by itself is right, with three ways of being careful."""

    wilson: Proportion
    exact: Proportion
    hoeffding_lower: float | None


def stop_precision(right: ArrayLike, questions: Ints | None = None, level: float = 0.95) -> StopPrecision:
    """Of the rows that stopped by themselves."""
    good = bools(right)
    k, n, effect = int(good.sum()), len(good), design_effect(good, questions, level)
    exact = clopper_pearson(k, n, level, effect)
    bound = hoeffding_lower(exact.value, n / effect, 1 - level)
    return StopPrecision(wilson(k, n, level, effect), exact, bound)
