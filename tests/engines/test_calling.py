"""Calls that the caller forces: the JSON they are held to, and what is read out of it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from thinkcap.core.engine import Output
from thinkcap.core.types import Question, Request
from thinkcap.engines.calling import forced_calls, forced_schema, forcibly_called, held_to

NAMED = {"type": "function", "function": {"name": "price"}}
CALL = {"name": "stock", "arguments": {"fruit": "apples"}}


def tool(name: str, **more: Any) -> dict[str, Any]:
    fruit = {"type": "object", "properties": {"fruit": {"enum": ["apples", "pears"]}}, "required": ["fruit"]}
    return {"type": "function", "function": {"name": name, "parameters": fruit, **more}}


def forcing(choice: Any, **options: Any) -> Request:
    tools = (tool("stock"), tool("price"))
    asked = Question(
        "q", ({"role": "user", "content": "?"},), tools=tools, options={"tool_choice": choice, **options}
    )
    return Request(asked, "nothink", 64, stage="answer", final=True)


@pytest.mark.parametrize("choice", [None, "auto", "none"])
def test_nothing_is_forced_where_the_model_may_choose(choice: Any) -> None:
    assert forced_schema(forcing(choice)) is None
    assert forced_calls(choice, json.dumps([CALL])) == []


@pytest.mark.parametrize("word", ["arguments", "parameters"])
def test_a_required_call_is_a_list_of_calls_by_name(word: str) -> None:
    schema = forced_schema(forcing("required"), word)
    several = [{"name": name, word: {"fruit": "pears"}} for name in ("stock", "price")]
    jsonschema_rs.validate(schema, several)
    for wrong in (
        [],
        [{"name": "other", word: {"fruit": "pears"}}],
        [{"name": "stock", word: {"fruit": "plums"}}],
    ):
        with pytest.raises(jsonschema_rs.ValidationError):
            jsonschema_rs.validate(schema, wrong)
    found = forced_calls("required", json.dumps(several), word)
    assert [call["function"]["name"] for call in found] == ["stock", "price"]
    assert all(json.loads(call["function"]["arguments"]) == {"fruit": "pears"} for call in found)
    assert len({call["id"] for call in found}) == 2


def test_one_call_alone_where_the_caller_wants_no_more() -> None:
    schema = forced_schema(forcing("required", parallel_tool_calls=False))
    jsonschema_rs.validate(schema, [CALL])
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(schema, [CALL, CALL])


def test_a_tool_by_its_name_is_held_to_its_arguments_alone() -> None:
    schema = forced_schema(forcing(NAMED))
    jsonschema_rs.validate(schema, {"fruit": "pears"})
    (call,) = forced_calls(NAMED, '{"fruit": "pears"}<|im_end|>')
    assert call["function"] == {"name": "price", "arguments": '{"fruit": "pears"}'}


@pytest.mark.parametrize(
    "text", ["", '[{"name": "stock", "argu', "words", '{"name": "stock"}', '[{"name": "stock"}]']
)
def test_what_is_no_whole_call_stays_the_text_it_is(text: str) -> None:
    assert forced_calls("required", text) == []
    output = forcibly_called(Output(text, False, 9, extras={"over_limit": 1}), "required")
    assert (output.text, output.answer, output.extras) == (text, text, {"over_limit": 1})


def test_calls_leave_no_words_for_a_reader() -> None:
    output = forcibly_called(Output(json.dumps([CALL]), True, 9, ids=(1, 2)), "required")
    assert (output.text, output.answer, output.ids, output.tokens) == ("", "", None, 9)
    assert [call["function"]["name"] for call in output.extras["tool_calls"]] == ["stock"]


def test_a_schema_our_grammar_does_not_know_is_left_to_the_server() -> None:
    assert "grammar" in held_to({"type": "integer"}, "json")
    odd = {"type": "object", "patternProperties": {"^x": {"type": "string"}}}
    assert held_to(odd, "json_schema") == {"json_schema": odd}
