from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import World

from thinkcap.core.errors import DataError
from thinkcap.statistics.decompose import decompose, recovered, recovery, tax

ROWS = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=60)


@given(ROWS)
def test_the_identity_and_both_splits_add_up(rows: list[tuple[bool, bool, bool]]) -> None:
    direct, ended, right = ([r[i] for r in rows] for i in range(3))
    cost = tax(direct, ended, right)
    assert cost.think.rebuilt == pytest.approx(cost.think.accuracy, abs=1e-12)
    assert cost.same_subset is not None
    assert cost.same_subset.ended + cost.same_subset.cut == pytest.approx(cost.tax, abs=1e-12)
    if cost.truncation_loss is not None and cost.reasoning_gap is not None:
        assert cost.truncation_loss + cost.reasoning_gap == pytest.approx(cost.tax, abs=1e-12)


@given(ROWS, st.floats(0, 1))
def test_recoverable_and_residual_add_up(rows: list[tuple[bool, bool, bool]], alpha_e: float) -> None:
    direct, ended, right = ([r[i] for r in rows] for i in range(3))
    cost = tax(direct, ended, right)
    parts = cost.think
    found = recovery(cost.nothink_accuracy, parts.ended_share, parts.alpha_c, parts.alpha_t, alpha_e)
    assert found is not None
    assert found.recoverable + found.residual == pytest.approx(cost.tax, abs=1e-12)


def test_no_chain_ended_leaves_the_causes_undefined() -> None:
    cost = tax([True, True], [False, False], [True, False])
    assert cost.think.alpha_c is None
    assert cost.truncation_loss is None
    assert cost.reasoning_gap is None
    assert cost.regime == "undefined"
    assert cost.tax == 0.5


def test_every_chain_ended_means_no_truncation_loss() -> None:
    cost = tax([True, True], [True, True], [True, False])
    assert cost.think.alpha_t is None
    assert cost.truncation_loss == 0
    assert cost.reasoning_gap == 0.5


def test_regimes() -> None:
    ended = [True] * 90 + [False] * 10
    right = [True] * 90 + [False] * 10
    assert tax([True] * 60 + [False] * 40, ended, right).regime == "truncation"
    assert tax([True] * 99 + [False], ended, [True] * 60 + [False] * 40).regime == "residual"
    assert tax([True] * 90 + [False] * 10, [True] * 100, right).regime == "neutral"


def test_the_regime_knows_that_both_modes_answered_the_same_questions() -> None:
    """Six questions of 1000 right only directly: McNemar says p = 0.031; errors of two samples would hide it."""
    direct = np.arange(1000) < 906
    thought = np.arange(1000) < 900
    both = tax(direct, np.ones(1000, bool), thought)
    assert both.reasoning_gap == pytest.approx(0.006)
    plain = float((direct.astype(float) - thought).std() / 1000**0.5)
    assert both.reasoning_gap_se == pytest.approx(plain, rel=0.2)
    assert both.regime == "residual"


def test_the_paired_error_is_that_of_repeated_studies() -> None:
    rng = np.random.default_rng(0)
    gaps, errors = [], []
    for _ in range(600):
        luck = rng.random(400)
        direct, done = luck < 0.8, rng.random(400) < 0.5
        found = tax(direct, done, (luck < 0.75) | (rng.random(400) < 0.1))
        gaps.append(found.reasoning_gap)
        errors.append(found.reasoning_gap_se)
    assert np.mean(np.array(errors, dtype=float)) == pytest.approx(np.std(np.array(gaps, dtype=float)), rel=0.12)


def test_one_ended_chain_is_no_regime() -> None:
    found = tax([True] * 5, [True] + [False] * 4, [True] + [False] * 4)
    assert found.reasoning_gap_se is not None
    assert found.reasoning_gap_se > 0.1
    assert found.regime == "neutral"


def test_other_questions_are_refused() -> None:
    with pytest.raises(DataError, match="one length"):
        tax([True], [True, False], [True, False])


def test_an_unknown_accuracy_with_weight_leaves_it_undefined() -> None:
    assert recovery(0.9, 0.5, None, 0.1, 0.5) is None


@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=60))
def test_recovered_and_residual_by_counting_rows(rows: list[tuple[bool, ...]]) -> None:
    n = len(rows)
    found = recovered(*([r[i] for r in rows] for i in range(4)))
    cut = [(c, s) for _, ended, c, s in rows if not ended]
    assert found.recoverable == pytest.approx(sum(s - c for c, s in cut) / n, abs=1e-12)
    decoupled = sum(c if ended else s for _, ended, c, s in rows) / n
    assert found.residual == pytest.approx(sum(r[0] for r in rows) / n - decoupled, abs=1e-12)
    cost = tax(*([r[i] for r in rows] for i in range(3)))
    assert found.recoverable + found.residual == pytest.approx(cost.tax, abs=1e-12)


def test_recovered_finds_the_simulated_truth() -> None:
    world = World(scale=300, epsilon=0.2, nothink=0.7)
    seen = world.study(100_000, cut=256, answer=64, seed=4)
    found = recovered(seen.nothink_right, seen.split_ended, seen.truncated_right, seen.split_right)
    left = 1 - world.ended(256)
    assert found.recoverable == pytest.approx(left * (world.pi_eta - 0.2), abs=0.01)
    assert found.residual == pytest.approx(0.7 - (1 - left) * 0.95 - left * world.pi_eta, abs=0.01)


def test_bad_rows() -> None:
    with pytest.raises(DataError, match="no rows"):
        decompose([], [])
    with pytest.raises(DataError, match="0 or 1"):
        decompose([2], [1])
