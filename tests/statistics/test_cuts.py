"""Extraction against thinking on at several cuts, and pi and eta apart, by loops over rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import World

from thinkcap.core.errors import DataError
from thinkcap.statistics.cuts import conditional_advantage, derivability


def test_survivors_and_the_fixed_cohort_differ() -> None:
    lengths, ended = [100, 300, 500], [True] * 3
    extracted = [[1, 1], [1, 0], [0, 1]]
    continued = [[0, 0], [0, 0], [0, 0]]
    found = conditional_advantage([200, 400], lengths, ended, extracted, continued)
    assert [p.n for p in found.survivors] == [2, 1]
    assert [p.n for p in found.cohort] == [1, 1]
    assert [p.advantage for p in found.survivors] == [0.5, 1.0]
    assert [p.advantage for p in found.cohort] == [0.0, 1.0]
    none = conditional_advantage([900], lengths, ended, [[1], [1], [1]], [[0], [0], [0]])
    assert none.survivors[0].advantage is None
    with pytest.raises(DataError, match="questions x cuts"):
        conditional_advantage([200], lengths, ended, extracted, continued)


@given(
    st.lists(
        st.tuples(st.integers(1, 60), st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=3)),
        min_size=1,
        max_size=40,
    )
)
def test_equal_to_counting_rows(rows: list[tuple[int, list[tuple[bool, bool]]]]) -> None:
    cuts = [10, 20, 40]
    lengths = [min(length, 50) for length, _ in rows]
    ended = [length <= 50 for length, _ in rows]
    e = [[pair[0] for pair in pairs] for _, pairs in rows]
    c = [[pair[1] for pair in pairs] for _, pairs in rows]
    found = conditional_advantage(cuts, lengths, ended, e, c)
    for k, cut in enumerate(cuts):
        alive = [i for i, (length, _) in enumerate(rows) if length > cut]
        part = found.survivors[k]
        assert part.n == len(alive)
        if alive:
            assert part.extraction == pytest.approx(sum(e[i][k] for i in alive) / len(alive))
            assert part.advantage == pytest.approx(sum(e[i][k] - c[i][k] for i in alive) / len(alive))


def test_chains_that_end_within_the_answers_tokens_count() -> None:
    """Conditioning on the cap instead of the cut would leave out all that thinking on can win."""
    world = World(scale=200, epsilon=0.0, alpha_c=1.0)
    seen = world.study(20_000, cut=128, answer=64, seed=5)
    spent = np.minimum(seen.lengths, 4096)
    table = (seen.split_right[:, None], seen.coupled_right[:, None])
    found = conditional_advantage([128], spent, seen.lengths <= 4096, *table).survivors[0]
    delta = 1 - (1 - 1 / 200) ** 64
    assert found.continuation == pytest.approx(delta, abs=0.015)
    assert found.advantage == pytest.approx(world.margin(128, 64), abs=0.02)
    wrong = conditional_advantage([192], spent, seen.lengths <= 4096, *table).survivors[0]
    assert wrong.continuation == 0


def test_a_chain_cut_just_at_the_cut_outlived_it() -> None:
    found = conditional_advantage([100], [100, 100], [True, False], [[1], [1]], [[0], [0]])
    assert found.survivors[0].n == 1
    with pytest.raises(DataError, match="larger cap"):
        conditional_advantage([100], [90], [False], [[1]], [[0]])


def test_pi_and_eta_apart() -> None:
    found = derivability(
        [1, 1, 0, 0],
        gold_in_trace=[1, 0, 1, 0],
        any_right=[1, 1, 1, 0],
        without_trace=[1, 0, 0, 0],
        placebo=[0, 0, 0, 0],
    )
    assert (found.pi, found.eta, found.without_gold) == (0.5, 0.5, 0.5)
    assert found.pi_upper == 0.75
    assert found.eta_lower == pytest.approx(2 / 3)
    assert found.pi_eta == 0.5
    assert found.trace_worth == 0.25
    bare = derivability([1])
    assert (bare.pi, bare.eta, bare.eta_lower, bare.placebo) == (None, None, None, None)
    assert derivability([1, 0], gold_in_trace=[1, 1]).without_gold is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=50))
def test_pi_eta_adds_up(rows: list[tuple[bool, bool]]) -> None:
    found = derivability([r[0] for r in rows], gold_in_trace=[r[1] for r in rows])
    assert found.pi is not None
    total = found.pi * (found.eta or 0) + (1 - found.pi) * (found.without_gold or 0)
    assert found.pi_eta == pytest.approx(total, abs=1e-12)


def test_the_simulated_pi_and_eta_are_found() -> None:
    seen = World(pi=0.6, eta=0.85, guess=0.15).study(60_000, cut=200, answer=50, seed=6)
    alive = ~seen.split_ended
    found = derivability(seen.split_right[alive], gold_in_trace=seen.gold_in_trace[alive])
    assert (found.pi, found.eta, found.without_gold) == pytest.approx((0.6, 0.85, 0.15), abs=0.015)
