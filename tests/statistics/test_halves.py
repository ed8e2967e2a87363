"""The split-sample test must hold where the theory holds and fail where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Study, World

from thinkcap.core.errors import DataError
from thinkcap.statistics.halves import HalfParts, SplitSample, parts_of, split_sample


def _test(seen: Study, **changed: np.ndarray) -> SplitSample:
    columns = {
        "split_right": seen.split_right,
        "split_ended": seen.split_ended,
        "coupled_right": seen.coupled_right,
        "coupled_ended": seen.coupled_ended,
    }
    found = split_sample(**(columns | changed), draws=600)
    assert found is not None
    return found


def test_parts_are_counts() -> None:
    seen = World().study(300, cut=200, answer=100, seed=0)
    rows = np.stack((seen.split_right, seen.split_ended, seen.coupled_right, seen.coupled_ended), axis=1)
    found = parts_of(rows)
    ended = [i for i in range(300) if seen.coupled_ended[i]]
    rest = [i for i in range(300) if not seen.coupled_ended[i]]
    cut = [i for i in range(300) if not seen.split_ended[i]]
    assert found.ended_at_cut == pytest.approx(1 - len(cut) / 300)
    assert found.ended_at_total == pytest.approx(len(ended) / 300)
    assert found.alpha_c == pytest.approx(sum(seen.coupled_right[i] for i in ended) / len(ended))
    assert found.epsilon == pytest.approx(sum(seen.coupled_right[i] for i in rest) / len(rest))
    assert found.pi_eta == pytest.approx(sum(seen.split_right[i] for i in cut) / len(cut))


def test_where_the_theory_holds_it_is_refuted_no_more_often_than_stated() -> None:
    world = World(scale=300, alpha_c=0.9)
    refuted = sum(not _test(world.study(300, cut=256, answer=128, seed=s)).consistent for s in range(120))
    assert refuted <= 12


def test_where_late_chains_are_worse_the_prediction_is_refuted() -> None:
    """One a_c for all chains is the theory's assumption; here chains that end late are hardly ever right."""
    world = World(scale=200, alpha_c=0.98, late_alpha_c=0.05, epsilon=0.05)
    found = _test(world.study(1500, cut=200, answer=200, seed=1))
    assert not found.consistent
    assert found.observed > found.predicted


def test_wrong_ends_give_a_wrong_prediction() -> None:
    """With `done` at random the old prediction stayed the same; F and a_c now have their weight."""
    seen = World(scale=200, alpha_c=0.95, epsilon=0.05).study(2000, cut=150, answer=150, seed=2)
    rng = np.random.default_rng(0)
    shuffled = seen.split_ended | rng.permutation(seen.coupled_ended)
    right, wrong = _test(seen), _test(seen, coupled_ended=shuffled)
    assert right.consistent
    assert abs(wrong.predicted - right.predicted) > 0.03
    assert not wrong.consistent


@pytest.mark.parametrize("part", ["ended_at_cut", "ended_at_total", "alpha_c", "epsilon", "pi_eta"])
def test_every_part_has_a_say(part: str) -> None:
    known = {"ended_at_cut": 0.5, "ended_at_total": 0.7, "alpha_c": 0.9, "epsilon": 0.2, "pi_eta": 0.6}
    moved = {**known, part: known[part] + 0.1}
    assert abs(HalfParts(**moved).gain - HalfParts(**known).gain) > 0.015


def test_where_nothing_could_refute_it_there_is_no_test() -> None:
    seen = World().study(100, cut=200, answer=50, seed=3)
    ended = seen.split_ended
    assert split_sample(seen.split_right, ended, seen.truncated_right, ended) is None
    assert split_sample([1], [0], [1], [1]) is None
    with pytest.raises(DataError, match="not the same chains"):
        split_sample([1] * 4, [1] * 4, [1] * 4, [0] * 4)
