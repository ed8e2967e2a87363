"""A dialect is found by rendering: each template here sets one trap."""

from __future__ import annotations

import pytest
from rarer import RARER
from templates import TEMPLATES

from thinkcap.core.errors import DataError
from thinkcap.dialects import Dialect, of_template

KINDS = TEMPLATES | RARER


@pytest.mark.parametrize("name", KINDS)
def test_template_is_read(name: str) -> None:
    source, wanted = KINDS[name]
    found = of_template(source)
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.found_by == "template"


def test_a_broken_template_is_one_line() -> None:
    with pytest.raises(DataError, match="cannot be parsed"):
        of_template("{% if %}")


def read(name: str) -> Dialect:
    return of_template(RARER[name][0])


def test_a_thought_behind_a_call_header_is_a_thought() -> None:
    dialect = read("turns of several messages, a call among them")
    two = "<|kind_thinking|>One.<|end|><|msg|><|kind_thinking|>Two.<|end|><|msg|><|kind_text|>Five.<|end|>"
    assert dialect.split(two) == ("One.\nTwo.", "Five.")
    thought, answer, calls = dialect.parts("<|kind_thinking|>Look.<|end|><|msg|>weather<|kind_call|>{}<|end|>")
    assert (thought, answer, calls) == ("Look.", None, "<|msg|>weather<|kind_call|>{}<|end|>")


def test_markup_behind_the_answer_is_no_answer() -> None:
    dialect = read("a call behind an answer without words")
    text = "Hm.<|close|>think<|sep|><|open|>say<|sep|>5<|close|>say<|sep|><|close|>assistant<|sep|>"
    assert dialect.split(text, opened=True) == ("Hm.", "5")


def test_all_before_the_answers_mark_is_thought() -> None:
    dialect = read("a request that marks only the answer")
    assert dialect.split("Two and three.\n[BEGIN FINAL ANSWER]\n5\n[END FINAL ANSWER]") == ("Two and three.", "5")
    assert dialect.split("Two and") == ("Two and", None)
