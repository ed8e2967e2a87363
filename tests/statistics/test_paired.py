from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, multinomial

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.paired import (
    difference,
    difference_interval,
    holm,
    least_detectable,
    mcnemar,
    mcnemar_counts,
    mcnemar_power,
)


def test_agresti_approval_ratings() -> None:
    # Agresti, Categorical Data Analysis (2nd ed.), table 10.1: 150 and 86 changed their mind.
    # R: binom.test(86, 236)$p.value = 3.716e-05
    assert mcnemar_counts(150, 86, 1600).p == pytest.approx(3.716e-05, rel=1e-3)


@given(st.integers(0, 300), st.integers(0, 300))
def test_same_as_scipy(a: int, b: int) -> None:
    expected = 1.0 if a + b == 0 else binomtest(a, a + b).pvalue
    assert mcnemar_counts(a, b, a + b + 1).p == pytest.approx(expected, rel=1e-9)


def test_tiny_p_values_do_not_vanish() -> None:
    assert mcnemar_counts(918, 2, 1319).p == pytest.approx(9.55988e-272, rel=1e-4)


def test_counts_and_difference() -> None:
    found = mcnemar([1, 1, 0, 0, 1], [1, 0, 1, 0, 0])
    assert (found.only_first, found.only_second, found.difference) == (2, 1, 0.2)
    with pytest.raises(ConfigError, match="impossible"):
        mcnemar_counts(5, 6, 10)


def test_holm_textbook() -> None:
    # Holm (1979) on p = 0.01, 0.04, 0.03, 0.005, as R p.adjust gives it.
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert list(adjusted.values()) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm({}) == {}


def test_power_is_the_chance_of_rejecting() -> None:
    rng = np.random.default_rng(0)
    n, up, down = 60, 0.25, 0.05
    hits = 0
    for _ in range(4000):
        a, b = rng.multinomial(n, [up, down, 1 - up - down])[:2]
        hits += mcnemar_counts(int(a), int(b), n).p <= 0.05
    assert mcnemar_power(n, up, down) == pytest.approx(hits / 4000, abs=0.025)
    assert mcnemar_power(40, 0.0, 0.0) == 0


def test_small_samples_show_little() -> None:
    few, many = least_detectable(40), least_detectable(400)
    assert few is not None
    assert many is not None
    assert many < few
    assert least_detectable(5) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=5, max_size=80))
def test_interval_holds_the_difference(rows: list[tuple[bool, bool]]) -> None:
    a, b = [r[0] for r in rows], [r[1] for r in rows]
    low, high = difference_interval(a, b)
    assert low - 1e-9 <= mcnemar(a, b).difference <= high + 1e-9
    assert low < high
    swapped = difference_interval(b, a)
    assert (-swapped[1], -swapped[0]) == pytest.approx((low, high), abs=1e-9)


def _columns(b: int, c: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.arange(n)
    return (rows < b) | (rows >= b + c), rows >= b


@pytest.mark.parametrize(("b", "c", "n"), [(1, 0, 14), (12, 2, 44), (0, 0, 20), (30, 0, 30), (3, 40, 60)])
def test_the_ends_are_where_the_score_test_would_just_reject(b: int, c: int, n: int) -> None:
    """At either end the score statistic, its nuisance found by search, is 1.96, or the range ends."""
    from scipy.optimize import minimize_scalar

    low, high = difference_interval(*_columns(b, c, n))
    for end in (low, high):
        if abs(end) == 1 or end == 0:
            continue
        least, most = max(0.0, -end), (1 - end) / 2

        def against(q: float, end: float = end) -> float:
            p, rest = q + end, 1 - 2 * q - end
            return -sum(k * np.log(max(v, 1e-300)) for k, v in ((b, p), (c, q), (n - b - c, rest)) if k)

        q = minimize_scalar(against, bounds=(least, most), method="bounded", options={"xatol": 1e-12}).x
        statistic = (b - c - n * end) / np.sqrt(n * (2 * q + end - end * end))
        assert abs(statistic) == pytest.approx(1.96, abs=0.01)


@pytest.mark.parametrize("n", [20, 50])
def test_the_interval_covers_whatever_the_discordant_shares(n: int) -> None:
    """Exact, by enumeration of every outcome: at least 93 %; more where few pairs differ."""
    grid = {(b, c): difference_interval(*_columns(b, c, n)) for b in range(n + 1) for c in range(n + 1 - b)}
    wins = np.array([k[0] for k in grid])
    losses = np.array([k[1] for k in grid])
    low, high = np.array(list(grid.values())).T
    assert (high > low).all()
    for p, q in [
        (0.01, 0.0),
        (0.02, 0.01),
        (0.05, 0.0),
        (0.05, 0.05),
        (0.1, 0.02),
        (0.2, 0.1),
        (0.3, 0.3),
        (0.9, 0.05),
    ]:
        chance = multinomial.pmf(np.stack((wins, losses, n - wins - losses), axis=1), n, [p, q, 1 - p - q])
        covered = float(chance[(low <= p - q + 1e-12) & (p - q <= high + 1e-12)].sum())
        assert covered >= 0.93, (p, q)
        # At no difference the exact test widens it, and so do few discordant pairs.
        if n * (p + q) >= 5 and p != q:
            assert covered <= 0.98, (p, q)


@given(st.integers(1, 120), st.integers(0, 60), st.integers(0, 60))
def test_interval_and_exact_test_never_disagree(n: int, b: int, c: int) -> None:
    if b + c > n:
        return
    first, second = _columns(b, c, n)
    low, high = difference_interval(first, second)
    assert (low > 0 or high < 0) == (mcnemar(first, second).p <= 0.05)


def test_no_discordant_pair_is_no_certainty() -> None:
    low, high = difference_interval(np.ones(20, bool), np.ones(20, bool))
    assert (low, high) == pytest.approx((-0.1611, 0.1611), abs=1e-4)
    many = difference_interval(np.ones(2000, bool), np.ones(2000, bool))
    assert 0 < many[1] < 0.002
    assert difference([1], [1], "id").low == pytest.approx(-0.7935, abs=1e-3)


def test_nothing_to_pair_is_said() -> None:
    with pytest.raises(DataError, match="at least one question"):
        mcnemar([], [])
    with pytest.raises(DataError, match="at least one question"):
        mcnemar_counts(0, 0, 0)


def test_one_family_keeps_its_promise() -> None:
    """Eight budgets without any difference: unadjusted, a quarter of studies would call one of them clear."""
    rng = np.random.default_rng(0)
    alone = together = 0
    for _ in range(400):
        p = {(("model", "task"), cap): mcnemar(*(rng.random((2, 300)) < 0.6)).p for cap in range(8)}
        alone += min(p.values()) < 0.05
        together += min(holm(p).values()) < 0.05
    assert alone > 60
    assert together <= 20
