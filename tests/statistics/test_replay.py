"""Routers, frontier, gates, costs, predictions, repeats and failures: small cases one can check by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.cost import cost_bound, direct_on_hard, net_recovery, reread, utilisation
from thinkcap.statistics.frontier import frontier, frontier_counts
from thinkcap.statistics.gates import calibrate, gate, split_half, top_class_size
from thinkcap.statistics.predict import cross_scale, held_out, pilot_sufficiency
from thinkcap.statistics.route import (
    both,
    by_length,
    cascade_grid,
    oracle,
    oracle_at,
    random_share,
    replay,
)
from thinkcap.statistics.runs import flips, prefix_violations
from thinkcap.statistics.taxonomy import failures

ROWS = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=40
)


@given(ROWS, st.floats(0, 1))
def test_every_router_adds_up_and_none_beats_the_oracle(
    rows: list[tuple[bool, bool, int, int]], share: float
) -> None:
    runs = both(*(np.array([r[i] for r in rows]) for i in range(4)))
    best = oracle(runs)
    for found in (by_length(runs, share), by_length(runs, share, longest=False), oracle_at(runs, share)):
        assert found.right == int(runs.direct_right.sum()) + found.net
        assert found.right <= best.right
        assert found.routed == round(share * runs.n)
    assert oracle_at(runs, share).right >= by_length(runs, share).right


def test_random_routing_expectation_is_the_mean_of_draws() -> None:
    rng = np.random.default_rng(0)
    runs = both(rng.random(300) < 0.7, rng.random(300) < 0.5, rng.integers(1, 50, 300), rng.integers(1, 90, 300))
    found = random_share(runs, 0.2, draws=400)
    assert found.accuracy_mean == pytest.approx(found.accuracy, abs=0.003)
    assert found.accuracy_sd is not None
    assert random_share(runs, 0.2, draws=0).accuracy_mean is None
    with pytest.raises(ConfigError, match="between 0 and 1"):
        by_length(runs, 1.5)


def test_ties_go_to_the_earlier_question() -> None:
    runs = both([0, 0], [1, 1], [5, 5], [7, 9])
    assert by_length(runs, 0.5).mean_tokens == (10 + 7) / 2


def test_cascade_grid_routes_what_did_not_end() -> None:
    right, ended = np.array([True, False]), np.array([True, False])
    tokens, thought = np.array([3, 8]), np.array([False, True])
    grid = cascade_grid({8: (right, ended, tokens)}, {16: (thought, np.array([9, 9])), 8: (thought, tokens)})
    assert list(grid) == [(8, 16)]
    assert grid[8, 16].right == 2
    assert grid[8, 16].mean_tokens == (3 + 8 + 9) / 2
    assert replay(both([1], [0], [1], [1]), [True]).regretted == 1


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
    assert top_class_size([["3", "3 ", ""], ["", ""], ["1", "2"]]).tolist() == [2, 0, 1]


def test_costs() -> None:
    bound = cost_bound(0.888, 132.7, 2.42, 256, 512, 128, rounds=3)
    assert bound.expected_at_most == pytest.approx(320.0, abs=0.1)
    assert bound.most == 2176
    found = net_recovery(148, 1319, 48, 93)
    assert found is not None
    assert found.holds
    assert found.gain == pytest.approx(45 / 1319)
    assert net_recovery(0, 10, 0, 0) is None
    assert direct_on_hard(0.875, 1.0, 0.9) is None
    assert direct_on_hard(0.875, 0.5, 1.0) == pytest.approx(0.75)
    assert reread(157, 4096, 500) == pytest.approx(1286.1, abs=0.1)
    assert utilisation(272, 256) > 1


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


def test_flips() -> None:
    found = flips([1] * 24 + [0] * 5 + [1] * 171, [0] * 24 + [1] * 5 + [1] * 171)
    assert found.flipped == 29
    assert found.systematic
    assert found.same_length is None
    assert flips([1, 0], [0, 1], [5, 6], [5, 7]).same_length == 1


def test_prefixes() -> None:
    assert prefix_violations([100, 128, 128], [100, 300, 127], 128) == 1


def test_failures_partition_the_wrong() -> None:
    found = failures([0, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 0], [[1, 0], [0, 0], [1, 1], [1, 1]])
    assert (found.false_accept, found.still_wrong, found.regression, found.wrong) == (1, 1, 1, 3)
    assert found.unsolved_by_all == 1
    assert found.percentages == (33, 33, 33)
    assert failures([1], [0], [1]).percentages is None
    rounded = failures([0] * 36, [0] * 10 + [1] * 26, [0] * 35 + [1])
    assert rounded.percentages == (28, 69, 3)
