"""The few distributions our estimators need, so that installing thinkcap does not bring a hundred megabytes more.

Each is held against scipy in `tests/statistics/test_distributions.py`.

    >>> round(beta_quantile(0.025, 20, 1), 4)            # the exact lower end of 20 right of 20
    0.8316
    >>> round(binomial(10, 0.5)[:2].sum(), 6)            # at most one head in ten tosses
    0.010742
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from thinkcap.statistics.arrays import Floats

_TINY = 1e-300
_CLOSE = 1e-15


def normal_above(z: float) -> float:
    """P(Z > z) of a standard normal; accurate far out."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def binomial(n: int, p: float) -> Floats:
    """Chances of 0, 1, ..., n successes."""
    counts = np.arange(n + 1, dtype=np.float64)
    if p <= 0 or p >= 1:
        return np.asarray(counts == (n if p >= 1 else 0), dtype=np.float64)
    factorial = np.concatenate(([0.0], np.cumsum(np.log(counts[1:]))))
    ways = factorial[n] - factorial - factorial[::-1]
    return np.asarray(np.exp(ways + counts * math.log(p) + (n - counts) * math.log1p(-p)), dtype=np.float64)


def beta_below(x: float, a: float, b: float) -> float:
    """P(X <= x) of a beta: the regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    # The fraction converges fast on one side of the mean only.
    return _near_zero(x, a, b) if x <= (a + 1) / (a + b + 2) else 1 - _near_zero(1 - x, b, a)


@lru_cache(maxsize=4096)
def beta_quantile(q: float, a: float, b: float) -> float:
    """Where `beta_below` is q: Newton's steps, halving where one would leave the bracket."""
    low, high = 0.0, 1.0
    x = a / (a + b)
    for _ in range(200):
        excess = beta_below(x, a, b) - q
        low, high = (low, x) if excess > 0 else (x, high)
        slope = math.exp(min(700.0, _log_density(x, a, b)))
        step = x - excess / slope if slope > _TINY else -1.0
        found = step if low < step < high else (low + high) / 2
        if abs(found - x) <= 4 * _CLOSE * x:
            return found
        x = found
    return x


def student_quantile(q: float, degrees: int) -> float:
    """Of Student's t, for q of at least a half."""
    # t^2 / (degrees + t^2) is a beta; this end of it stays accurate where degrees are many.
    share = beta_quantile(2 * q - 1, 0.5, degrees / 2)
    return math.sqrt(degrees * share / (1 - share))


def crossing(distance: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function changes its sign; the end of the range where it does not."""
    if distance(low) <= 0:
        return low
    if distance(high) >= 0:
        return high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if distance(middle) > 0 else (low, middle)
    return (low + high) / 2


def non_increasing(values: Floats, weights: Floats) -> Floats:
    """The closest sequence that never rises, by weighted squares: neighbours that rise are pooled."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append((value, weight, 1))
        while len(pools) > 1 and pools[-2][0] < pools[-1][0]:
            (first, heavy, m), (second, light, n) = pools[-2:]
            pools[-2:] = [((first * heavy + second * light) / (heavy + light), heavy + light, m + n)]
    return np.repeat([value for value, _, _ in pools], [n for _, _, n in pools])


def _log_density(x: float, a: float, b: float) -> float:
    whole = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return whole + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


def _near_zero(x: float, a: float, b: float) -> float:
    scale = math.exp(_log_density(x, a, b) + math.log(x) + math.log1p(-x)) / a
    return scale * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's method on the continued fraction of the incomplete beta function."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return value


def _away(value: float) -> float:
    """From zero, where the fraction would divide by it."""
    return value if abs(value) > _TINY else _TINY
