from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import exponweib

from thinkcap.core.errors import DataError
from thinkcap.statistics.hazard import decreasing, even_edges, hazard


def _cut(lengths: np.ndarray, cap: int) -> tuple[np.ndarray, np.ndarray]:
    whole = np.maximum(1, np.ceil(lengths)).astype(int)
    return np.minimum(whole, cap), whole <= cap


def test_constant_hazard_is_found() -> None:
    spent, ended = _cut(np.random.default_rng(0).exponential(200, 20_000), 1000)
    found = hazard(spent, ended, [0, 100, 200, 400, 800])
    assert found.bins
    for part in found.bins:
        assert part.low is not None
        assert part.high is not None
        assert part.low <= 1 / 200 * 1.02
        assert part.high >= 1 / 200 * 0.98


def test_shape_agrees_with_scipy_without_censoring() -> None:
    lengths = np.maximum(1, np.ceil(300 * np.random.default_rng(2).weibull(0.7, 3000))).astype(int)
    found = decreasing(lengths, np.ones(3000, bool))
    assert found is not None
    _, shape, _, _ = exponweib.fit(lengths - 0.5, f0=1, floc=0)
    assert found.shape == pytest.approx(shape, abs=0.01)
    assert found.p < 1e-10


def test_a_rising_hazard_is_not_called_falling() -> None:
    spent, ended = _cut(400 * np.random.default_rng(1).weibull(2.0, 500), 600)
    found = decreasing(spent, ended)
    assert found is not None
    assert found.shape > 1.5
    assert found.p > 0.99


def test_the_tail_is_counted_from_its_start() -> None:
    # A minimum length of 300, then a constant hazard: falling nowhere beyond 300.
    rng = np.random.default_rng(4)
    lengths = 300 + rng.geometric(0.01, 2000)
    found = decreasing(lengths, np.ones(2000, bool), beyond=300)
    assert found is not None
    assert found.n == 2000
    assert 0.01 < found.p < 0.99


def test_too_few_ends_say_nothing() -> None:
    assert decreasing([5, 6, 7, 8], [True] * 4) is None


def test_isotonic_fit_never_rises() -> None:
    spent, ended = _cut(np.random.default_rng(5).lognormal(5.5, 0.8, 400), 2000)
    found = hazard(spent, ended, even_edges(spent))
    fit = [v for v in found.isotonic if v is not None]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(fit))


def test_threshold_is_of_the_falling_curve() -> None:
    spent, ended = _cut(np.random.default_rng(6).exponential(100, 5000), 500)
    found = hazard(spent, ended, [0, 50, 100, 200])
    assert found.threshold(1.0) == 0
    assert found.threshold(1e-9) is None
    assert found.falling(60) == found.isotonic[1]
    assert found.falling(900) is None


def test_an_empty_bin_is_undefined_not_zero() -> None:
    found = hazard([10, 20], [True, True], [0, 15, 30, 60])
    assert found.bins[2].per_token is None
    with pytest.raises(DataError, match="rising edges"):
        hazard([1], [True], [5, 5])


def test_ends_are_counted_over_tokens_watched() -> None:
    # Tokens 11 to 20: the chain of 14 saw four, that of 20 and the longer one ten each, the cut one six.
    found = hazard([5, 14, 20, 30, 16], [True, True, True, True, False], [11, 21])
    (part,) = found.bins
    assert (part.at_risk, part.ended, part.watched) == (4, 2, 4 + 10 + 10 + 6)
    assert part.per_token == pytest.approx(2 / 30)


def test_a_last_bin_in_which_every_chain_ends_is_no_certainty() -> None:
    lengths = np.random.default_rng(7).geometric(0.005, 100)
    found = hazard(lengths, np.ones(100, bool), even_edges(lengths))
    last = found.bins[-1]
    assert last.stop == lengths.max() + 1
    assert last.ended == last.at_risk
    assert last.per_token is not None
    assert 0.001 < last.per_token < 0.02
    assert found.ceiling < 0.05


def test_bins_of_few_chains_set_no_scale() -> None:
    lengths = np.array([100] * 40 + [200] * 40 + [400] * 40 + [401] * 5)
    found = hazard(lengths, np.ones(125, bool), [1, 101, 201, 401, 402])
    assert found.bins[-1].at_risk == 5
    assert found.bins[-1].per_token == 1
    well_known = max(b.per_token for b in found.bins[:-1] if b.per_token is not None)
    assert found.ceiling == pytest.approx(1.6 * well_known)


def test_bands_cover_a_constant_hazard() -> None:
    rng, held, asked = np.random.default_rng(8), 0, 0
    for _ in range(300):
        spent, ended = _cut(rng.geometric(0.01, 200), 250)
        for part in hazard(spent, ended, [1, 40, 90, 160, 251]).bins:
            assert part.low is not None
            assert part.high is not None
            asked += 1
            held += part.low <= 0.01 <= part.high
    assert 0.93 <= held / asked <= 0.985
