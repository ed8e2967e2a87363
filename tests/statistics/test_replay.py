"""Cascades, frontier, gates, costs, predictions and failures: small cases one can check by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import DataError
from thinkcap.statistics.cost import cost_bound, net_recovery
from thinkcap.statistics.frontier import frontier, frontier_counts
from thinkcap.statistics.gates import (
    calibrate,
    calibrate_weight,
    gate,
    split_half,
    weighted,
)
from thinkcap.statistics.predict import cross_scale, held_out, pilot_sufficiency, sweep_from_pilot
from thinkcap.statistics.route import Both, cascade_grid, replay
from thinkcap.statistics.taxonomy import failures


def test_cascade_grid_routes_what_did_not_end() -> None:
    right, ended = np.array([True, False]), np.array([True, False])
    tokens, thought = np.array([3, 8]), np.array([False, True])
    grid = cascade_grid({8: (right, ended, tokens)}, {16: (thought, np.array([9, 9])), 8: (thought, tokens)})
    assert list(grid) == [(8, 16)]
    assert grid[8, 16].right == 2
    assert grid[8, 16].mean_tokens == (3 + 8 + 9) / 2
    assert replay(Both.of([1], [0], [1], [1]), [True]).regretted == 1


def test_frontier() -> None:
    found = frontier([128, 256, 512], [[1, 0, 0], [0, 0, 1], [0, 0, 0]])
    assert found.by_budget == {128: 1, 256: 0, 512: 1, 0: 1}
    assert found.cost_charged == pytest.approx((128 + 512 + 512) / 3)
    assert found.cost_skipped == pytest.approx((128 + 512) / 3)
    published = frontier_counts([128, 256, 512], [155, 340, 405], 1319)
    assert published.cost_charged == pytest.approx(400.9, abs=0.1)
    with pytest.raises(DataError, match="do not fit"):
        frontier_counts([128], [5], 4)
    with pytest.raises(DataError, match="rise"):
        frontier([2, 1], [[1, 1]])


def test_gate_partitions_and_halves() -> None:
    votes, first, second = np.array([5, 4, 2, 1]), np.array([1, 1, 0, 0]), np.array([0, 1, 1, 0])
    found = gate(votes, first, second, threshold=3)
    assert (found.right, found.confident.n, found.low.n) == (3, 2, 2)
    assert found.confident.first_right + found.low.second_right == found.right
    one, two = split_half(votes, first.astype(bool), second.astype(bool), threshold=3)
    assert one.right + two.right == found.right
    chosen = calibrate(votes, first.astype(bool), second.astype(bool), calibration=2)
    assert chosen.test.n == 2
    with pytest.raises(DataError, match="leaves nothing"):
        calibrate(votes, first.astype(bool), second.astype(bool), calibration=4)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans(), st.booleans()), min_size=1, max_size=40
    ),
    st.integers(1, 4),
)
def test_a_weighted_vote_is_the_largest_class(rows: list[tuple[int, int, bool, bool]], weight: int) -> None:
    """By building the ballots: the samples' top class, the second method's class, and its extra votes."""
    kept = [(max(top, back), back, a, b if top > back else a) for top, back, a, b in rows]
    found = weighted(*([r[i] for r in kept] for i in range(4)), weight=weight)
    right = 0
    for top, back, a, b in kept:
        ballots = ["first"] * top + ["second"] * weight
        ballots += ["second"] * back if top > back else []
        if top == back:
            ballots = ["first"] * top + ["first"] * weight
        winner = max(("first", "second"), key=ballots.count)
        right += a if winner == "first" else b
    assert found.right == right


def test_a_weight_is_chosen_on_some_and_reported_on_others() -> None:
    votes, support = np.array([3, 3, 2, 3]), np.array([0, 1, 0, 2])
    first, second = np.array([0, 0, 1, 1], bool), np.array([1, 1, 0, 0], bool)
    found = calibrate_weight(votes, support, first, second, calibration=2)
    assert (found.setting, found.calibration.right) == (3, 1)
    assert found.test.n == 2
    assert found.test == weighted(votes[2:], support[2:], first[2:], second[2:], weight=found.setting)
    with pytest.raises(DataError, match="leaves nothing"):
        calibrate_weight(votes, support, first, second, calibration=4)


def test_costs() -> None:
    bound = cost_bound(0.888, 132.7, 2.42, 256, 512, 128, rounds=3)
    assert bound.expected_at_most == pytest.approx(320.0, abs=0.1)
    assert bound.most == 2176
    found = net_recovery(148, 1319, 48, 93)
    assert found is not None
    assert found.holds
    assert found.gain == pytest.approx(45 / 1319)
    assert net_recovery(0, 10, 0, 0) is None


def test_predictions() -> None:
    assert held_out(0.5, 0.9, 0.1) == pytest.approx(0.5)
    assert held_out(0.5, None, 0.1) is None
    assert held_out(1.0, 0.9, None) == 0.9
    assert cross_scale(0.71, 0.688, 0.375) == pytest.approx(0.2222, abs=1e-4)


def test_a_pilot_predicts_the_rest() -> None:
    rng = np.random.default_rng(0)
    n, budgets = 2000, [128, 512, 2048]
    length = np.ceil(rng.exponential(500, n)).astype(int)
    luck = rng.random(n)
    right = np.stack([luck < np.where(length <= b, 0.95, 0.2 + 0.1 * (b == 2048)) for b in budgets], axis=1)
    small = pilot_sufficiency(budgets, np.minimum(length, 2048), length <= 2048, right, questions=50)
    large = pilot_sufficiency(budgets, np.minimum(length, 2048), length <= 2048, right, questions=800)
    assert large.rmse_mean < small.rmse_mean < 0.12
    with pytest.raises(DataError, match="pilot"):
        pilot_sufficiency(budgets, [1], [True], [[1, 1, 1]], questions=50)


def test_a_pilot_without_cut_chains_at_the_middle_is_not_taken_for_wrong() -> None:
    """Every answer is right at every budget: nothing frozen can make that 29 points wrong."""
    found = pilot_sufficiency([100, 200, 400], [50] * 100 + [150] * 100, [1] * 200, np.ones((200, 3)))
    assert (found.rmse_mean, found.frozen_rmse_mean) == (0, 0)
    never = pilot_sufficiency([100, 200], [200] * 60, [0] * 60, np.zeros((60, 2)), questions=20)
    assert (never.rmse_mean, never.frozen_rmse_mean) == (0, 0)


def test_the_free_prediction_can_be_wrong() -> None:
    """Chains that end early are right, late ones are not: one a_c cannot know, whatever the pilot's size."""
    lengths = np.array([50] * 200 + [350] * 200)
    right = np.stack([lengths <= b for b in (100, 400)], axis=1) & (lengths <= 100)[:, None]
    found = pilot_sufficiency([100, 400], lengths, np.ones(400, bool), right, questions=200, draws=40)
    assert found.rmse_mean > 0.15
    # The pilot's own means would be off by sampling alone.
    assert found.rmse_mean > 4 * 0.5 / 200**0.5 / 2


def test_a_sweep_is_predicted_by_counting() -> None:
    finished = [np.array([1, 0, 0, 0], bool), np.array([1, 1, 0, 0], bool), np.ones(4, bool)]
    right = np.array([[1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 0, 1]], dtype=bool)
    free, frozen = sweep_from_pilot(finished, right)
    a_c = 3 / 4
    assert free == pytest.approx([a_c / 4 + 3 / 4 * (1 / 3), a_c / 2 + 0.0, a_c])
    assert frozen == pytest.approx([a_c / 4, a_c / 2, a_c])


def test_failures_partition_the_wrong() -> None:
    found = failures([0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 0], [[1, 0], [0, 0], [1, 1], [1, 1]])
    assert (found.false_accept, found.still_wrong, found.regression, found.wrong) == (1, 1, 1, 3)
    assert found.unsolved_by_all == 1
