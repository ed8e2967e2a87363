"""The modal inequality against loops over rows, against a simulated world, and where it has no value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import World

from thinkcap.core.errors import DataError
from thinkcap.statistics.hazard import hazard
from thinkcap.statistics.modal import (
    Modal,
    continuation,
    dominance,
    modal_of,
    two_by_two,
)

ROWS = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=60)


def test_the_inequality() -> None:
    found = Modal(delta=0.2, alpha_c_plus=0.9, epsilon=0.3, pi_eta=0.5)
    assert found.margin == pytest.approx(0.5 - (0.18 + 0.24))
    assert found.holds
    assert not Modal(delta=1.0, alpha_c_plus=0.9, epsilon=None, pi_eta=0.5).holds


@given(ROWS)
def test_parts_are_counts_of_the_same_rows(rows: list[tuple[bool, bool, bool]]) -> None:
    found = modal_of([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
    assert found is not None
    in_time = [c for _, c, done in rows if done]
    never = [c for _, c, done in rows if not done]
    assert found.n == len(rows)
    assert found.delta == len(in_time) / len(rows)
    assert found.alpha_c_plus == (sum(in_time) / len(in_time) if in_time else None)
    # Conditional on not ending: a chain that ended in time must not count in epsilon as well as in delta.
    assert found.epsilon == (sum(never) / len(never) if never else None)
    gap = sum(e for e, _, _ in rows) / len(rows) - sum(c for _, c, _ in rows) / len(rows)
    assert found.margin == pytest.approx(gap, abs=1e-12)


def test_no_running_chain_no_inequality() -> None:
    assert modal_of([], [], []) is None


def test_the_simulated_truth_is_found() -> None:
    world = World(scale=300, epsilon=0.2, pi=0.7, eta=0.9, guess=0.1)
    seen = world.study(200_000, cut=256, answer=128, seed=1)
    alive = ~seen.split_ended
    found = modal_of(seen.split_right[alive], seen.coupled_right[alive], seen.coupled_ended[alive])
    assert found is not None
    assert found.delta == pytest.approx(1 - (1 - 1 / 300) ** 128, abs=0.01)
    assert found.alpha_c_plus == pytest.approx(0.95, abs=0.01)
    assert found.epsilon == pytest.approx(0.2, abs=0.01)
    assert found.pi_eta == pytest.approx(world.pi_eta, abs=0.01)
    assert found.margin == pytest.approx(world.margin(256, 128), abs=0.015)


def test_thinking_on_put_together_from_long_and_cut_chains() -> None:
    world = World()
    seen = world.study(4000, cut=256, answer=128, seed=2)
    long = continuation(
        256,
        128,
        np.minimum(seen.lengths, 2048),
        seen.lengths <= 2048,
        seen.coupled_right,
        seen.truncated_right,
    )
    assert (long.alive == (seen.lengths > 256)).all()
    assert (long.ended == ((seen.lengths > 256) & (seen.lengths <= 384))).all()
    # The simulated chain reads the same whether it is cut at 256 or at 384, so the two ways agree row by row.
    assert (long.right[long.alive] == seen.coupled_right[long.alive]).all()
    with pytest.raises(DataError, match="cap of at least 384"):
        continuation(256, 128, [300], [False], [True], [False])


def test_the_hazard_bound_is_the_formula_and_holds() -> None:
    world = World(scale=400, epsilon=0.2, alpha_c=0.9)
    seen = world.study(50_000, cut=256, answer=64, seed=3)
    alive = ~seen.split_ended
    parts = modal_of(seen.split_right[alive], seen.coupled_right[alive], seen.coupled_ended[alive])
    assert parts is not None
    assert parts.epsilon is not None
    assert parts.alpha_c_plus is not None
    rates = hazard(seen.lengths, np.ones(50_000, bool), [1, 101, 301, 701, int(seen.lengths.max()) + 1])
    found = dominance(rates, 256, 64, parts)
    assert found is not None
    assert found.hazard == pytest.approx(1 / 400, rel=0.03)
    by_hand = parts.pi_eta - parts.epsilon - found.hazard * 64 * (parts.alpha_c_plus - parts.epsilon)
    assert found.advantage_at_least == pytest.approx(by_hand)
    assert found.advantage_at_least <= parts.margin + 0.005
    assert found.hazard_limit is not None
    limit = (parts.pi_eta - parts.epsilon) / (64 * (parts.alpha_c_plus - parts.epsilon))
    assert found.hazard_limit == pytest.approx(limit)
    assert found.from_length == 1
    assert dominance(rates, 10**9, 64, parts) is None


def test_the_threshold_is_where_the_falling_hazard_gets_low_enough() -> None:
    lengths = np.concatenate((np.arange(1, 101), np.arange(101, 10_101, 100)))
    rates = hazard(lengths, np.ones(200, bool), [1, 101, 10_102])
    high, low = rates.isotonic
    assert high is not None
    assert low is not None
    middle = (high + low) / 2
    parts = Modal(delta=0.1, alpha_c_plus=0.9, epsilon=0.1, pi_eta=0.1 + middle * 50 * 0.8)
    found = dominance(rates, 50, 50, parts)
    assert found is not None
    assert found.hazard_limit == pytest.approx(middle)
    assert found.from_length == 101
    assert found.advantage_at_least < 0
    after = dominance(rates, 5000, 50, parts)
    assert after is not None
    assert after.advantage_at_least > 0
    always = dominance(rates, 50, 50, Modal(delta=0.1, alpha_c_plus=0.1, epsilon=0.3, pi_eta=0.5))
    assert always is not None
    assert (always.hazard_limit, always.from_length) == (None, 1)


def test_two_by_two() -> None:
    found = two_by_two([0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0])
    assert found.interaction == pytest.approx(0.75 - 0.25)
    assert (found.mode_test.only_first, found.mode_test.only_second) == (3, 1)
    assert found.low <= found.interaction <= found.high


@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=60))
def test_the_interaction_is_a_difference_of_differences(rows: list[tuple[bool, ...]]) -> None:
    tw, tc, nw, nc = (sum(r[i] for r in rows) / len(rows) for i in range(4))
    found = two_by_two(*([r[i] for r in rows] for i in range(4)))
    assert found.interaction == pytest.approx((nc - nw) - (tc - tw), abs=1e-12)
    assert found.low - 1e-12 <= found.interaction <= found.high + 1e-12
    assert found.low < found.high


def test_a_2x2_in_which_nothing_happened_is_not_certain() -> None:
    nothing = [False] * 20
    found = two_by_two(nothing, nothing, nothing, nothing)
    assert found.interaction == 0
    assert found.low < -0.05
    assert found.high > 0.05
    with pytest.raises(DataError, match="no rows"):
        two_by_two([], [], [], [])
