"""Whatever a stranger types is read in time that grows with its length, not with its square."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable

import pytest

import thinkcap.grading
from thinkcap.core.types import Kind
from thinkcap.grading import extract
from thinkcap.grading.equality import decide

MODULES = [
    importlib.import_module(f"thinkcap.grading.{found.name}")
    for found in pkgutil.iter_modules(thinkcap.grading.__path__)
    if found.name != "worker_program"
]
PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, re.Pattern)
}
UNITS = (
    *(
        " ",
        "\n",
        "\t",
        "a",
        "A",
        "1",
        ".",
        ",",
        "$",
        "{",
        "}",
        "(",
        ")",
        "[",
        "\\",
        "*",
        "#",
        "^",
        "-",
        "/",
        "%",
        "'",
    ),
    *(
        "1,",
        "1.",
        "1 ",
        "1,111",
        "1,111,",
        "$1",
        "\\$1",
        "\\$1,111",
        "-1",
        "1/",
        "a1",
        "a ",
        "A ",
        "a.",
        "a. ",
        "1:",
        "1e",
    ),
    *(
        "\\frac",
        "\\frac{1}{",
        "\\text{",
        "\\text{a}",
        "\\boxed{",
        "\\boxed",
        "\\\\",
        "\\[",
        "\\(",
        "\\left",
        "\\pmod",
    ),
    *(
        "\\circ",
        "^{\\circ",
        "\\begin{",
        "\\begin{a}",
        "####",
        "#### ",
        "answer",
        "answer ",
        "answer is ",
        "answer\n",
        "answer*",
    ),
    *(
        "is ",
        "and ",
        "or ",
        ", and ",
        "not ",
        "option ",
        "it is ",
        "the ",
        "a.m",
        "mod 5",
        "1 mod ",
        "<answer>",
        "</s>",
        "<|",
    ),
    *(
        "(A)",
        "Matrix([",
        "²",
        "₁",
        "½",
        "－",
        "\u0120",
        "é",
        "答案",
        "{,}",
        ",\\!",
        "\\!,",
        "1{,}",
        "1,\\!",
        "th",
        "1th",
    ),
)
ANCHORED = {"extraction._HEADING", "extraction._MATH_OPEN", "labels._BARE", "equality._PLAIN"}
"""Tried at one place of a text and nowhere else."""
TIMES = 8
MOST = 40
"""A straight line takes 8 times as long, a square 64 times."""


def _growth(work: Callable[[str], object], unit: str, short: int) -> float:
    """How many times longer eight times the text takes; what is too quick to measure does not grow."""
    growth = 0.0
    # A pause of the machine is not met five times in a row.
    for _ in range(5):
        if (long := _seconds(work, _text(unit, short * TIMES))) < 0.004:
            return 0.0
        if (growth := long / max(_seconds(work, _text(unit, short)), 1e-4)) <= MOST:
            break
    return growth


def _text(unit: str, length: int) -> str:
    return "answer is 1" + unit * (length // len(unit)) + "!"


def _seconds(work: Callable[[str], object], text: str) -> float:
    # Processor time, the best of two: other programs on the machine must not decide this test.
    def once() -> float:
        started = time.process_time()
        work(text)
        return time.process_time() - started

    return min(once(), once())


@pytest.mark.parametrize("name", PATTERNS)
def test_no_pattern_grows_with_the_square(name: str) -> None:
    pattern = PATTERNS[name]

    def search(text: str) -> object:
        return pattern.match(text, 11) if name in ANCHORED else sum(1 for _ in pattern.finditer(text))

    slow = {unit: growth for unit in UNITS if (growth := _growth(search, unit, 100)) > MOST}
    assert slow == {}


@pytest.mark.parametrize("kind", ["number", "math", "label"])
def test_no_text_is_read_in_more_than_a_straight_line(kind: Kind) -> None:
    slow = {unit: growth for unit in UNITS if (growth := _growth(lambda t: extract(t, kind), unit, 1_000)) > MOST}
    assert slow == {}


@pytest.mark.parametrize("kind", ["number", "math", "label"])
def test_no_answer_is_compared_in_more_than_a_straight_line(kind: Kind) -> None:
    slow = {u: g for u in UNITS if (g := _growth(lambda t: decide("(3, 4)", t, kind), u, 200)) > MOST}
    assert slow == {}
