import itertools

import numpy as np
import pytest
from simulated import measured

from thinkcap.allocate.split import Pass, Passes, Plan, lower, optimal
from thinkcap.core.errors import DataError
from thinkcap.policies.registry import parse


def passes() -> Passes:
    def made(ended: list[int], right: list[int], tokens: list[int]) -> Pass:
        return Pass(np.array(ended, bool), np.array(right, bool), np.array(tokens))

    return Passes(
        {4: made([1, 0, 0, 0], [1, 0, 0, 0], [3, 4, 4, 4]), 8: made([1, 1, 0, 0], [1, 0, 0, 0], [3, 7, 8, 8])},
        {
            ("close", 8, 2): made([0, 1, 0, 0], [0, 1, 1, 0], [10, 6, 10, 10]),
            ("close", 16, 2): made([1, 1, 1, 0], [0, 1, 1, 1], [12, 6, 15, 18]),
            ("extract", 8, 4): made([0, 1, 0, 0], [1, 1, 1, 0], [12, 6, 11, 12]),
        },
    )


def test_stages_follow_one_another_question_by_question() -> None:
    outcome = passes().outcome(Plan(4, 8, 2))
    assert outcome.right.tolist() == [True, True, True, False]
    assert outcome.tokens.tolist() == [3, 4 + 6, 4 + 10, 4 + 10]


def test_the_search_is_exhaustive_and_keeps_to_the_cap() -> None:
    grid = passes()
    for cap in range(8, 40):
        best = optimal(grid, cap)
        fitting = [
            grid.outcome(Plan(p, t, a, how))
            for (how, t, a), p in itertools.product(grid.thought, (0, 4, 8))
            if p + t + a <= cap
        ] + [grid.probe[p] for p in (4, 8) if p <= cap]
        assert best.plan.total <= cap
        assert best.low == pytest.approx(max(lower(o.right, 0.95) for o in fitting))
    assert optimal(grid, 8).plan == Plan(8, 0, 0)
    assert optimal(grid, 22).plan == Plan(4, 16, 2)
    with pytest.raises(DataError, match="no measured division fits"):
        optimal(grid, 3)


def test_of_equal_bounds_the_cheaper() -> None:
    assert optimal(passes(), 12).plan == Plan(0, 8, 4, "extract")
    # At 14 a probe before the thought gives the same three right and saves the first question's thought.
    assert optimal(passes(), 14).plan == Plan(4, 8, 2)


@pytest.mark.parametrize(
    ("plan", "label"),
    [
        (Plan(8, 0, 0), "nothink"),
        (Plan(0, 8, 2), "stop(think=8,answer=2,checks=false)"),
        (Plan(4, 8, 2), "stop(first=4,think=8,answer=2,checks=false)"),
        (Plan(0, 8, 4, "extract"), "split(think=8,answer=4)"),
        (Plan(4, 8, 4, "extract"), "iris(first=4,think=8,answer=4)"),
    ],
)
def test_every_plan_is_a_policy(plan: Plan, label: str) -> None:
    assert plan.label == label
    spec = parse(label)
    assert spec.options.get("checks", False) is False
    spec.bind()


def test_the_first_order_rule_changes_sign_at_the_best_thought() -> None:
    """Per 100 tokens the curve gains little either way where it is highest, much where it is steep."""
    best = optimal(measured(4000, 0, looping=0.3).passes, 512)
    assert best.check is not None
    values = [point.expected for point in best.check.grid]
    assert values[0] < max(values)
    if best.check.interior:
        assert best.check.first_order is not None
        steepest = max(abs(b - a) for a, b in itertools.pairwise(values)) * 100
        assert abs(best.check.first_order) < steepest


def test_on_fresh_questions_the_best_split_holds_its_bound() -> None:
    """Chosen on 400 questions among many; judged on 20,000: the bound must not be a dream."""
    fit, truth = measured(400, 1), measured(20_000, 2)
    for cap in (64, 128, 256):
        best = optimal(fit.passes, cap)
        assert truth.passes.outcome(best.plan).right.mean() > best.low - 0.03
