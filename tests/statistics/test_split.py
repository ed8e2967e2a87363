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
    split_gain,
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
    assert split_gain(0.5, 0.7, None) is None
    assert split_gain(1.0, 0.7, None) == 0
    assert split_gain(0.5, 0.2, 0.4) == pytest.approx(-0.1)
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
    assert answer_saturation([64, 128, 256], [0.3, 0.595, 0.6]) == 128
