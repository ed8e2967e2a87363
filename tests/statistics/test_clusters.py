"""Several answers to one question: what they are worth, held against enumeration, copies and repeated studies."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from thinkcap.statistics.clusters import averaged, by_question, design_effect, flips, repeated
from thinkcap.statistics.crossover import empirical_with_interval
from thinkcap.statistics.distributions import normal_above
from thinkcap.statistics.gates import calibrate, gate, split_half
from thinkcap.statistics.halves import split_sample
from thinkcap.statistics.hazard import decreasing, hazard
from thinkcap.statistics.modal import two_by_two
from thinkcap.statistics.paired import difference, mcnemar
from thinkcap.statistics.precision import accuracy, proportion
from thinkcap.statistics.survival import survival

QUESTIONS = 120
COPIES = np.tile(np.arange(QUESTIONS), 4)


def _outcomes(share: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(QUESTIONS) < share


def test_a_row_a_question_is_worth_a_row() -> None:
    alone = np.arange(QUESTIONS)
    right = _outcomes(0.7, 0)
    assert repeated(alone) is None
    assert repeated(np.array([3, 1, 3])) is not None
    assert accuracy(right, repeated(alone)) == accuracy(right) == proportion(int(right.sum()), QUESTIONS)
    assert averaged(right, None) is right


def test_copies_of_a_seed_say_nothing_new() -> None:
    """The same answers four times: every interval, p and band is that of one seed."""
    one, two = _outcomes(0.8, 1), _outcomes(0.6, 2)
    fourfold = [np.tile(a, 4) for a in (one, two)]
    once, again = accuracy(one), accuracy(fourfold[0], COPIES)
    assert again.n == 4 * once.n
    assert (again.low, again.high) == pytest.approx((once.low, once.high))
    pair, pairs = difference(one, two, "id"), difference(*fourfold, "id", COPIES)
    assert pairs.test.p == pytest.approx(pair.test.p)
    assert (pairs.low, pairs.high) == pytest.approx((pair.low, pair.high))
    lengths, ended = np.random.default_rng(3).geometric(0.01, QUESTIONS), np.ones(QUESTIONS, bool)
    curve = survival(lengths, ended)
    curves = survival(np.tile(lengths, 4), np.tile(ended, 4), questions=COPIES)
    assert curves.low == pytest.approx(curve.low)
    assert curves.high == pytest.approx(curve.high)
    assert curves.band(0) == pytest.approx(curve.band(0))
    square, squares = two_by_two(one, two, two, one), two_by_two(*fourfold, *fourfold[::-1], COPIES)
    assert squares.high - squares.low == pytest.approx(square.high - square.low, rel=0.02)
    falling = decreasing(lengths, ended)
    fallings = decreasing(np.tile(lengths, 4), np.tile(ended, 4), questions=COPIES)
    assert falling is not None
    assert fallings is not None
    assert fallings.p == pytest.approx(falling.p)
    edges = [1, 80, 200, 2000]
    bins = hazard(lengths, ended, edges).bins
    binned = hazard(np.tile(lengths, 4), np.tile(ended, 4), edges, questions=COPIES).bins
    assert [b.low for b in binned] == pytest.approx([b.low for b in bins])


def test_gates_are_tested_by_questions() -> None:
    votes = np.random.default_rng(9).integers(1, 6, QUESTIONS)
    one, two = _outcomes(0.6, 10), _outcomes(0.8, 11)
    # As the diagnosis hands them over: answers to one question side by side.
    beside = np.repeat(np.arange(QUESTIONS), 4)
    again = [np.repeat(column, 4) for column in (votes, one, two)]
    single, pooled = gate(votes, one, two, threshold=3), gate(*again, beside, threshold=3)
    assert pooled.right == 4 * single.right
    assert pooled.against_first.p == pytest.approx(single.against_first.p)
    halves = split_half(votes, one, two, threshold=3), split_half(*again, beside, threshold=3)
    fifths = (
        calibrate(votes, one, two, calibration=QUESTIONS // 5),
        calibrate(*again, beside, calibration=4 * QUESTIONS // 5),
    )
    assert [h.against_second.p for h in halves[1]] == pytest.approx([h.against_second.p for h in halves[0]])
    assert fifths[1].setting == fifths[0].setting
    assert fifths[1].test.against_first.p == pytest.approx(fifths[0].test.against_first.p)


def test_bootstraps_draw_questions() -> None:
    rng = np.random.default_rng(4)
    luck, lengths = rng.random(QUESTIONS), rng.geometric(0.004, QUESTIONS)
    budgets = [128, 256, 512, 1024]
    thought = np.stack([luck < np.where(lengths <= b, 0.95, 0.2) for b in budgets], axis=1)
    direct = np.repeat(_outcomes(0.7, 5)[:, None], 4, axis=1)
    once = empirical_with_interval(budgets, direct, thought, draws=400)
    again = empirical_with_interval(budgets, np.tile(direct, (4, 1)), np.tile(thought, (4, 1)), COPIES, draws=400)
    assert (again.point, again.low, again.high) == (once.point, once.low, once.high)
    columns = (luck < 0.8, lengths <= 256, luck < 0.7, lengths <= 384)
    half, halves = split_sample(*columns), split_sample(*(np.tile(c, 4) for c in columns), COPIES)
    assert half is not None
    assert halves == half


def test_the_test_by_questions_is_the_enumeration_of_all_turns() -> None:
    rng = np.random.default_rng(6)
    for seeds in (1, 2, 3):
        questions = np.tile(np.arange(9), seeds)
        one, two = rng.random(9 * seeds) < 0.8, rng.random(9 * seeds) < 0.4
        sums = by_question(one.astype(int) - two, questions)
        totals = np.array([float(np.dot(signs, sums)) for signs in product((1, -1), repeat=9)])
        brute = float((np.abs(totals) >= abs(sums.sum()) - 1e-9).mean())
        found = mcnemar(one, two, questions)
        assert found.p == pytest.approx(brute)
        assert found.difference == pytest.approx(one.mean() - two.mean())
    # One row a question: McNemar's own test.
    assert flips(one[:9].astype(int) - two[:9], np.arange(9)) == pytest.approx(mcnemar(one[:9], two[:9]).p)


def test_the_test_is_quick_and_exact_on_many_rows() -> None:
    rng = np.random.default_rng(7)
    questions = np.tile(np.arange(60_000), 5)
    differences = rng.integers(-1, 2, len(questions))
    sums = by_question(differences, questions)
    z = abs(sums.sum()) / np.sqrt((sums**2).sum())
    assert flips(differences, questions) == pytest.approx(2 * normal_above(z), rel=0.01)


def test_an_interval_and_its_test_never_disagree() -> None:
    rng = np.random.default_rng(8)
    for _ in range(300):
        n, seeds = int(rng.integers(3, 25)), int(rng.integers(2, 6))
        questions, ability = np.tile(np.arange(n), seeds), np.tile(rng.random(n), seeds)
        one = rng.random(n * seeds) < ability
        two = rng.random(n * seeds) < ability * rng.uniform(0.2, 1)
        found = difference(one, two, "id", questions)
        assert found.low < found.high
        assert found.low <= found.test.difference <= found.high
        assert (found.test.p > 0.05) == (found.low < 0 < found.high) or 0 in (found.low, found.high)


def test_few_answers_to_count_are_taken_for_one_a_question() -> None:
    questions = np.tile(np.arange(50), 4)
    right = np.ones(200, bool)
    right[[3, 60]] = False
    assert design_effect(right, questions) == 4
    assert design_effect([], np.zeros(0, dtype=np.int64)) == 1
