"""What a draft says goes where the schema asks for it, and never anywhere it does not fit."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_json_schema import SCHEMAS

from thinkcap.engines.grammar import shortest
from thinkcap.engines.json_schema import schema_form
from thinkcap.gateway.answering.json_draft import Draft, narrowed, settled, value_of

NUMBER = Draft("12+7=19\n#### 19")
LABEL = Draft("A B C\nThe answer is (B).", "Who has it?\nOptions:\n(A) The Iliad\n(B) Middlemarch\n(C) Emma")
TRUTH = Draft("The answer is False.")


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("draft", "schema", "wanted"),
    [
        (NUMBER, of(n={"type": "integer"}), {"n": 19}),
        (NUMBER, of(n={"type": ["number", "null"]}), {"n": 19}),
        (NUMBER, of(n={"anyOf": [{"type": "integer"}, {"type": "null"}]}), {"n": 19}),
        (NUMBER, of(n={"type": "string"}), {"n": "19"}),
        (NUMBER, of(n={"enum": ["17", "19"]}), {"n": "19"}),
        (NUMBER, of(n={"enum": [17, 19]}), {"n": 19}),
        (NUMBER, of(n={"type": "integer", "maximum": 15}), {"n": 7}),
        (NUMBER, of(steps={"type": "array", "items": {"type": "string"}}), {"steps": ["12+7=19"]}),
        (NUMBER, of(explanation={"type": "string"}, n={"type": "integer"}), {"explanation": "12+7=19", "n": 19}),
        (NUMBER, of(a=of(b=of(c={"type": "integer"}))), {"a": {"b": {"c": 19}}}),
        (NUMBER, {"$ref": "#/$defs/n", "$defs": {"n": of(n={"type": "integer"})}}, {"n": 19}),
        (
            NUMBER,
            {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "boolean"}}},
            {"n": 19},
        ),
        (NUMBER, of(n={"type": "array", "items": {"type": "integer"}}), {"n": [19]}),
        (NUMBER, of(n={"type": "array", "items": {"type": "integer"}, "minItems": 3}), {"n": [12, 7, 19]}),
        (LABEL, of(n={"type": "string"}), {"n": "B"}),
        (LABEL, of(n={"enum": ["A", "B", "C"]}), {"n": "B"}),
        (LABEL, of(n={"enum": ["The Iliad", "Middlemarch"]}), {"n": "Middlemarch"}),
        (TRUTH, of(n={"type": "boolean"}), {"n": False}),
        (TRUTH, of(n={"enum": ["true", "false"]}), {"n": "false"}),
        (Draft("It is a red car."), of(n={"enum": ["green", "red"]}), {"n": "red"}),
        (Draft("Paris"), of(n={"type": "string"}), {"n": "Paris"}),
    ],
)
def test_what_a_draft_says_fills_the_schema(draft: Draft, schema: dict[str, Any], wanted: Any) -> None:
    found = narrowed(schema, draft)
    assert settled(found)
    assert value_of(found) == wanted
    jsonschema_rs.validate(schema, wanted)


def test_what_the_draft_does_not_say_is_left_to_the_model() -> None:
    schema = of(colour={"enum": ["green", "red"]}, n={"type": "integer"})
    found = narrowed(schema, NUMBER)
    assert not settled(found)
    assert found["properties"] == {"colour": {"enum": ["green", "red"]}, "n": {"const": 19}}


def test_less_working_is_told_where_there_is_less_room() -> None:
    schema = of(steps={"type": "array", "items": {"type": "string"}})
    text = "1+1=2\n2+2=4\n4+4=8\n#### 8"
    told = [value_of(narrowed(schema, Draft(text, lines_kept=n)))["steps"] for n in (None, 2, 1, 0)]
    assert told == [["1+1=2", "2+2=4", "4+4=8"], ["2+2=4", "4+4=8"], ["4+4=8"], []]
    reason = of(reason={"anyOf": [{"type": "string"}, {"type": "null"}]})
    told = [value_of(narrowed(reason, Draft(text, lines_kept=n)))["reason"] for n in (1, 0)]
    assert told == ["4+4=8", ""]


@settings(max_examples=150)
@given(SCHEMAS, st.sampled_from([NUMBER, LABEL, TRUTH, Draft("08/02/1916 -0.5\n007")]))
def test_whatever_fits_the_narrowed_schema_fits_the_schema(schema: dict[str, Any], draft: Draft) -> None:
    found = narrowed(schema, draft)
    jsonschema_rs.validate(schema, json.loads(shortest(schema_form(found))))
    if settled(found):
        jsonschema_rs.validate(schema, value_of(found))
