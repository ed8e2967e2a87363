from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.paired import (
    Answers,
    compare_arms,
    difference_interval,
    holm,
    least_detectable,
    mcnemar,
    mcnemar_counts,
    mcnemar_power,
    pair,
)


def arm(ids: list[str], right: list[int], golds: list[str] | None = None, **about: str) -> Answers:
    content = None if golds is None else np.array([hash(g) & 0xFFFF for g in golds], dtype=np.uint64)
    return Answers(np.array(ids), np.array(right, dtype=bool), content, **about)  # type: ignore[arg-type]


def test_agresti_approval_ratings() -> None:
    # Agresti, Categorical Data Analysis (2nd ed.), table 10.1: 150 and 86 changed their mind.
    # R: binom.test(86, 236)$p.value = 3.716e-05
    assert mcnemar_counts(150, 86, 1600).p == pytest.approx(3.716e-05, rel=1e-3)


@given(st.integers(0, 300), st.integers(0, 300))
def test_same_as_scipy(a: int, b: int) -> None:
    expected = 1.0 if a + b == 0 else binomtest(a, a + b).pvalue
    assert mcnemar_counts(a, b, a + b).p == pytest.approx(expected, rel=1e-9)


def test_tiny_p_values_do_not_vanish() -> None:
    assert mcnemar_counts(918, 2, 1319).p == pytest.approx(9.55988e-272, rel=1e-4)


def test_counts_and_difference() -> None:
    found = mcnemar([1, 1, 0, 0, 1], [1, 0, 1, 0, 0])
    assert (found.only_first, found.only_second, found.difference) == (2, 1, 0.2)
    with pytest.raises(ConfigError, match="impossible"):
        mcnemar_counts(5, 6, 10)


def test_pairs_by_id_whatever_the_order() -> None:
    found = compare_arms(arm(["a", "b", "c"], [1, 1, 0], ["1", "2", "3"]), arm(["c", "a"], [1, 0], ["3", "1"]))
    assert (found.test.n, found.test.only_first, found.test.only_second) == (2, 1, 1)
    assert found.matched_by == "id and content"


def test_same_ids_other_questions_are_refused() -> None:
    ids = [str(i) for i in range(200)]
    one = arm(ids, [1] * 200, [f"gold {i}" for i in range(200)])
    two = arm(ids, [1] * 200, [f"gold {i}" if i < 2 else f"other {i}" for i in range(200)])
    with pytest.raises(DataError, match="same id on 200 questions but the same gold or text on 2"):
        pair(one, two)


def test_without_content_the_declared_order_must_agree() -> None:
    one = arm(["1"], [1], order="gsm8k by seed 42")
    with pytest.raises(DataError, match="declared orders differ"):
        pair(one, arm(["1"], [1], order="file order"))
    with pytest.raises(DataError, match="no gold or text"):
        pair(arm(["1"], [1]), arm(["1"], [1]))
    assert "seed 42" in pair(one, arm(["1"], [0], order="gsm8k by seed 42")).matched_by


def test_reconstructed_records_and_repeats_are_refused() -> None:
    with pytest.raises(DataError, match="reconstructed, not actual"):
        pair(arm(["1"], [1], ["g"], status="reconstructed"), arm(["1"], [1], ["g"]))
    with pytest.raises(DataError, match="twice"):
        pair(arm(["1", "1"], [1, 0], ["g", "g"]), arm(["1"], [1], ["g"]))
    with pytest.raises(DataError, match="no question id"):
        pair(arm(["1"], [1], ["g"]), arm(["2"], [1], ["g"]))


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
    low, high = difference_interval(a, b, draws=400)
    assert low - 1e-9 <= mcnemar(a, b).difference <= high + 1e-9
