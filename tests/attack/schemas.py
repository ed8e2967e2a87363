"""JSON schemas that hang or fill a gateway without limits, others of their kind, and recursive ones that work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def with_defs(definitions: dict[str, Any], **schema: Any) -> dict[str, Any]:
    return {"$defs": definitions, **schema}


def nest(depth: int, wrap: Callable[[Any], Any]) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(depth):
        schema = wrap(schema)
    return schema


def branching(count: int) -> dict[str, Any]:
    """An object with so many optional members of its own kind."""
    properties = {f"p{at}": ref("a") for at in range(count)}
    return with_defs({"a": {"type": "object", "properties": properties}}, **ref("a"))


def doubling(key: str) -> dict[str, Any]:
    """2^25 parts, if every reference is followed."""
    steps = {f"a{at}": {key: [ref(f"a{at + 1}")] * 2} for at in range(25)}
    return with_defs({**steps, "a25": {"type": "integer"}}, **ref("a0"))


def _items(count: int) -> Callable[[Any], Any]:
    return lambda inner: {"type": "array", "minItems": count, "items": inner}


ENDLESS: dict[str, Any] = {
    "allOf": with_defs({"a": ref("a")}, allOf=[ref("a")]),
    "oneOf": with_defs({"a": ref("a")}, oneOf=[ref("a"), {"type": "string"}]),
    "anyOf": with_defs({"a": {"anyOf": [ref("a"), {"type": "null"}]}}, **ref("a")),
    "$ref to the root": {"$ref": "#"},
    "allOf of the root": {"allOf": [{"$ref": "#"}], "type": "object"},
    "inside": {"type": "object", "properties": {"x": ref("a")}, "$defs": {"a": ref("b"), "b": ref("a")}},
    **{
        f"mutual {key}": with_defs({"a": {key: [ref("b")]}, "b": {key: [ref("a")]}}, **{key: [ref("a")]})
        for key in ("anyOf", "oneOf", "allOf")
    },
    "three in turn": with_defs(
        {"a": {"anyOf": [ref("b")]}, "b": {"allOf": [ref("c")]}, "c": {"oneOf": [ref("a")]}}, **ref("a")
    ),
}
"""References that lead back to themselves and never into a value."""

TOO_LARGE: dict[str, Any] = {
    "minItems": _items(10_000_000)({"type": "integer"}),
    "minLength": {"type": "string", "minLength": 1_000_000_000},
    "minItems that multiply": nest(3, _items(100)),
    "optional": {"type": "object", "properties": {"a": nest(3, _items(100))}},
    "pattern": {"type": "string", "pattern": "^((a{1000}){1000}){1000}$"},
    "properties": {"type": "object", "properties": {f"p{at}": {"type": "integer"} for at in range(20_000)}},
    "enum": {"enum": [f"value {at}" for at in range(100_000)]},
    "long enum": {"enum": [f"{'x' * 1000}{at}" for at in range(2000)]},
    "nested": nest(4, lambda inner: {"type": "object", "properties": {f"k{at}": inner for at in range(12)}}),
    "types": {"type": ["string"] * 100_000},
    "oneOf": {
        "oneOf": [{"type": "object", "properties": {"k": {"const": at}}, "required": ["k"]} for at in range(5000)]
    },
    "long strings": {
        "type": "object",
        "properties": {f"p{at}": {"type": "string", "maxLength": 1000} for at in range(1000)},
    },
    "digits": {"type": "integer", "minimum": 10**4200},
    "depth": nest(400, lambda inner: {"type": "array", "items": inner}),
    "chain": with_defs({**{f"a{at}": ref(f"a{at + 1}") for at in range(5000)}, "a5000": {}}, **ref("a0")),
    **{f"doubling {key}": doubling(key) for key in ("anyOf", "allOf", "prefixItems")},
}
"""More parts, or a longer shortest text, than anyone can want."""

_NODE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": ref("node")}},
    "required": ["value", "children"],
    "additionalProperties": False,
}
_LINK = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "next": {"anyOf": [ref("link"), {"type": "null"}]}},
    "required": ["value", "next"],
    "additionalProperties": False,
}
_INSIDE_ALL_OF = {"type": "object", "properties": {"n": {"type": "integer"}, "x": {"allOf": [ref("a")]}}}
RECURSIVE: dict[str, Any] = {
    "tree": with_defs({"node": _NODE}, **ref("node")),
    "linked list": with_defs({"link": _LINK}, **ref("link")),
    "root": {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "inner": {"$ref": "#"}},
        "required": ["n"],
    },
    "map": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "allOf": with_defs({"a": _INSIDE_ALL_OF}, **ref("a")),
    **{f"{count} branches": branching(count) for count in (4, 10, 40)},
}
"""Schemas of values that hold values of their own kind."""
