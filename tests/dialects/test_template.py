"""A dialect is found by rendering: each template here sets one trap."""

from __future__ import annotations

from functools import cache

import pytest
from cutting import agree_on_any_text
from farther import FIELDS, MARKS, VALUES
from hypothesis import given, settings
from hypothesis import strategies as st
from rarer import RARER
from templates import TEMPLATES
from wished import ARGUMENTS, SURROUNDINGS, WORDS

from thinkcap.core.errors import DataError
from thinkcap.dialects import Dialect, of_template

KINDS = TEMPLATES | RARER | ARGUMENTS | WORDS | SURROUNDINGS | MARKS | FIELDS | VALUES


@cache
def found_in(name: str) -> Dialect:
    return of_template(KINDS[name][0])


@pytest.mark.parametrize("name", KINDS)
def test_template_is_read(name: str) -> None:
    wanted, found = KINDS[name][1], found_in(name)
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.found_by == "template"


@settings(max_examples=400)
@given(st.sampled_from(list(KINDS)), st.data())
def test_whole_and_stream_agree_in_every_dialect_that_was_read(name: str, data: st.DataObject) -> None:
    for dialect in found_in(name).every_level if found_in(name).thinks else ():
        agree_on_any_text(dialect, data)


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


_PLAIN = TEMPLATES["a switch whose off is an empty thought"][0]


@pytest.mark.parametrize(
    "stored",
    [
        "\ufeff" + _PLAIN,
        _PLAIN.encode("utf-8-sig"),
        _PLAIN.replace("\n", "\r\n"),
        [{"name": "tool_use", "template": "{{ messages }}"}, {"name": "default", "template": _PLAIN}],
        {"rag": "{{ messages }}", "default": _PLAIN},
        [{"name": "chat", "template": _PLAIN}],
    ],
    ids=["byte-order mark", "bytes", "line ends of Windows", "several by name", "mapping of names", "one by name"],
)
def test_a_template_is_read_whatever_it_is_stored_in(stored: object) -> None:
    assert of_template(stored) == of_template(_PLAIN)


def test_nothing_stored_is_a_model_that_does_not_think() -> None:
    assert not any(of_template(stored).thinks for stored in (None, "", 5, [], [5], {"default": 3}))


def test_levels_inside_a_mapping_are_sent_beside_what_else_is_in_it() -> None:
    level = {"name": "reasoning.effort", "values": ["low", "high"]}
    dialect = Dialect(thinking="switch", on={"reasoning": {"enabled": True}}, close_tag="</t>", effort=level)
    assert dialect.switches("think", "low") == {"reasoning": {"enabled": True, "effort": "low"}}
    assert dialect.on == {"reasoning": {"enabled": True}}
    flag = Dialect(thinking="always", close_tag="</t>", effort={"name": "low_effort", "values": [True, False]})
    assert flag.switches("think", "False") == {"low_effort": False}


_MANY = " or ".join(f"'word {n}' in messages[0].content" for n in range(300))


@pytest.mark.parametrize(
    "source",
    [
        "{% if " + _MANY + " %}<think>{% endif %}{{ messages[0].content }}",
        "".join("{% if a" + f"{n}.b.c == 'x{n}' " + "%}{{ n }}{% endif %}" for n in range(100)),
        "{% set a = b %}{% set b = a.c %}{% if a.c.d == 'x' %}1{% endif %}{{ messages[0].content }}",
        "{{ x" + ".y" * 300 + " }}{{ messages[0].content }}",
        "{% for i in range(10**9) %}{% endfor %}",
        "{% if think.a == 'x' %}{{ 'a' * 10**9 }}{% endif %}{{ messages[0].content }}",
    ],
    ids=["many words", "many mappings", "names in a circle", "deep keys", "a long loop", "a long text"],
)
def test_a_hostile_template_ends_with_a_dialect_or_in_one_line(source: str) -> None:
    try:
        found: Dialect | str = of_template(source)
    except DataError as err:
        found = str(err)
    assert isinstance(found, Dialect) or "\n" not in found
