"""Baselines of a router, prefixes and votes by text: small cases one can check by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import ConfigError
from thinkcap.paper.estimators import (
    by_length,
    direct_on_hard,
    median_of_finished,
    oracle,
    oracle_at,
    prefix_violations,
    random_share,
    reread,
    top_class_size,
)
from thinkcap.statistics.route import Both
from thinkcap.statistics.survival import survival

ROWS = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=40
)


@given(ROWS, st.floats(0, 1))
def test_every_router_adds_up_and_none_beats_the_oracle(
    rows: list[tuple[bool, bool, int, int]], share: float
) -> None:
    runs = Both.of(*(np.array([r[i] for r in rows]) for i in range(4)))
    best = oracle(runs)
    for found in (by_length(runs, share), by_length(runs, share, longest=False), oracle_at(runs, share)):
        assert found.right == int(runs.direct_right.sum()) + found.net
        assert found.right <= best.right
        assert found.routed == round(share * runs.n)
    assert oracle_at(runs, share).right >= by_length(runs, share).right


def test_random_routing_expectation_is_the_mean_of_draws() -> None:
    rng = np.random.default_rng(0)
    runs = Both.of(
        rng.random(300) < 0.7, rng.random(300) < 0.5, rng.integers(1, 50, 300), rng.integers(1, 90, 300)
    )
    found = random_share(runs, 0.2, draws=400)
    assert found.accuracy_mean == pytest.approx(found.accuracy, abs=0.003)
    assert found.accuracy_sd is not None
    assert random_share(runs, 0.2, draws=0).accuracy_mean is None
    with pytest.raises(ConfigError, match="between 0 and 1"):
        by_length(runs, 1.5)


def test_the_closed_form_routes_as_many_as_the_draws() -> None:
    """A tenth of 25 questions is two of them, not two and a half."""
    runs = Both.of([0] * 25, [1] * 25, [10] * 25, [100] * 25)
    found = random_share(runs, 0.1, draws=50)
    assert found.share == 2 / 25
    assert found.accuracy == pytest.approx(2 / 25)
    assert found.accuracy_mean == pytest.approx(found.accuracy)
    assert found.mean_tokens == pytest.approx(10 + 8)


def test_ties_go_to_the_earlier_question() -> None:
    runs = Both.of([0, 0], [1, 1], [5, 5], [7, 9])
    assert by_length(runs, 0.5).mean_tokens == (10 + 7) / 2


def test_the_median_of_finished_chains_is_biased_low() -> None:
    rng = np.random.default_rng(3)
    length = rng.geometric(1 / 600, 5000)
    spent, ended = np.minimum(length, 512), length <= 512
    finished = median_of_finished(spent, ended)
    curve = survival(np.minimum(length, 1024), length <= 1024)
    assert finished is not None
    assert finished < 300
    assert curve.median == pytest.approx(416, abs=25)


def test_counts() -> None:
    assert prefix_violations([100, 128, 128], [100, 300, 127], 128) == 1
    assert top_class_size([["3", "3 ", ""], ["", ""], ["1", "2"]]).tolist() == [2, 0, 1]
    assert median_of_finished([5, 7, 9, 8], [True, True, False, True]) == 7
    assert median_of_finished([5], [False]) is None
    assert direct_on_hard(0.875, 1.0, 0.9) is None
    assert direct_on_hard(0.875, 0.5, 1.0) == pytest.approx(0.75)
    assert reread(157, 4096, 500) == pytest.approx(1286.1, abs=0.1)
