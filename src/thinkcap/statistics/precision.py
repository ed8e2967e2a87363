"""How sure a proportion is: Wilson for reports, Clopper-Pearson to be safe, Hoeffding for one side.

>>> wilson(558, 563).low > 0.979
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from scipy.stats import beta

from thinkcap.core.errors import ConfigError


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


def wilson(k: int, n: int, level: float = 0.95) -> Proportion:
    # Wilson, not Wald: at 197 of 200 Wald's upper end is 1.002. The closed form rather than
    # scipy's binomtest, which also computes a p-value and costs a hundred times more per call.
    _check(k, n, level)
    if n == 0:
        return Proportion(k, n, None, None, None, "wilson", level)
    low, high = score_interval(k / n, n, level)
    return Proportion(k, n, k / n, 0.0 if k == 0 else low, 1.0 if k == n else high, "wilson", level)


def score_interval(share: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval around a share of n, also where the count behind it is not known."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    zz = z * z
    centre = (share + zz / (2 * n)) / (1 + zz / n)
    half = z * math.sqrt(share * (1 - share) / n + zz / (4 * n * n)) / (1 + zz / n)
    return centre - half, centre + half


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Proportion:
    """Exact: never covers less than it claims, so it is wider than Wilson."""
    _check(k, n, level)
    if n == 0:
        return Proportion(k, n, None, None, None, "clopper-pearson", level)
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(beta.ppf(tail, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(1 - tail, k + 1, n - k))
    return Proportion(k, n, k / n, low, high, "clopper-pearson", level)


def hoeffding_lower(value: float | None, n: int, delta: float = 0.05) -> float | None:
    """One-sided lower bound that holds with probability 1 - delta for any bounded law; None where n is 0."""
    if value is None or n == 0:
        return None
    if not 0 < delta < 1:
        raise ConfigError(f"delta lies between 0 and 1, got {delta}")
    return value - math.sqrt(math.log(1 / delta) / (2 * n))


@dataclass(frozen=True)
class StopPrecision:
    """How often an answer that stopped by itself is right, with three ways of being careful."""

    wilson: Proportion
    exact: Proportion
    hoeffding_lower: float | None


def stop_precision(right_stopped: int, stopped: int, level: float = 0.95) -> StopPrecision:
    exact = clopper_pearson(right_stopped, stopped, level)
    return StopPrecision(
        wilson(right_stopped, stopped, level), exact, hoeffding_lower(exact.value, stopped, 1 - level)
    )
