"""Kaplan-Meier and log-rank against published survival data, and what a cap must not do to a median."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import DataError
from thinkcap.statistics.survival import compare, survival

# Freireich et al. (1963), remission of leukaemia in weeks, 6-MP against placebo; the Kaplan-Meier table and the
# log-rank statistic 16.79 are in Kleinbaum and Klein, Survival Analysis (3rd ed.), chapter 2.
SIX_MP = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
SIX_MP_ENDED = [True] * 9 + [False] * 12
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


def test_freireich_table() -> None:
    curve = survival(SIX_MP, SIX_MP_ENDED)
    assert curve.lengths.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert curve.at_risk.tolist() == [21, 17, 15, 12, 11, 7, 6]
    assert curve.ended.tolist() == [3, 1, 1, 1, 1, 1, 1]
    published = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
    assert (1 - curve.share) == pytest.approx(published, abs=5e-4)
    assert curve.median == 23
    assert survival(PLACEBO, [True] * 21).median == 8


def test_freireich_band_holds_the_log_log_one_and_is_exact_on_its_other_side() -> None:
    # R survfit(conf.type = "log-log"): 0.620 to 0.952 at 6 weeks; exact for 3 ends of 21: 0.637 to 0.970.
    low, high = survival(SIX_MP, SIX_MP_ENDED).band(6)
    assert (1 - high, 1 - low) == pytest.approx((0.6197, 0.9695), abs=2e-4)


def test_with_many_ends_the_band_is_the_log_log_one() -> None:
    rng = np.random.default_rng(1)
    lengths, caps = rng.geometric(0.01, 300), rng.integers(50, 400, 300)
    spent, ended = np.minimum(lengths, caps), lengths <= caps
    curve = survival(spent, ended)
    left, greenwood = 1.0, 0.0
    for t in range(1, 101):
        risk, died = int((spent >= t).sum()), int(((spent == t) & ended).sum())
        left *= 1 - died / risk
        greenwood += died / (risk * (risk - died))
    spread = 1.959964 * greenwood**0.5 / np.log(left)
    ends = sorted((1 - left ** np.exp(spread), 1 - left ** np.exp(-spread)))
    assert curve.band(100) == pytest.approx(tuple(ends), abs=1e-6)


def test_freireich_log_rank() -> None:
    result = compare(PLACEBO, [True] * 21, SIX_MP, SIX_MP_ENDED)
    assert result.logrank_z**2 == pytest.approx(16.79, abs=5e-3)
    assert result.logrank_p_two_sided == pytest.approx(4.17e-5, rel=1e-2)
    assert result.logrank_p == pytest.approx(result.logrank_p_two_sided / 2, rel=1e-6)
    assert result.dominates
    assert result.largest_violation == 0


def test_reversed_comparison_is_not_dominance() -> None:
    result = compare(SIX_MP, SIX_MP_ENDED, PLACEBO, [True] * 21)
    assert not result.dominates
    assert result.largest_violation > 0.5
    assert result.logrank_p > 0.99


def test_beyond_what_was_observed_is_none() -> None:
    curve = survival([10, 10, 10, 3], [False, False, False, True])
    assert curve.median is None
    assert curve.quantile(0.25) == 3
    assert survival([5, 5], [False, False]).quantile(0.1) is None


def test_a_quantile_reached_exactly_counts() -> None:
    curve = survival(list(range(1, 11)), [True] * 10)
    assert [curve.quantile(k / 10) for k in range(1, 11)] == list(range(1, 11))


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=80))
def test_share_is_a_distribution(rows: list[tuple[int, bool]]) -> None:
    lengths, ended = [r[0] for r in rows], [r[1] for r in rows]
    curve = survival(lengths, ended)
    assert np.all(np.diff(curve.share) >= -1e-12)
    assert np.all((curve.share >= 0) & (curve.share <= 1 + 1e-12))
    assert np.all(curve.low <= curve.share + 1e-9)
    assert np.all(curve.high >= curve.share - 1e-9)


@given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=60))
def test_equal_to_the_product_over_rows(rows: list[tuple[int, bool]]) -> None:
    curve = survival([r[0] for r in rows], [r[1] for r in rows])
    left = 1.0
    for t in range(1, 31):
        at_risk = sum(length >= t for length, _ in rows)
        left *= 1 - (sum(length == t and ended for length, ended in rows) / at_risk if at_risk else 0)
        assert curve.at(t) == pytest.approx(1 - left, abs=1e-12)


@given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=60), st.integers(0, 40))
def test_a_band_is_never_of_zero_width(rows: list[tuple[int, bool]], at: int) -> None:
    curve = survival([r[0] for r in rows], [r[1] for r in rows])
    low, high = curve.band(at)
    assert 0 <= low < high <= 1
    assert low - 1e-9 <= curve.at(at) <= high + 1e-9


def test_before_the_first_end_the_band_is_that_of_none_of_n() -> None:
    curve = survival([100] * 20, [True] * 20)
    assert curve.band(50) == pytest.approx((0, 1 - 0.025 ** (1 / 20)))
    unfinished = survival([100] * 20, [False] * 20)
    assert unfinished.band(50) == pytest.approx((0, 1 - 0.025 ** (1 / 20)))
    assert unfinished.band(101) == (0, 1)
    # Ten chains were cut at 20 tokens already: only the others tell about 50.
    early = survival([20] * 10 + [100] * 20, [False] * 10 + [True] * 20)
    assert early.band(50)[1] == pytest.approx(1 - 0.025 ** (1 / 20))
    assert early.band(20)[1] == pytest.approx(1 - 0.025 ** (1 / 30))


def test_where_all_chains_end_at_once_the_median_has_an_upper_end() -> None:
    curve = survival([50] * 20, [True] * 20)
    assert curve.band(50) == pytest.approx((0.025 ** (1 / 20), 1))
    assert curve.quantile_interval() == (50, 50)
    assert survival([3, 5, 8], [True] * 3).quantile_interval()[1] is None


def test_beyond_the_last_observation_nothing_is_known() -> None:
    curve = survival([10, 20, 30], [True, True, False])
    assert curve.band(31)[1] == 1
    assert curve.band(30)[1] < 1 or curve.high[-1] == 1


def test_ends_that_all_tie_tell_nothing_apart() -> None:
    found = compare([5] * 4, [True] * 4, [5] * 6, [True] * 6)
    assert (found.logrank_z, found.logrank_p, found.logrank_p_two_sided) == (0, 0.5, 1)


@given(st.lists(st.integers(1, 500), min_size=5, max_size=80), st.integers(1, 500))
def test_uncensored_below_the_cap_equals_plain_shares(lengths: list[int], cap: int) -> None:
    array = np.array(lengths)
    curve = survival(np.minimum(array, cap), array < cap)
    assert curve.below(cap) == pytest.approx(float((array < cap).mean()))


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="empty"):
        survival([], [])
    with pytest.raises(DataError, match="negative"):
        survival([-1], [True])
    with pytest.raises(DataError, match="one length"):
        survival([1, 2], [True])
    with pytest.raises(DataError, match="finished"):
        compare([1], [False], [2], [True])
