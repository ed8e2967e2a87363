"""Whatever the form of a schema allows parses and satisfies the schema, and can be finished from any place."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import Unsupported
from thinkcap.engines.grammar import (
    Chars,
    Either,
    Exactly,
    Form,
    Seq,
    Times,
    complete,
    gbnf,
    lead,
    remainder,
    shortest,
)
from thinkcap.engines.json_patterns import FORMATS
from thinkcap.engines.json_schema import response_form, schema_form, written

ALPHABET = 'aZ09 -_.:/"\\{}[],é木𝄞\n'


def any_text(node: Form, dice: random.Random) -> str:
    if isinstance(node, Exactly):
        return node.value
    if isinstance(node, Chars):
        fitting = [c for c in ALPHABET if node.holds(c)]
        return dice.choice(fitting) if fitting else shortest(node)
    if isinstance(node, Seq):
        return "".join(any_text(part, dice) for part in node.parts)
    if isinstance(node, Either):
        return any_text(dice.choice(node.options), dice)
    assert isinstance(node, Times)
    most = node.at_least + 3 if node.at_most is None else min(node.at_most, node.at_least + 3)
    return "".join(any_text(node.node, dice) for _ in range(dice.randint(node.at_least, most)))


NAMES = st.sampled_from(["answer", "größe", 'a "b"', "n", "x y"])
NUMBERS = st.integers(-1200, 1200) | st.sampled_from([0.5, -0.25, 12.75, 0.001, 99.95])


def bounded(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    def made(low: float, high: float, open_low: bool, open_high: bool, both: int) -> dict[str, Any]:
        low, high = sorted((low, high))
        ends = {("exclusiveMinimum" if open_low else "minimum"): low} if both != 1 else {}
        if both != 2:
            ends[("exclusiveMaximum" if open_high else "maximum")] = high + 2
        return {"type": kind, **ends}

    return st.builds(made, NUMBERS, NUMBERS, st.booleans(), st.booleans(), st.integers(0, 2))


LEAVES = st.one_of(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number"},
            {"type": "boolean"},
            {"type": ["string", "null"]},
            {"type": "string", "minLength": 2, "maxLength": 5},
            {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
            {"type": "string", "pattern": 'a["\\\\]?|^b.c'},
            {"type": "string", "format": "date"},
            {"enum": ["red", 'gr"een', 3, None, {"a": [1]}]},
            {"const": "x\ny"},
            {},
        ]
    ),
    bounded("integer"),
    bounded("number"),
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    def made(properties: dict[str, Any], needed: list[bool], closed: bool) -> dict[str, Any]:
        required = [name for name, need in zip(properties, needed, strict=False) if need]
        found = {"type": "object", "properties": properties, "required": required}
        return {**found, "additionalProperties": False} if closed else found

    return st.builds(
        made, st.dictionaries(NAMES, inner, max_size=4), st.lists(st.booleans(), min_size=4), st.booleans()
    )


def arrays(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    def made(items: dict[str, Any], least: int, more: int | None) -> dict[str, Any]:
        found = {"type": "array", "items": items, "minItems": least}
        return found if more is None else {**found, "maxItems": least + more}

    return st.builds(made, inner, st.integers(0, 3), st.none() | st.integers(0, 2))


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        arrays(inner),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda value: {"type": "object", "additionalProperties": value}, inner),
        st.builds(lambda items: {"type": "array", "prefixItems": items}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)


@settings(max_examples=300)
@given(SCHEMAS, st.integers(0, 10**6))
def test_every_text_of_the_form_parses_satisfies_the_schema_and_can_be_finished(
    schema: dict[str, Any], seed: int
) -> None:
    form = schema_form(schema)
    dice = random.Random(seed)
    text = any_text(form, dice)
    jsonschema_rs.validate(schema, json.loads(text))
    assert complete(form, text)
    json.loads(shortest(form))
    cut = text[: dice.randint(0, len(text))]
    rest = remainder(form, cut)
    end = shortest(rest)
    jsonschema_rs.validate(schema, json.loads(cut + end))
    assert len(end.encode()) == rest.least <= form.tail
    said, after = lead(rest)
    assert (said + shortest(after)).startswith(said)
    assert complete(rest, said + shortest(after))


@given(st.integers(-3000, 3000), st.integers(0, 3000), st.integers(-4000, 7000))
def test_an_integer_is_written_exactly_when_it_is_within_its_bounds(low: int, width: int, value: int) -> None:
    form = schema_form({"type": "integer", "minimum": low, "maximum": low + width})
    assert complete(form, str(value)) == (low <= value <= low + width)


@given(NUMBERS, st.integers(0, 40), st.decimals(-50, 50, places=2))
def test_a_number_is_written_exactly_when_it_is_within_its_bounds(low: float, width: int, value: Any) -> None:
    form = schema_form({"type": "number", "minimum": low, "exclusiveMaximum": low + width + 1})
    if value == 0:
        value = abs(value)
    assert complete(form, str(value)) == (low <= float(value) < low + width + 1)


@pytest.mark.parametrize(
    "expression", ["^[a-z]+$", "x", "^(a|bc)*d?$", r"^\d{2,3}\.\w$", "[^a-y]", "^a{2,}|z$", r"^[\s_-]$", r"\S\S"]
)
@given(text=st.text(st.sampled_from("abcdxyz0129. _-"), max_size=6))
def test_a_pattern_allows_what_the_regular_expression_finds(expression: str, text: str) -> None:
    form = schema_form({"type": "string", "pattern": expression})
    assert complete(form, written(text)) == bool(re.search(expression, text))


def test_blanks_are_bounded() -> None:
    form = schema_form({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    assert complete(form, '{"n": 1}')
    assert not complete(form, '{"n":  1}')
    assert remainder(form, "{ ").least == float("inf")
    assert remainder(form, '{"n":\n').least == float("inf")


def test_references_definitions_and_one_of_apart() -> None:
    tree = {
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "next": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]},
                },
                "required": ["n", "next"],
            }
        },
        "$ref": "#/$defs/tree",
    }
    form = schema_form(tree)
    assert complete(form, '{"n":1,"next":{"n":2,"next":null}}')
    assert shortest(form) == '{"n":0,"next":null}'
    pets = [
        {"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]}
        for kind in ("cat", "dog")
    ]
    assert complete(schema_form({"oneOf": pets}), '{"kind":"dog"}')
    both = {"allOf": [{"$ref": "#/$defs/tree"}], "$defs": tree["$defs"], "description": "as pydantic writes it"}
    assert complete(schema_form(both), '{"n":1,"next":null}')


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array", "items": {}, "uniqueItems": True}, r"'uniqueItems' at \$"),
        ({"type": "object", "properties": {"a": {"not": {}}}}, r"'not' at \$.a"),
        ({"type": "object", "minProperties": 2}, "'minProperties'"),
        ({"type": "integer", "multipleOf": 5}, "'multipleOf'"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "'oneOf'"),
        ({"$ref": "https://example.com/schema"}, "only references into itself"),
        ({"$ref": "#/$defs/lost"}, "no such part"),
        ({"type": "strin"}, "did you mean 'string'"),
        ({"type": "string", "format": "hostname"}, "format 'hostname'"),
        ({"type": "string", "pattern": "(?=a)b"}, r"has '\(\?='"),
        ({"type": "string", "minLength": -1}, "whole number from 0"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "allows no value"),
        ({"type": "array", "maxItems": "3"}, "'maxItems' of the JSON schema"),
        ({"anyOf": []}, "a list of schemas"),
        ({"type": "object", "properties": {"a": 3}}, "a int at"),
    ],
)
def test_what_cannot_be_held_to_is_refused_by_name(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        schema_form(schema)


def test_a_schema_that_grows_without_end_is_refused() -> None:
    one = {"type": "array", "prefixItems": [{"$ref": "#/$defs/a"}] * 9}
    with pytest.raises(Unsupported, match="too large"):
        schema_form(
            {
                "$defs": {
                    "a": {"type": "array", "prefixItems": [{"$ref": "#/$defs/b"}] * 99},
                    "b": {"type": "array", "prefixItems": [{"$ref": "#/$defs/c"}] * 99},
                    "c": one,
                },
                **one,
            }
        )


def test_response_formats() -> None:
    form = response_form({"type": "json_object"})
    assert form is not None
    assert complete(form, '{"a": [1, {"b": null}], "c": "d"}')
    assert not complete(form, "[1]")
    assert response_form({"type": "text"}) is None
    with pytest.raises(Unsupported, match="holds no schema"):
        response_form({"type": "json_schema"})
    with pytest.raises(Unsupported, match="did you mean 'json_object'"):
        response_form({"type": "json_objekt"})


@pytest.mark.parametrize("name", FORMATS)
@given(seed=st.integers(0, 10**6))
def test_formats_are_what_their_names_say(name: str, seed: int) -> None:
    from pydantic import TypeAdapter

    kinds = {"date": "date", "time": "time", "date-time": "datetime"}
    text = any_text(FORMATS[name], random.Random(seed))
    if name in kinds:
        import datetime

        TypeAdapter(getattr(datetime, kinds[name])).validate_json(json.dumps(text))
    else:
        assert re.fullmatch(r"[!-~]+", text)


def test_the_grammar_as_servers_read_it() -> None:
    form = schema_form({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99}, "maxItems": 3})
    assert gbnf(form).splitlines()[0] == 'root ::= "[" r0 "]"'
    assert gbnf(schema_form({"enum": ['a"b', "c\\n"]})) == r'root ::= "\"a\\\"b\"" | "\"c\\\\n\""'
