"""Our distributions against scipy's, over what diagnoses ask for: few and many, rare and common."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize, stats

from thinkcap.statistics.distributions import (
    beta_below,
    beta_quantile,
    binomial,
    crossing,
    non_increasing,
    normal_above,
    student_quantile,
)

SHAPES = [(1, 1), (1, 20), (20, 1), (0.37, 12.5), (11, 189), (558, 6), (3, 1_000_000), (5_000, 7_000), (2.5, 2.5)]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_beta(a: float, b: float) -> None:
    for q in (1e-6, 0.0005, 0.025, 0.05, 0.5, 0.975, 0.9995):
        theirs = float(stats.beta.ppf(q, a, b))
        assert beta_quantile(q, a, b) == pytest.approx(theirs, rel=1e-8, abs=1e-14)
        assert beta_below(theirs, a, b) == pytest.approx(q, rel=1e-7)
    assert (beta_below(0, a, b), beta_below(1, a, b)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.5), (10, 0.5), (1_319, 0.5), (200, 0.07), (20_000, 0.5), (5, 0.0), (5, 1.0)]
)
def test_binomial(n: int, p: float) -> None:
    assert binomial(n, p) == pytest.approx(stats.binom.pmf(np.arange(n + 1), n, p), rel=1e-8, abs=1e-300)
    assert np.cumsum(binomial(n, p))[n // 3] == pytest.approx(float(stats.binom.cdf(n // 3, n, p)), rel=1e-8)


def test_normal() -> None:
    for z in (-8.0, -1.0, 0.0, 0.5, 1.96, 6.0, 20.0):
        assert normal_above(z) == pytest.approx(float(stats.norm.sf(z)), rel=1e-12)


@pytest.mark.parametrize("degrees", [1, 2, 7, 59, 1_318, 100_000])
def test_student(degrees: int) -> None:
    for q in (0.5, 0.8, 0.975, 0.9995):
        assert student_quantile(q, degrees) == pytest.approx(float(stats.t.ppf(q, degrees)), rel=1e-8, abs=1e-12)


def test_closest_falling_sequence() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 40):
        values, weights = rng.random(size), rng.integers(1, 50, size).astype(np.float64)
        theirs = optimize.isotonic_regression(values, weights=weights, increasing=False).x
        assert non_increasing(values, weights) == pytest.approx(theirs)


def test_a_crossing_and_none() -> None:
    assert crossing(lambda x: 2 - x * x, 0, 10) == pytest.approx(2**0.5, abs=1e-14)
    assert [crossing(lambda _, s=s: s, 3, 4) for s in (-1.0, 1.0)] == [3, 4]


def test_survival_curves_bands_and_log_rank() -> None:
    from thinkcap.statistics.survival import compare, survival

    rng = np.random.default_rng(3)
    for n, cap in itertools.product((15, 400), (30, 90)):
        both = []
        for mean in (40, 60):
            lengths = rng.geometric(1 / mean, n)
            both += [np.minimum(lengths, cap), lengths <= cap]
        censored = [stats.CensoredData(uncensored=t[e], right=t[~e]) for t, e in (both[:2], both[2:])]
        curve, theirs = survival(both[0], both[1]), stats.ecdf(censored[0]).cdf
        at = np.isin(theirs.quantiles, curve.lengths)
        assert curve.share == pytest.approx(theirs.probabilities[at])
        if n == 400:
            bounds = theirs.confidence_interval(method="log-log")
            middle = (curve.share > 0.1) & (curve.share < 0.9)
            assert curve.low[middle] == pytest.approx(bounds.low.probabilities[at][middle])
            assert curve.high[middle] == pytest.approx(bounds.high.probabilities[at][middle])
        test = stats.logrank(*censored)
        assert compare(*both).logrank_z == pytest.approx(float(test.statistic))
