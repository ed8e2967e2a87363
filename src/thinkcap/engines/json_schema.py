"""A JSON schema as the form of the texts that satisfy it; what cannot be enforced is refused by name.

Servers' own grammars allow blanks without end between the parts of an object, and a small model writes them until
its cap. Here one blank may follow a colon or a comma. Optional properties may be left out, properties the schema
does not name are never written, and references that lead back to themselves go a few levels deep.

    >>> from thinkcap.engines.grammar import gbnf
    >>> print(gbnf(schema_form({"enum": ["red", "green"]})))
    root ::= "\\"red\\"" | "\\"green\\""
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from thinkcap.core.errors import Unsupported
from thinkcap.core.names import nearest
from thinkcap.engines.grammar import NEVER, Exactly, Form, Seq, Times, either
from thinkcap.engines.json_numbers import integers, numbers
from thinkcap.engines.json_patterns import FORMATS, pattern
from thinkcap.engines.json_shapes import (
    ANY_DEPTH,
    BOOLEAN,
    CHARACTER,
    COLON,
    MOST_REPEATS,
    NULL,
    any_value,
    entries_of,
    few,
    list_of,
    members_of,
)

_REF_DEPTH = 3
"""Times a reference may lead back to itself."""
_MOST_NODES = 20_000

_ANNOTATIONS = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
        "discriminator",
    }
    | {"$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "contentMediaType", "contentEncoding"}
)
_OF_TYPE: Mapping[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "boolean": frozenset(),
    "null": frozenset(),
}
_ANYWHERE = frozenset({"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "nullable"})
_KNOWN = _ANYWHERE.union(_ANNOTATIONS, *_OF_TYPE.values())


def response_form(wanted: Mapping[str, Any]) -> Form | None:
    """The form an OpenAI `response_format` asks for; None where it asks for none."""
    kind = wanted.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        # Not an empty one, which would say nothing.
        return entries_of(any_value(ANY_DEPTH - 1), at_least_one=True)
    if kind == "json_schema":
        inner = wanted.get("json_schema")
        schema = inner.get("schema") if isinstance(inner, Mapping) else None
        if isinstance(schema, Mapping | bool):
            return schema_form(schema)
        raise Unsupported("response_format 'json_schema' holds no schema; wanted json_schema.schema")
    hint = nearest(str(kind), ["json_object", "json_schema", "text"])
    raise Unsupported(f"unknown response_format '{kind}'{hint}")


def schema_form(schema: Mapping[str, Any] | bool) -> Form:
    """The form of the texts a schema allows, or an error that names what cannot be held to."""
    try:
        found = _Reader(schema).form(schema, "$", ())
    except RecursionError:
        raise Unsupported("the JSON schema is nested too deeply; flatten it") from None
    if found.least == inf:
        raise Unsupported("the JSON schema allows no value at all; check its references, enums and bounds")
    return found


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass
class _Reader:
    """One schema; `form` is called for every part of it, `where` says which."""

    root: Mapping[str, Any] | bool
    nodes: int = 0

    def form(self, schema: Any, where: str, refs: tuple[str, ...]) -> Form:
        self.nodes += 1
        if self.nodes > _MOST_NODES:
            raise Unsupported(
                f"the JSON schema is too large: more than {_MOST_NODES} parts when references are followed"
            )
        if schema is True or schema == {}:
            return any_value(ANY_DEPTH)
        if schema is False:
            return NEVER
        if not isinstance(schema, Mapping):
            raise Unsupported(f"the JSON schema has a {type(schema).__name__} at {where}; wanted an object")
        self._check(schema, where)
        if "$ref" in schema:
            return self._referred(schema, where, refs)
        if "allOf" in schema:
            return self.form(self._merged(schema, where), where, refs)
        found = self._plain(schema, where, refs)
        return either((found, NULL)) if schema.get("nullable") is True else found

    def _plain(self, schema: Mapping[str, Any], where: str, refs: tuple[str, ...]) -> Form:
        for name in ("enum", "const"):
            if name in schema:
                return self._given(schema, name, where, refs)
        for name in ("anyOf", "oneOf"):
            if name in schema:
                return self._options(schema, name, where, refs)
        kinds = schema.get("type") or _implied(schema)
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not kinds:
            return any_value(ANY_DEPTH)
        makers: Mapping[str, Callable[[], Form]] = {
            "object": lambda: self._object(schema, where, refs),
            "array": lambda: self._array(schema, where, refs),
            "string": lambda: _string(schema, where),
            "integer": lambda: integers(*_bounds(schema, where)),
            "number": lambda: numbers(*_bounds(schema, where)),
            "boolean": lambda: BOOLEAN,
            "null": lambda: NULL,
        }
        if not isinstance(kinds, Sequence) or not all(isinstance(kind, str) for kind in kinds):
            raise _odd("type", kinds, where, "a name or a list of names")
        for kind in kinds:
            if kind not in makers:
                raise Unsupported(f"unknown type '{kind}' in the JSON schema at {where}{nearest(kind, makers)}")
        # An integer is a number: with both, the second would only repeat the first.
        return either(makers[kind]() for kind in kinds if not (kind == "integer" and "number" in kinds))

    def _check(self, schema: Mapping[str, Any], where: str) -> None:
        for name in schema:
            if name not in _KNOWN and not str(name).startswith("x-"):
                raise _cannot(f"keyword '{name}'", where)

    def _given(self, schema: Mapping[str, Any], name: str, where: str, refs: tuple[str, ...]) -> Form:
        values = [schema["const"]] if name == "const" else schema["enum"]
        if not isinstance(values, Sequence) or isinstance(values, str) or not values:
            raise _odd(name, values, where, "a list of values")
        rest = {k: v for k, v in schema.items() if k not in ("enum", "const", "nullable")}
        texts = list(dict.fromkeys(map(written, values)))
        if name == "enum" and "const" in schema:
            texts = [text for text in texts if text == written(schema["const"])]
        if rest.keys() & _KNOWN - _ANNOTATIONS - {"type"}:
            raise _cannot(f"'{name}' beside {sorted(rest.keys() - _ANNOTATIONS - {'type'})[0]!r}", where)
        if "type" in rest:
            kinds = [rest["type"]] if isinstance(rest["type"], str) else rest["type"]
            texts = [text for text in texts if any(_is(kind, json.loads(text)) for kind in kinds)]
        return either(map(Exactly, texts))

    def _options(self, schema: Mapping[str, Any], name: str, where: str, refs: tuple[str, ...]) -> Form:
        beside = sorted(schema.keys() & _KNOWN - _ANNOTATIONS - {name, "nullable"})
        if beside:
            raise _cannot(f"'{name}' beside '{beside[0]}'", where)
        options = schema[name]
        if not isinstance(options, Sequence) or isinstance(options, str) or not options:
            raise _odd(name, options, where, "a list of schemas")
        if name == "oneOf" and not self._apart(options):
            raise _cannot("'oneOf' of schemas that one value may satisfy together (use anyOf)", where)
        return either(self.form(option, f"{where}.{name}[{at}]", refs) for at, option in enumerate(options))

    def _apart(self, options: Sequence[Any]) -> bool:
        """No value is of two of these: they differ in type, or in what one of their required properties is."""
        marks = [self._marks(option) for option in options]
        return all(
            any(not (first[key] & second[key]) for key in first.keys() & second.keys())
            for at, first in enumerate(marks)
            for second in marks[:at]
        )

    def _marks(self, option: Any) -> dict[str, frozenset[str]]:
        while isinstance(option, Mapping) and "$ref" in option:
            option = self._target(option["$ref"], "$")
        if not isinstance(option, Mapping):
            return {}
        kind = option.get("type")
        found = {"": frozenset({"number" if kind == "integer" else kind})} if isinstance(kind, str) else {}
        for key, inner in (option.get("properties") or {}).items():
            if key in (option.get("required") or ()) and isinstance(inner, Mapping):
                values = [inner["const"]] if "const" in inner else inner.get("enum")
                if values:
                    found[key] = frozenset(map(written, values))
        return found

    def _referred(self, schema: Mapping[str, Any], where: str, refs: tuple[str, ...]) -> Form:
        ref = schema["$ref"]
        beside = sorted(schema.keys() & _KNOWN - _ANNOTATIONS - {"$ref", "nullable"})
        if beside:
            raise _cannot(f"'$ref' beside '{beside[0]}'", where)
        if refs.count(ref) >= _REF_DEPTH:
            return NEVER
        found = self.form(self._target(ref, where), str(ref), (*refs, ref))
        return either((found, NULL)) if schema.get("nullable") is True else found

    def _target(self, ref: Any, where: str) -> Any:
        if not isinstance(ref, str) or not ref.startswith("#"):
            raise Unsupported(
                f"the JSON schema refers to {ref!r} at {where}; only references into itself ('#/...') work"
            )
        found: Any = self.root
        for step in ref.removeprefix("#").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or step not in found:
                raise Unsupported(f"the JSON schema refers to '{ref}' at {where}, and there is no such part in it")
            found = found[step]
        return found

    def _merged(self, schema: Mapping[str, Any], where: str) -> Mapping[str, Any]:
        """`allOf` of parts that do not speak of the same thing; objects' properties add up."""
        whole: dict[str, Any] = {k: v for k, v in schema.items() if k != "allOf"}
        for part in schema["allOf"] if isinstance(schema["allOf"], Sequence) else ():
            while isinstance(part, Mapping) and part.keys() - _ANNOTATIONS == {"$ref"}:
                part = self._target(part["$ref"], where)
            if not isinstance(part, Mapping):
                raise _odd("allOf", part, where, "a list of schemas")
            for key, value in part.items():
                if key not in whole or key in _ANNOTATIONS or whole[key] == value:
                    whole[key] = value
                elif key == "properties" and not whole[key].keys() & value.keys():
                    whole[key] = {**whole[key], **value}
                elif key == "required":
                    whole[key] = [*whole[key], *value]
                else:
                    raise _cannot(f"'allOf' of parts that differ in '{key}'", where)
        return whole

    def _object(self, schema: Mapping[str, Any], where: str, refs: tuple[str, ...]) -> Form:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        more = schema.get("additionalProperties", True)
        if not isinstance(properties, Mapping):
            raise _odd("properties", properties, where, "an object of schemas")
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise _odd("required", required, where, "a list of names")
        unnamed = [name for name in required if name not in properties]
        if unnamed and more is not False:
            properties = {**properties, **dict.fromkeys(unnamed, more)}
        elif unnamed:
            return NEVER
        if not properties:
            if more is False:
                return Exactly("{}")
            if more is True:
                return entries_of(any_value(ANY_DEPTH - 1))
            return entries_of(self.form(more, f"{where}.additionalProperties", refs))
        members = [
            (
                Seq((Exactly(written(name)), COLON, self.form(inner, f"{where}.{name}", refs))),
                name in required,
            )
            for name, inner in properties.items()
        ]
        return Seq((Exactly("{"), members_of(members), Exactly("}")))

    def _array(self, schema: Mapping[str, Any], where: str, refs: tuple[str, ...]) -> Form:
        least, most = _count(schema, "minItems", where) or 0, _count(schema, "maxItems", where)
        first = [
            self.form(inner, f"{where}.prefixItems[{at}]", refs)
            for at, inner in enumerate(schema.get("prefixItems") or ())
        ]
        # Python's tuples: what follows the named items is not forbidden there, and never wanted.
        rest = schema.get("items", not first)
        item = NEVER if rest is False else self.form(rest, f"{where}.items", refs)
        return list_of(first, item, least, most)


