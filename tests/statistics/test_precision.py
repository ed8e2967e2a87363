"""Intervals against published values and exact coverage by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.precision import (
    clopper_pearson,
    hoeffding_lower,
    mean_interval,
    proportion,
    simultaneous,
    stop_precision,
    wilson,
)

# Newcombe (1998), Statistics in Medicine 17:857-872, table I: methods 3 (Wilson) and 5 (Clopper-Pearson).
NEWCOMBE = [
    (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
    (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
    (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
    (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
]


@pytest.mark.parametrize(("k", "n", "score", "exact"), NEWCOMBE)
def test_newcombe(k: int, n: int, score: tuple[float, float], exact: tuple[float, float]) -> None:
    one, two = wilson(k, n), clopper_pearson(k, n)
    assert (one.low, one.high) == pytest.approx(score, abs=5e-5)
    assert (two.low, two.high) == pytest.approx(exact, abs=5e-5)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_same_as_scipy(pair: tuple[int, int]) -> None:
    k, n = pair
    for ours, method in ((wilson(k, n), "wilson"), (clopper_pearson(k, n), "exact")):
        theirs = binomtest(k, n).proportion_ci(method=method)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
        assert 0 <= (ours.low or 0) <= (ours.value or 0) <= (ours.high or 0) <= 1


@pytest.mark.parametrize("n", [200, 500, 1319])
def test_wilson_covers_by_enumeration(n: int) -> None:
    k = np.arange(n + 1)
    bounds = [wilson(int(i), n) for i in k]
    low, high = np.array([b.low for b in bounds]), np.array([b.high for b in bounds])
    for p in np.linspace(0.05, 0.95, 37):
        covered = float(binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum())
        assert 0.93 <= covered <= 0.975


@pytest.mark.parametrize("n", [5, 20, 50, 300])
def test_the_reported_interval_covers_everywhere_by_enumeration(n: int) -> None:
    """Near 0 and 1 too, where Wilson alone covers 84 %."""
    k = np.arange(n + 1)
    bounds = [proportion(int(i), n) for i in k]
    low, high = np.array([b.low for b in bounds]), np.array([b.high for b in bounds])
    assert (high > low).all()
    for p in np.concatenate(
        (np.geomspace(1e-5, 0.05, 60), np.linspace(0.05, 0.95, 181), 1 - np.geomspace(1e-5, 0.05, 60))
    ):
        covered = float(binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum())
        assert covered >= 0.93, p


def test_intervals_of_a_family_hold_together() -> None:
    assert simultaneous(1) == pytest.approx(0.95)
    assert simultaneous(9, 0.95) == pytest.approx(1 - 0.05 / 9)
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(400):
        level = simultaneous(9)
        held = [proportion(int(rng.binomial(200, 0.7)), 200, level) for _ in range(9)]
        missed += any(not (h.low or 0) <= 0.7 <= (h.high or 0) for h in held)
    assert missed / 400 <= 0.07
    with pytest.raises(ConfigError, match="at least one"):
        simultaneous(0)


def test_a_mean_of_nothing_happening_is_not_certain() -> None:
    low, high = mean_interval(np.zeros(20), -2, 2)
    assert low < -0.1
    assert high > 0.1
    assert mean_interval([1.0], 0, 1)[1] == 1
    with pytest.raises(DataError, match="outside"):
        mean_interval([3.0], -2, 2)
    with pytest.raises(DataError, match="at least one"):
        mean_interval([], -2, 2)


def test_nothing_is_not_zero() -> None:
    for interval in (wilson(0, 0), clopper_pearson(0, 0), proportion(0, 0)):
        assert interval.value is None
        assert interval.low is None
    assert hoeffding_lower(None, 0) is None
    assert stop_precision([]).hoeffding_lower is None


def test_hoeffding_formula() -> None:
    assert hoeffding_lower(0.963, 475) == pytest.approx(0.9068, abs=1e-4)
    assert hoeffding_lower(1.0, 10, 0.05) == pytest.approx(1 - math.sqrt(math.log(20) / 20))


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ConfigError, match="k=3, n=2"):
        wilson(3, 2)
    with pytest.raises(ConfigError, match="level"):
        clopper_pearson(1, 2, 1.0)
