"""Shares from strata: unbiased though some are drawn more densely, and covered as often as claimed."""

import numpy as np
import pytest

from thinkcap.core.errors import DataError
from thinkcap.statistics.stratified import Stratum, stratified


@pytest.mark.parametrize(
    ("sizes", "rates"),
    [((2000, 150, 100), (0.95, 0.3, 0.6)), ((500, 60, 40), (0.99, 0.02, 0.5)), ((300, 300, 300), (0.5, 0.6, 0.7))],
)
def test_estimates_are_unbiased_and_intervals_cover(sizes: tuple[int, ...], rates: tuple[float, ...]) -> None:
    rng = np.random.default_rng(5)
    truths, values, inside = [], [], 0
    for _ in range(600):
        whole = [rng.random(size) < rate for size, rate in zip(sizes, rates, strict=True)]
        truth = float(np.concatenate(whole).mean())
        drawn = [rng.choice(part, 30, replace=False) for part in whole]
        found = stratified([Stratum(len(p), 30, int(d.sum())) for p, d in zip(whole, drawn, strict=True)])
        assert found.value is not None
        truths.append(truth)
        values.append(found.value)
        inside += found.low <= truth <= found.high
    assert abs(np.mean(values) - np.mean(truths)) < 0.004
    assert inside >= 0.94 * 600


def test_labels_of_everything_leave_nothing_to_estimate() -> None:
    found = stratified([Stratum(4, 4, 1), Stratum(6, 6, 3)])
    assert (found.value, found.low, found.high) == (0.4, pytest.approx(0.4), pytest.approx(0.4))


def test_a_stratum_without_labels_leaves_bounds() -> None:
    found = stratified([Stratum(50, 50, 40), Stratum(50, 0, 0)])
    assert found.value is None
    assert (found.low, found.high) == (pytest.approx(0.4), pytest.approx(0.9))


def test_impossible_strata_are_refused() -> None:
    with pytest.raises(DataError, match="0 <= right <= labelled <= size"):
        stratified([Stratum(3, 4, 1)])
