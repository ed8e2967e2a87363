"""The families: pure, seeded, answerable, and never from training's seeds."""

from __future__ import annotations

import re
from datetime import date
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import ConfigError
from thinkcap.core.prompts import PROMPTS
from thinkcap.tasks.families import DIFFICULTIES, FAMILIES, TRAINING_SEEDS, maker, questions
from thinkcap.tasks.families.boolean import expression, reductions
from thinkcap.tasks.families.ordering import solve
from thinkcap.tasks.families.told_dates import moved, slashed

seeds = st.integers(0, TRAINING_SEEDS - 1)
dial = st.sampled_from(list(DIFFICULTIES))


@pytest.mark.parametrize("family", FAMILIES)
@given(seed=seeds, difficulty=dial)
@settings(max_examples=25, deadline=None)
def test_a_seed_gives_one_question(family: str, seed: int, difficulty: int) -> None:
    one, two = (maker(family)(Random(seed), difficulty) for _ in range(2))
    assert one == two
    assert one.family == family
    assert one.kind in ("number", "math", "label")
    assert one.form in PROMPTS.forms
    assert one.question.isascii()
    if one.form == "label":
        assert f"\n{one.answer} " in one.question


def test_a_smaller_set_is_a_prefix_and_nothing_repeats() -> None:
    many = questions("mix", 60, seed=4)
    assert questions("mix", 25, seed=4) == many[:25]
    assert {p.family for p in many[: len(FAMILIES)]} == set(FAMILIES)
    assert len({p.question for p in many}) == 60
    assert questions("mix", 25, seed=5) != many[:25]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: questions("mix", 1, seed=TRAINING_SEEDS), "belong to training"),
        (lambda: questions("mix", 1, seed=-1), "belong to training"),
        (lambda: questions("boolen", 1, seed=1), "did you mean 'boolean'"),
        (lambda: questions("dates", 1, seed=1, difficulty=9), "wanted 1 to 8"),
        (lambda: questions("dates", -1, seed=1), "wanted 0 or more"),
    ],
)
def test_what_cannot_be_made_is_refused(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match=re.escape(words)):
        call()


@given(seed=seeds, length=st.integers(1, 40))
@settings(deadline=None)
def test_boolean_reductions_agree_with_python(seed: int, length: int) -> None:
    tokens = expression(Random(seed), length)
    assert len(tokens) == length
    for leftmost in (True, False):
        steps = reductions(list(tokens), leftmost)
        assert (steps[-1][1] if steps else tokens[0]) == str(eval(" ".join(tokens)))


@given(seed=seeds, difficulty=dial)
@settings(max_examples=60, deadline=None)
def test_arithmetic_is_what_its_expression_says(seed: int, difficulty: int) -> None:
    problem = maker("arithmetic")(Random(seed), difficulty)
    value = problem.work["steps"][0][0]
    for start, op, operand, result in problem.work["steps"]:
        assert start == value
        value = {"+": value + operand, "-": value - operand, "*": value * operand, "/": value // operand}[op]
        assert op != "/" or start % operand == 0
        assert value == result > 0
    assert problem.answer == str(value)
    bare = re.search(r"(?:Compute|What is|Evaluate|Find the value of) ([-+*/() 0-9]+)[.?]$", problem.question)
    if bare:
        assert eval(bare.group(1)) == value


@given(seed=seeds, difficulty=dial)
@settings(max_examples=40, deadline=None)
def test_tracking_can_be_followed_from_the_text(seed: int, difficulty: int) -> None:
    problem = maker("tracking")(Random(seed), difficulty)
    work = problem.work
    held = dict(zip(work["people"], work["items"], strict=True))
    for a, b in work["swaps"]:
        one, two = work["people"][a], work["people"][b]
        held[one], held[two] = held[two], held[one]
    letter = re.search(
        r"\n\((\w)\) " + re.escape(held[work["people"][work["asked"]]]) + r"(?:\n|$)", problem.question
    )
    assert letter is not None
    assert problem.answer == f"({letter.group(1)})"


@given(seed=seeds, difficulty=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_ordering_clues_leave_one_order_and_the_search_finds_it(seed: int, difficulty: int) -> None:
    work = maker("ordering")(Random(seed), difficulty).work
    count = len(work["order"])

    def holds(order: tuple[int, ...]) -> bool:
        return all(
            order[b] == a if kind == "=" else order.index(a) < order.index(b) for kind, a, b in work["clues"]
        )

    assert [o for o in permutations(range(count)) if holds(o)] == [work["order"]]
    nodes = solve(count, work["pins"], work["needs"], limit=10_000)
    assert nodes is not None
    last, tests = nodes[-1]
    assert (*last, tests[-1][0]) == work["order"]


@given(seed=seeds, difficulty=dial)
@settings(max_examples=60, deadline=None)
def test_dates_come_out_where_the_moves_lead(seed: int, difficulty: int) -> None:
    problem = maker("dates")(Random(seed), difficulty)
    work = problem.work
    if "days" in work:
        assert (work["end"] - work["start"]).days == int(problem.answer)
        return
    day: date = work["base"]
    for move in (*work["moves"], work["last"]):
        day = moved(day, move)
    assert f"\n{problem.answer} {slashed(day)}" in problem.question
    assert problem.question.count(slashed(day)) >= 1


def test_a_month_without_that_day_gives_its_last() -> None:
    assert moved(date(2023, 3, 31), ("m", -1)) == date(2023, 2, 28)
    assert moved(date(2024, 2, 29), ("y", 1)) == date(2025, 2, 28)
    assert moved(date(2024, 12, 31), ("d", 1)) == date(2025, 1, 1)


@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "dates"])
def test_harder_questions_are_longer(family: str) -> None:
    easy, hard = (sum(len(p.question) for p in questions(family, 30, 3, d)) for d in (1, 6))
    assert easy < hard


def test_harder_dates_walk_further() -> None:
    def days(difficulty: int) -> int:
        made = [p.work for p in questions("dates", 30, 3, difficulty)]
        walks = [
            w["days"] if "days" in w else sum(abs(n) for u, n in (*w["moves"], w["last"]) if u == "d")
            for w in made
        ]
        return sum(walks)

    assert days(2) < days(4) < days(6) < days(8)