def _string(schema: Mapping[str, Any], where: str) -> Form:
    least, most = _count(schema, "minLength", where) or 0, _count(schema, "maxLength", where)
    if "pattern" in schema or "format" in schema:
        name = "pattern" if "pattern" in schema else "format"
        if len(schema.keys() & _OF_TYPE["string"]) > 1:
            other = sorted(schema.keys() & _OF_TYPE["string"] - {name})[0]
            raise _cannot(f"'{name}' beside '{other}'", where)
        if name == "format" and str(schema["format"]) not in FORMATS:
            known = nearest(str(schema["format"]), FORMATS)
            raise Unsupported(
                f"the JSON schema asks for format '{schema['format']}' at {where}, unknown here{known}"
            )
        found = pattern(str(schema["pattern"]), where) if name == "pattern" else FORMATS[schema["format"]]
        return Seq((Exactly('"'), found, Exactly('"')))
    if least > MOST_REPEATS:
        raise _cannot(f"a minLength above {MOST_REPEATS}", where)
    if most is not None and least > most:
        return NEVER
    return Seq((Exactly('"'), Times(CHARACTER, least, few(most)), Exactly('"')))


def _bounds(schema: Mapping[str, Any], where: str) -> tuple[Any, Any, bool, bool]:
    """The least and the greatest value, and whether each is itself left out."""
    found: dict[str, Any] = {}
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        value = schema.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise _odd(name, value, where, "a number")
        found[name] = value
    low, high = found["minimum"], found["maximum"]
    over, under = found["exclusiveMinimum"], found["exclusiveMaximum"]
    open_low = over is not None and (low is None or over >= low)
    open_high = under is not None and (high is None or under <= high)
    return over if open_low else low, under if open_high else high, open_low, open_high


def _count(schema: Mapping[str, Any], name: str, where: str) -> int | None:
    value = schema.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _odd(name, value, where, "a whole number from 0")
    return value


def _implied(schema: Mapping[str, Any]) -> str | None:
    """The type a schema without one speaks of."""
    return next((kind for kind, names in _OF_TYPE.items() if schema.keys() & names), None)


def _is(kind: Any, value: Any) -> bool:
    kinds: Mapping[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    if kind in kinds:
        return isinstance(value, kinds[kind])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return kind == "number" or (kind == "integer" and value == int(value))


def _cannot(what: str, where: str) -> Unsupported:
    return Unsupported(f"the JSON schema uses {what} at {where}, which cannot be enforced here; leave it out")


def _odd(name: str, value: Any, where: str, wanted: str) -> Unsupported:
    return Unsupported(f"'{name}' of the JSON schema at {where} is {written(value)[:80]}; wanted {wanted}")
