from __future__ import annotations

import numpy as np
import pytest

from thinkcap.core.errors import DataError
from thinkcap.statistics.modal import (
    conditional_advantage,
    derivability,
    finishing_chance,
    modal,
    split_sample,
    two_by_two,
)
from thinkcap.statistics.survival import survival


def test_the_inequality() -> None:
    found = modal(delta=0.2, alpha_c_plus=0.9, epsilon=0.3, pi_eta=0.5)
    assert found.margin == pytest.approx(0.5 - (0.18 + 0.24))
    assert found.holds
    assert not modal(delta=1.0, alpha_c_plus=0.9, epsilon=0.0, pi_eta=0.5).holds


def test_finishing_chance_only_within_what_was_observed() -> None:
    curve = survival([10, 20, 30, 40], [True, True, True, False])
    assert finishing_chance(curve, 10, 10) == pytest.approx(1 / 3)
    assert finishing_chance(curve, 35, 10) is None
    assert finishing_chance(survival([5, 5], [True, True]), 5, 0) is None


def test_survivors_and_the_fixed_cohort_differ() -> None:
    lengths = [100, 300, 500]
    extracted = [[1, 1], [1, 0], [0, 1]]
    continued = [[0, 0], [0, 0], [0, 0]]
    found = conditional_advantage([200, 400], lengths, extracted, continued)
    assert [p.n for p in found.survivors] == [2, 1]
    assert [p.n for p in found.cohort] == [1, 1]
    assert [p.advantage for p in found.survivors] == [0.5, 1.0]
    assert [p.advantage for p in found.cohort] == [0.0, 1.0]
    none = conditional_advantage([900], lengths, [[1], [1], [1]], [[0], [0], [0]])
    assert none.survivors[0].advantage is None
    with pytest.raises(DataError, match="questions x cuts"):
        conditional_advantage([200], lengths, extracted, continued)


def test_pi_and_eta_apart() -> None:
    found = derivability([1, 1, 0, 0], any_right=[1, 1, 1, 0], without_trace=[1, 0, 0, 0], placebo=[0, 0, 0, 0])
    assert found.pi_upper == 0.75
    assert found.eta == pytest.approx(2 / 3)
    assert found.pi_eta == 0.5
    assert found.trace_worth == 0.25
    assert found.gold_in_trace is None
    assert derivability([1]).eta is None


def test_split_sample_agrees_with_itself() -> None:
    rng = np.random.default_rng(0)
    n = 600
    ended = rng.random(n) < 0.2
    continued = np.where(ended, rng.random(n) < 0.9, rng.random(n) < 0.3)
    extracted = rng.random(n) < 0.6
    found = split_sample(extracted, continued, ended)
    assert found is not None
    assert found.consistent
    assert found.predicted == pytest.approx(0.6 - (0.2 * 0.9 + 0.8 * 0.3), abs=0.1)
    assert split_sample([1], [1], [1]) is None


def test_two_by_two() -> None:
    found = two_by_two([0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0])
    assert found.interaction == pytest.approx(0.75 - 0.25)
    assert (found.mode_test.only_first, found.mode_test.only_second) == (3, 1)
    assert found.low <= found.interaction <= found.high
