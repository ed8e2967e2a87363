"""Whole outputs in the manners models have, written for this test: what is read, and whether it is right."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from thinkcap import equal, extract
from thinkcap.core.types import Kind

ROOT = Path(__file__).parents[2]

FINISHED: list[tuple[Kind, str, str, bool]] = [
    ("number", "36", "Each crate holds 12 pears, so 3 crates hold 3 * 12 = 36 pears.\n#### 36", True),
    ("number", "36", "3 crates of 12 pears are 36 pears. One is eaten, which leaves 35.\n#### 35", False),
    ("number", "36", "**Step 1:** 12 per crate.\n**Step 2:** 3 crates.\n\n**Final Answer: 36 pears**", True),
    ("number", "36", "<think>\n12*3 is 36. Or 38? No, 36.\n</think>\n\nShe has **36** pears.", True),
    ("number", "36", "<think>maybe \\boxed{36}</think>\nThe answer is 38.", False),
    ("number", "1200", "The total comes to $1,200.00 for the year.", True),
    ("number", "1200", "He pays $100 x 12 = $1200\nA: 1200", True),
    ("number", "8", "He walks 5 km on Monday and 3 km on Tuesday, 8 km in all, not 9.", False),
    ("math", "\\frac{3}{8}", "We get $\\frac{6}{16} = \\frac{3}{8}$.\n\n\\[\\boxed{\\frac{3}{8}}\\]", True),
    ("math", "\\frac{3}{8}", "so the probability is $\\boxed{0.375}$", True),
    ("math", "\\frac{3}{8}", "so the probability is $\\boxed{\\frac{8}{3}}$", False),
    ("math", "2, 5", "The roots are $\\boxed{2}$ and $\\boxed{5}$.", True),
    ("math", "2, 5", "The only root is $\\boxed{5}$.", False),
    ("math", "(4, -1)", "<think>two lines</think>They meet at the point $(4, -1)$.", True),
    ("math", "[2, 6)", "Final Answer: The final answer is $2 \\le x < 6$. I hope it is correct.", True),
    ("math", "x^2 + 1", "Hence $f(x) = 1 + x^2$.", True),
    ("math", "\\text{ellipse}", "<think>not a circle</think>Ellipse", True),
    ("math", "12\\pi", "The circumference is 12π.", True),
    ("label", "(B)", "Option (A) is too early and (C) too late. So the answer is (B).", True),
    ("label", "(B)", "<think>(B)? or (C)?</think>\n**(C)** 03/04/2019", False),
    ("label", "False", "not ( True ) is False, and False and True is False. So the answer is False.", True),
    ("label", "Yes", "He meant to, and he did. So the answer is Yes.", True),
    ("label", "No", "So the answer is Yes.", False),
]
CUT: list[tuple[Kind, str, str]] = [
    ("number", "36", "<think>\n12 * 3 = 36, so the answer is 36. But wait, let me check whether"),
    ("math", "5", "<think>\\boxed{5} is what I get, now verify that"),
    ("label", "(B)", "<think>The answer is (B)."),
]


@pytest.mark.parametrize(("kind", "gold", "output", "right"), FINISHED)
def test_finished_outputs(kind: Kind, gold: str, output: str, right: bool) -> None:
    found = extract(output, kind)
    assert equal(gold, found.answer, kind) is right
    if right:
        assert equal(gold, output, kind)


@pytest.mark.parametrize(("kind", "gold", "output"), CUT)
def test_open_thoughts_are_never_right_unless_guessed(kind: Kind, gold: str, output: str) -> None:
    assert extract(output, kind) == (None, 0)
    assert extract(output, kind).weak
    assert not equal(gold, output, kind)
    assert equal(gold, extract(output, kind, unclosed=True).answer, kind)


def test_cut_outputs_are_weak_and_finished_ones_are_not() -> None:
    steps = "First we add 12 and 30 to get 42. Then we take away 6, which leaves"
    assert extract(steps, "math").weak
    assert extract("The answer is 36, since we can check it step by step: " + "and again " * 60, "math").weak
    assert not extract(steps + " 36. \\boxed{36}", "math").weak


def test_disagreements_are_given_reasons(tmp_path: Path) -> None:
    bench = runpy.run_path(str(ROOT / "bench/grading_disagreements.py"))
    reason = bench["reason"]
    assert reason("1/2", "0.5", 1, "0.5", True) == "upstream equality"
    assert reason("1/2", "0.5", 1, "7", True) == "upstream extraction"
    assert reason("1/2", "0.51", 1, "0.51", False) == "upstream generosity"
    assert reason("1/2", "7", 4, "1/2", False) == "no statement"
    assert reason("1/2", "7", 1, "1/2", False) == "our extraction"
    (tmp_path / "traces").mkdir()
    for name in bench["FILES"]:
        line = (
            '{"gold": "1/2", "output": "so \\\\boxed{0.5}", "upstream_correct": false, '
            '"upstream_extracted": "0.5", "item": 3, "model": "m"}\n'
        )
        (tmp_path / "traces" / f"{name}.jsonl").write_text(line)
    page = bench["page"](tmp_path)
    assert page.count("0 of 1 verdicts agree; {'upstream equality': 1}") == 3
