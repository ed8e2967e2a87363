from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import DataError
from thinkcap.statistics.split import (
    answer_saturation,
    coupling_gain,
    matched_total,
    optimal_split,
)
from thinkcap.statistics.survival import survival

SHARE = st.floats(0, 1)


@given(SHARE, SHARE, SHARE, SHARE, SHARE, SHARE)
def test_matched_total_is_the_difference_of_accuracies(
    f_one: float, f_two: float, c_r: float, c_b: float, t_b: float, e: float
) -> None:
    f_r, f_b = sorted((f_one, f_two))
    split = f_r * c_r + (1 - f_r) * e
    coupled = f_b * c_b + (1 - f_b) * t_b
    found = matched_total(
        ended_at_reasoning=f_r,
        ended_at_total=f_b,
        alpha_c_reasoning=c_r,
        alpha_c_total=c_b,
        alpha_t_total=t_b,
        alpha_e=e,
    )
    assert found is not None
    assert found.total == pytest.approx(split - coupled, abs=1e-9)


def test_undefined_parts() -> None:
    known = {"alpha_c_reasoning": 0.9, "alpha_c_total": 0.9, "alpha_e": 0.5}
    assert matched_total(ended_at_reasoning=0.1, ended_at_total=0.2, alpha_t_total=None, **known) is None
    with pytest.raises(DataError, match="smaller cap"):
        matched_total(ended_at_reasoning=0.5, ended_at_total=0.2, alpha_t_total=0.1, **known)


def test_optimal_split_finds_the_top_and_checks_it() -> None:
    # F = 1 - exp(-r/300), extraction saturating in its own tokens: smooth, with a maximum inside.
    total = 1024
    reasoning = list(range(64, 1024, 16))
    r = np.array(reasoning, dtype=float)
    f = 1 - np.exp(-r / 300)
    a_e = 0.6 * (1 - np.exp(-(total - r) / 60))
    found = optimal_split(total, reasoning, f, np.full(len(r), 0.95), a_e, answer_saturation=256)
    assert found.interior
    assert 500 < found.best.reasoning < 1000
    assert found.best.reasoning + found.best.answer == total
    assert found.first_order == pytest.approx(0, abs=0.3)
    assert found.saturated == 768


def test_the_first_order_rule_counts_that_ended_chains_get_better_or_worse() -> None:
    """a_c falls with the thought; without F da_c/dt the rule is far from 0 at the true best."""
    total = 1024
    r = np.arange(64, 1024, 16).astype(float)
    f, a_c = 1 - np.exp(-r / 300), 0.95 - 0.5 * r / total
    a_e = 0.6 * (1 - np.exp(-(total - r) / 60))
    found = optimal_split(total, [int(x) for x in r], f, a_c, a_e)
    assert found.interior
    assert found.first_order == pytest.approx(0, abs=0.1)
    top = int(np.argmax(f * a_c + (1 - f) * a_e))
    left_out = 100 * 100 * f[top] * (a_c[top + 1] - a_c[top - 1]) / (r[top + 1] - r[top - 1])
    assert left_out < -2


def test_the_first_order_rule_is_the_slope_of_the_accuracy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        f = np.sort(rng.random(3))
        a_c, a_e = rng.random(3), rng.random(3)
        a_e[1] = a_c[1] = 1
        found = optimal_split(100, [20, 40, 60], f, a_c, a_e)
        slope = (a_c[2] - a_c[0]) / 40 * f[1] + (a_e[2] - a_e[0]) / 40 * (1 - f[1])
        assert found.best.reasoning == 40
        assert found.first_order == pytest.approx(10_000 * slope)


def test_divisions_of_other_totals_take_no_part_in_the_check() -> None:
    lesser = optimal_split(
        512, [128, 256, 384], [0.2, 0.4, 0.6], [0.9] * 3, [0.5, 0.7, 0.2], answers=[384, 256, 64]
    )
    assert lesser.interior
    assert lesser.first_order is None
    # The point at 200 leaves 56 tokens unspent: the slope is that of 128, 256 and 384.
    mixed = optimal_split(
        512,
        [128, 200, 256, 384],
        [0.2, 0.3, 0.4, 0.6],
        [0.9] * 4,
        [0.5, 0.1, 0.75, 0.2],
        answers=[384, 256, 256, 128],
    )
    alone = optimal_split(512, [128, 256, 384], [0.2, 0.4, 0.6], [0.9] * 3, [0.5, 0.75, 0.2])
    assert mixed.first_order is not None
    assert mixed.first_order == alone.first_order


def test_optimal_split_at_an_end_is_not_interior() -> None:
    found = optimal_split(512, [128, 256], [0.1, 0.2], [0.9, 0.9], [0.9, 0.1])
    assert not found.interior
    assert found.first_order is None
    with pytest.raises(DataError, match="undefined"):
        optimal_split(512, [128], [0.5], [float("nan")], [0.5])
    with pytest.raises(DataError, match="rising"):
        optimal_split(512, [600], [0.5], [0.5], [0.5])
    free = optimal_split(512, [128], [0.0], [float("nan")], [0.5])
    assert free.best.expected == 0.5


def test_coupling_and_saturation() -> None:
    curve = survival([100, 200, 300, 400], [True] * 4)
    assert coupling_gain(curve, 301, 100, 0.7, 0.2) == pytest.approx(0.5 * 0.5)
    # A thought of just b - |A| tokens still has room for its answer: F(40) is P(L <= 40).
    thoughts = survival([40, 40, 60, 60], [True] * 4)
    assert coupling_gain(thoughts, 50, 10, 0.8, 0.2) == pytest.approx(0.3)
    assert answer_saturation([64, 128, 256], [0.3, 0.595, 0.6]) == 128
