"""Weights over cells must follow the same law as resampling rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.bootstrap import cells_of, percentile_interval


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=60))
def test_cells_keep_every_row(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows)
    cells = cells_of(table)
    assert cells.n == len(rows)
    assert cells.means() == pytest.approx(table.mean(axis=0))
    distinct = {tuple(r) for r in rows}
    assert {tuple(int(x) for x in v) for v in cells.values} == distinct


def test_real_numbers_are_grouped_too() -> None:
    cells = cells_of(np.array([[0.5, 1.0], [0.5, 1.0], [0.25, 0.0]]))
    assert sorted(cells.counts.tolist()) == [1, 2]


def test_same_spread_as_resampling_rows() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.random((150, 2)) < [0.3, 0.6]).astype(int)
    ours = cells_of(rows).draws(4000, seed=1)
    plain = np.array([rows[rng.integers(0, 150, 150)].mean(axis=0) for _ in range(4000)])
    assert ours.mean(axis=0) == pytest.approx(plain.mean(axis=0), abs=0.004)
    assert np.cov(ours.T) == pytest.approx(np.cov(plain.T), abs=1.5e-4)


def test_infinite_ends_stay_infinite() -> None:
    low, high = percentile_interval(np.array([1.0] * 90 + [np.inf] * 10))
    assert low == 1.0
    assert high == np.inf


def test_draws_without_a_value_are_refused() -> None:
    with pytest.raises(DataError, match="2 of 5 draws"):
        percentile_interval(np.array([1.0, np.nan, 2.0, np.nan, 3.0]))


def test_refusals() -> None:
    with pytest.raises(DataError, match="at least one row"):
        cells_of(np.zeros((0, 2)))
    with pytest.raises(ConfigError, match="at least one draw"):
        cells_of(np.ones((2, 1))).draws(0, 0)
