"""Equality as a law: numbers, fractions, sets and tuples of any value, any text. Cases: verdicts.jsonl."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap import equal
from thinkcap.grading.equality import decide
from thinkcap.grading.kinds import Decision


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_whole_numbers_are_equal_only_to_themselves(a: int, b: int) -> None:
    assert equal(str(a), f"{a:,}", "number")
    assert equal(str(a), f"The answer is {a}.", "number")
    assert equal(str(a), str(b), "number") == (a == b)
    assert equal(str(a), str(b), "math") == (a == b)


@given(st.integers(-999, 999), st.integers(1, 999), st.integers(2, 9))
def test_fractions_in_every_spelling(top: int, bottom: int, scale: int) -> None:
    gold = f"\\frac{{{top}}}{{{bottom}}}"
    assert equal(gold, f"{top}/{bottom}", "math")
    assert equal(gold, f"\\dfrac{{{top * scale}}}{{{bottom * scale}}}", "math")
    assert not equal(gold, f"\\frac{{{top + 1}}}{{{bottom}}}", "math")


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=5, unique=True), st.randoms())
def test_sets_have_no_order_and_tuples_have(values: list[int], chance) -> None:  # type: ignore[no-untyped-def]
    mixed = list(values)
    chance.shuffle(mixed)
    braces = "\\{" + ", ".join(map(str, values)) + "\\}"
    assert equal(braces, ", ".join(map(str, mixed)), "math")
    point = "(" + ", ".join(map(str, values)) + ")"
    assert equal(point, "(" + ",".join(map(str, mixed)) + ")", "math") == (mixed == values)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789{}\\$^_()[]xyi+-*/=<>,;:%!|& \nfracsqtbegin½√π", max_size=60))
def test_no_text_raises_or_takes_long(text: str) -> None:
    started = time.process_time()
    decide("\\frac{1}{2}", text, "math")
    decide(text, "5", "number")
    decide("(B)", text, "label")
    assert time.process_time() - started < 8.0


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="0123456789{}\\^()x+-*/=,|! ", min_size=1, max_size=30))
def test_every_readable_text_equals_itself(text: str) -> None:
    if text.strip():
        assert equal(text, text, "math")


@pytest.mark.parametrize(
    "bomb",
    [
        "9**9**9**9",
        "9^{9^{9^9}}",
        "2^{2^{2^{49}}}",
        "(10^{9})!",
        "{" * 1_000_000,
        "1" * 1_000_000,
        "\\binom{10^9}{5}",
    ],
)
def test_bombs_are_unreadable_within_a_second(bomb: str) -> None:
    started = time.process_time()
    assert decide("1", bomb, "math") is Decision.UNREADABLE
    assert not equal("1", bomb, "math")
    assert time.process_time() - started < 8.0


@pytest.mark.parametrize("nothing", [None, "", "   ", "\n"])
def test_nothing_is_never_right(nothing: str | None) -> None:
    for kind in ("number", "math", "label"):
        assert not equal("5", nothing, kind)  # type: ignore[arg-type]


def test_an_open_thought_is_never_right() -> None:
    for kind, gold in (("number", "5"), ("math", "5"), ("label", "B")):
        text = f"<think>so the answer is {gold}, \\boxed{{{gold}}}"
        assert not equal(gold, text, kind)  # type: ignore[arg-type]
