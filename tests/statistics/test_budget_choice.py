"""No choice exceeds its budget, falls below an earlier one, or depends on order or on other questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import DataError
from thinkcap.statistics.choice import COVERAGE, Candidate, Recommendation, recommend

BUDGETS = (32, 64, 96, 128)
POLICIES = ("nothink", "close", "split", "iris")


def candidate(policy: str, budget: int, correct: Sequence[bool], cost: int | Sequence[int] = 9) -> Candidate:
    spent = np.full(len(correct), cost) if isinstance(cost, int) else np.asarray(cost)
    return Candidate(f"{policy}@{budget}", policy, budget, np.arange(len(correct)), np.asarray(correct), spent)


def share(policy: str, budget: int, correct: int, n: int = 60, cost: int = 9) -> Candidate:
    return candidate(policy, budget, np.arange(n) < correct, cost)


@st.composite
def tables(draw: st.DrawFn, first: int = 0) -> list[Candidate]:
    """Up to ten configurations on the questions from `first` on: all, most or few of them, some over budget."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(1, 40))
    cells = st.lists(
        st.tuples(st.sampled_from(POLICIES), st.sampled_from(BUDGETS)), min_size=1, max_size=10, unique=True
    )
    found = []
    for policy, budget in draw(cells):
        asked = np.arange(first, first + n)
        asked = asked[rng.random(n) < draw(st.sampled_from((1.0, 1.0, 0.97, 0.4)))]
        question = np.repeat(asked, draw(st.sampled_from((1, 1, 3))))
        most = draw(st.sampled_from((budget, budget, budget + 20)))
        cost = None if draw(st.integers(0, 5)) == 0 else rng.integers(1, most + 1, len(question))
        correct = rng.random(len(question)) < draw(st.sampled_from((0.2, 0.5, 0.9)))
        found.append(Candidate(f"{policy}@{budget}", policy, budget, question, correct, cost))
    return found


@settings(max_examples=150, deadline=None)
@given(tables())
def test_no_choice_exceeds_its_budget_or_falls_below_an_earlier_one(table: list[Candidate]) -> None:
    known = {c.name: c for c in table}
    for group in recommend(table).groups:
        before = 0.0
        for choice in group.choose():
            chosen = known[choice.name]
            assert chosen.budget <= choice.budget
            assert chosen.cost is None or (chosen.cost <= choice.budget).all()
            assert choice.scored.accuracy >= before
            before = choice.scored.accuracy
            wide = group.widen(choice)
            assert (wide.accuracy, wide.mean_cost) == (choice.scored.accuracy, choice.scored.mean_cost)
            assert choice.scored.budget <= wide.budget <= choice.budget


@settings(max_examples=100, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_no_order_of_rows_or_candidates_matters(table: list[Candidate], random: object) -> None:
    rng = np.random.default_rng(random.randrange(10_000))  # type: ignore[attr-defined]
    # Numbers of questions depend on the order in which files were read.
    names = rng.permutation(1000)
    turned = []
    for at in rng.permutation(len(table)):
        one = table[at]
        rows = rng.permutation(len(one.correct))
        cost = None if one.cost is None else one.cost[rows]
        turned.append(replace(one, question=names[one.question[rows]], correct=one.correct[rows], cost=cost))
    assert recommend(turned) == recommend(table)


@settings(max_examples=100, deadline=None)
@given(tables(), tables(first=500))
def test_files_on_other_questions_change_no_choice(table: list[Candidate], other: list[Candidate]) -> None:
    other = [replace(c, name=f"other-{c.name}") for c in other]
    both = [group.choose() for group in recommend(table + other).groups]
    for group in recommend(table).groups:
        assert group.choose() in both


@settings(max_examples=100, deadline=None)
@given(tables())
def test_every_candidate_is_in_the_first_group_or_named(table: list[Candidate]) -> None:
    found = recommend(table)
    inside = {one.name for one in found.groups[0].scored} if found.groups else set()
    named = {one.name for one in found.excluded}
    assert inside | named == {c.name for c in table if len(c.correct)}
    assert not inside & named


def chosen(found: Recommendation) -> list[tuple[int, str]]:
    return [(choice.budget, choice.name) for choice in found.groups[0].choose()]


def test_a_smaller_budget_that_did_better_is_chosen() -> None:
    table = [share("split", 224, 55), share("vote", 304, 45), share("split", 416, 57), share("nothink", 80, 48)]
    assert chosen(recommend(table)) == [
        (80, "nothink@80"),
        (224, "split@224"),
        (304, "split@224"),
        (416, "split@416"),
    ]


def test_equal_accuracy_goes_to_the_cheaper_one_then_to_the_smaller_budget() -> None:
    table = [share("close", 64, 40, cost=20), share("split", 64, 40, cost=10), share("split", 128, 40, cost=10)]
    found = recommend(table)
    assert chosen(found) == [(64, "split@64"), (128, "split@64")]
    # A profile takes the larger budget, if the method did exactly as well with it.
    assert found.groups[0].widen(found.groups[0].choose()[-1]).name == "split@128"


def test_who_exceeds_the_budget_is_left_out_and_named() -> None:
    table = [share("nothink", 512, 28, cost=100), candidate("town", 512, [True] * 60, [690] * 20 + [100] * 40)]
    found = recommend(table)
    assert chosen(found) == [(512, "nothink@512")]
    (left,) = found.excluded
    assert left.name == "town@512"
    assert left.reason == "exceeded its budget on 20 of 60 answers (at most 690 tokens)"


def test_who_answered_other_questions_is_left_out_and_named() -> None:
    """A log of one method on more questions is no reason to change a choice between methods."""
    table = [share("nothink", 64, 40), share("close", 64, 45)]
    more = replace(share("split", 64, 500, 500), question=np.arange(1000, 1500))
    found = recommend([more, *table])
    assert chosen(found) == chosen(recommend(table)) == [(64, "close@64")]
    (left,) = found.excluded
    assert (left.name, left.reason) == ("split@64", "was measured on other questions (0 of these 60)")


def test_who_answered_more_questions_is_compared_on_the_shared_ones() -> None:
    """IRIS has 90.9 % of 1,319 questions and MRSD 93 % of 200 of them, on which IRIS has 95 %."""
    iris = candidate("iris", 512, [*[True] * 190, *[False] * 10, *[True] * 1009, *[False] * 110])
    found = recommend([iris, share("mrsd", 512, 186, 200)])
    assert chosen(found) == [(512, "iris@512")]
    assert found.groups[0].questions == 200
    assert found.groups[0].choose()[0].scored.accuracy == 0.95


def test_a_few_missing_rows_do_not_exclude() -> None:
    n = 100
    lacking = share("close", 64, 90, round(COVERAGE * n))
    found = recommend([share("nothink", 64, 50, n), lacking])
    assert found.excluded == ()
    assert found.groups[0].questions == round(COVERAGE * n)
    (left,) = recommend(
        [share("nothink", 64, 50, n), share("split", 64, 50, n), share("close", 64, 90, 94)]
    ).excluded
    assert left.name == "close@64"


def test_nothing_is_recommended_of_nothing() -> None:
    assert recommend([]) == Recommendation()
    found = recommend([candidate("town", 64, [True], [65])])
    assert found.groups == ()
    assert [e.name for e in found.excluded] == ["town@64"]


def test_columns_of_different_lengths_are_rejected() -> None:
    with pytest.raises(DataError, match="one length"):
        Candidate("a@1", "a", 1, np.arange(2), np.ones(3, dtype=bool))
