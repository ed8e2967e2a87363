from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import DataError
from thinkcap.statistics.decompose import decompose, reconstruct, recovery, tax

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


def test_unpaired_has_no_same_subset() -> None:
    assert tax([True], [True, False], [True, False], paired=False).same_subset is None
    with pytest.raises(DataError, match="one length"):
        tax([True], [True, False], [True, False])


def test_unknown_accuracies_give_a_range() -> None:
    low, high = reconstruct(0.007, None, 0.178)
    assert low == pytest.approx(0.176754)
    assert high == pytest.approx(0.183754)
    assert recovery(0.9, 0.5, None, 0.1, 0.5) is None


def test_bad_rows() -> None:
    with pytest.raises(DataError, match="no rows"):
        decompose([], [])
    with pytest.raises(DataError, match="0 or 1"):
        decompose([2], [1])
