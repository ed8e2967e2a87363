from __future__ import annotations

import numpy as np
import pytest

from thinkcap.core.errors import DataError
from thinkcap.statistics.crossover import (
    empirical,
    empirical_with_interval,
    multiplier,
    needed_share,
    needed_share_heuristic,
    predicted,
)
from thinkcap.statistics.survival import survival


def test_between_before_beyond() -> None:
    assert empirical([128, 256, 512], [0.3, 0.1, -0.1]).interval == (256, 512)
    middle = empirical([128, 256, 512], [0.3, 0.1, -0.1])
    assert middle.point == pytest.approx(256 * 2**0.5)
    assert empirical([128, 256], [0.0, -0.1]).status == "before"
    assert empirical([128, 256], [0.2, 0.1]).status == "beyond"
    assert empirical([128, 256], [0.2, 0.1]).interval == (256, None)


def test_a_tie_at_the_last_budget_counts_as_paying() -> None:
    assert empirical([1024, 2048], [0.07, 0.0]).point == 2048


def test_the_last_loss_counts_not_the_first_win() -> None:
    assert empirical([1, 2, 4, 8], [0.1, -0.1, 0.1, -0.1]).interval == (4, 8)


def test_no_budget_is_enough() -> None:
    curve = survival([100, 200, 300, 400], [True, True, True, False])
    assert predicted(curve, needed_share(0.98, 0.9796, 0.585)).status == "none"
    far = predicted(curve, 0.9)
    assert (far.status, far.beyond) == ("beyond", 400)
    assert predicted(curve, 0.5).budget == 200
    assert predicted(curve, needed_share(0.5, None, 0.2)).status == "undefined"
    assert needed_share(0.5, 0.2, 0.3) is None
    assert needed_share_heuristic(0.5, None) is None


def test_interval_brackets_the_point_and_says_beyond() -> None:
    rng = np.random.default_rng(5)
    n, budgets = 400, [128, 256, 512, 1024]
    length = rng.lognormal(5.8, 0.6, n)
    luck = rng.random(n)
    think = np.stack([luck < np.where(length <= b, 0.95, 0.1) for b in budgets], axis=1)
    direct = np.repeat((rng.random(n) < 0.7)[:, None], 4, axis=1)
    found = empirical_with_interval(budgets, direct, think, draws=500)
    assert found.point is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.point <= found.high
    never = empirical_with_interval(budgets, np.ones((n, 4), bool), think, draws=200)
    assert never.status == "beyond"
    assert never.high is None
    assert never.beyond_share == 1
    assert (never.low_is, never.high_is) == ("beyond", "beyond")
    always = empirical_with_interval(budgets, np.zeros((n, 4), bool), think, draws=200)
    assert (always.low, always.high) == (None, None)
    assert (always.low_is, always.high_is) == ("before", "before")
    assert (found.low_is, found.high_is) == ("at", "at")


def test_modes_that_never_differed_may_cross_anywhere() -> None:
    same = np.ones((20, 2), bool)
    found = empirical_with_interval([64, 128], same, same, draws=400)
    assert (found.low_is, found.high_is) == ("before", "beyond")
    with pytest.raises(DataError, match="at least one question"):
        empirical_with_interval([64, 128], np.ones((0, 2), bool), np.ones((0, 2), bool))


def test_the_same_seed_gives_the_same_interval() -> None:
    rng = np.random.default_rng(1)
    direct, think = rng.random((200, 2)) < 0.6, rng.random((200, 2)) < [0.4, 0.8]
    one = empirical_with_interval([64, 128], direct, think, draws=300, seed=7)
    assert one == empirical_with_interval([64, 128], direct, think, draws=300, seed=7)


def test_multiplier() -> None:
    seen = empirical([256, 512, 1024, 2048], [0.7, 0.4, 0.1, 0.0])
    found = multiplier([256, 512, 1024, 2048], [0.875, 0.931, 0.931, 0.931], seen)
    assert (found.saturation, found.gamma) == (512, 4.0)
    # At the crossover itself, just above 1024, not at the next budget that happened to be run.
    early = empirical([256, 512, 1024, 2048], [0.7, 0.4, 0.01, -0.19])
    near = multiplier([256, 512, 1024, 2048], [0.875, 0.931, 0.931, 0.931], early)
    assert near.gamma == pytest.approx(2 * 2**0.05)
    assert (near.gamma_above, near.gamma_at_most) == (None, None)
    before = multiplier([256, 512], [0.9, 0.9], empirical([256, 512], [-0.1, -0.2]))
    assert (before.gamma, before.gamma_at_most) == (None, 1.0)
    beyond = multiplier([256, 512], [0.9, 0.9], empirical([256, 512], [0.5, 0.2]))
    assert beyond.gamma is None
    assert (beyond.gamma_above, beyond.gamma_at_most) == (2.0, None)


def test_bad_sweeps() -> None:
    with pytest.raises(DataError, match="rising"):
        empirical([256, 128], [0.1, 0.1])
    with pytest.raises(DataError, match="questions x 2 budgets"):
        empirical_with_interval([1, 2], [[1, 0]], [[1]])
