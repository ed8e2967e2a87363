"""Schemas without an end or a measure are errors that name the problem; recursive ones yield valid JSON."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.validators import Draft7Validator
from schemas import ENDLESS, RECURSIVE, TOO_LARGE, branching, nest
from test_json_schema import any_text

from thinkcap.core.errors import Unsupported
from thinkcap.engines.calling import held_to
from thinkcap.engines.grammar import Form, complete, gbnf, longest, remainder, shortest, within
from thinkcap.engines.json_limits import MOST_BYTES
from thinkcap.engines.json_schema import relaxed_form, schema_form
from thinkcap.gateway.answering.json_answers import Held
from thinkcap.gateway.answering.json_draft import Draft, narrowed

METASCHEMA = Draft7Validator.META_SCHEMA
pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("name", ENDLESS)
def test_references_without_end_are_refused_with_the_cycle(name: str) -> None:
    for compile_schema in (schema_form, lambda schema: held_to(schema, "json")):
        with pytest.raises(Unsupported, match=r"refers to itself without end at .*#.* -> #.*let a property"):
            compile_schema(ENDLESS[name])


@pytest.mark.parametrize("name", TOO_LARGE)
def test_schemas_that_are_too_large_are_refused_by_place_and_measure(name: str) -> None:
    for compile_schema in (schema_form, lambda schema: held_to(schema, "json")):
        with pytest.raises(
            Unsupported, match=r"too large at|at least \d+ bytes|at most 1000|digits|too deeply"
        ) as err:
            compile_schema(TOO_LARGE[name])
        assert len(str(err.value)) < 1000


@cache
def recursive_form(name: str) -> Form:
    return schema_form(RECURSIVE[name])


@pytest.mark.parametrize("name", RECURSIVE)
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_recursive_schemas_yield_valid_json(name: str, seed: int) -> None:
    form = recursive_form(name)
    dice = random.Random(seed)
    text = any_text(form, dice)
    jsonschema_rs.validate(RECURSIVE[name], json.loads(text))
    begun = text[: dice.randint(0, len(text))]
    jsonschema_rs.validate(RECURSIVE[name], json.loads(begun + shortest(remainder(form, begun))))


@pytest.mark.parametrize("name", RECURSIVE)
def test_a_recursive_schema_is_narrowed_to_itself_or_less(name: str) -> None:
    found = narrowed(RECURSIVE[name], Draft("12+7=19\n#### 19"))
    form = Held(recursive_form(name), RECURSIVE[name], True, 0, "").narrowed_form(found)
    for seed in range(20):
        jsonschema_rs.validate(RECURSIVE[name], json.loads(any_text(form, random.Random(seed))))


def test_the_metaschema_is_followed_but_for_what_no_grammar_expresses() -> None:
    form, incomplete = relaxed_form(METASCHEMA)
    assert not incomplete
    for seed in range(200):
        found = json.loads(any_text(form, random.Random(seed)))
        errors = [error.validator for error in Draft7Validator(METASCHEMA).iter_errors(found)]
        assert set(errors) <= {"uniqueItems", "anyOf"}, errors
    with pytest.raises(Unsupported, match=r"'(uniqueItems|propertyNames)'|format"):
        schema_form(METASCHEMA)


def test_a_tree_with_more_branches_is_less_deep() -> None:
    def depth(count: int) -> int:
        form = schema_form(branching(count))
        return next(n for n in range(9, -1, -1) if complete(form, '{"p0":' * n + "{}" + "}" * n))

    assert [depth(4), depth(30), depth(400)] == [2, 1, 0]


def test_what_repeats_is_bounded_in_bytes() -> None:
    many = {"type": "array", "minItems": 1000, "items": {"type": "integer"}}
    assert schema_form(many).tail < MOST_BYTES
    assert len(json.loads(shortest(schema_form(many)))) == 1000


def test_many_optional_members_take_no_longer_than_there_are() -> None:
    schema = {"type": "object", "properties": {f"p{at}": {"type": "integer"} for at in range(400)}}
    form = schema_form(schema)
    assert longest(form) > 400
    assert len(gbnf(form)) < 400 * 400
    rest = remainder(form, '{"p3": 7, "p200": 1')
    assert json.loads('{"p3": 7, "p200": 1' + shortest(rest)) == {"p3": 7, "p200": 1}
    assert longest(within(rest, 50)) <= 50
    needed = schema_form({**schema, "required": list(schema["properties"])})
    assert len(json.loads(shortest(needed))) == 400


def test_what_is_written_inside_itself_twice_is_written_once_in_the_grammar() -> None:
    arrays = nest(25, lambda inner: {"type": "array", "minItems": 1, "items": inner})
    assert len(gbnf(schema_form(arrays))) < 5000
    assert longest(schema_form(arrays)) == float("inf")


def test_ambiguous_options_do_not_multiply_with_the_text() -> None:
    options: list[Any] = [{"type": "integer"}, {"type": "number"}, {"type": "integer", "minimum": 0}]
    form = schema_form({"type": "array", "items": {"anyOf": options}})
    text = json.dumps(list(range(200)))
    assert complete(form, text)
    assert shortest(remainder(form, text[:-1])) == "]"
