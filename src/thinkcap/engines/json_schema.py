"""A JSON schema as the form of the texts that satisfy it; what cannot be enforced is refused by name.

Servers' own grammars allow blanks without end between the parts of an object, and a small model writes them until
its cap. Here one blank may follow a colon or a comma. Optional properties may be left out, properties the schema
does not name are never written, and references that lead back to themselves go a few levels deep: three, or fewer
if the schema would pass `json_limits`.

    >>> from thinkcap.engines.grammar import gbnf
    >>> print(gbnf(schema_form({"enum": ["red", "green"]})))
    root ::= "\\"red\\"" | "\\"green\\""
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from thinkcap.core.errors import Unsupported
from thinkcap.core.names import nearest
from thinkcap.engines.grammar import NEVER, Exactly, Form, Seq, either
from thinkcap.engines.json_limits import MOST_BYTES, MOST_OPTIONS, SchemaPath, SchemaTooLarge, Work
from thinkcap.engines.json_numbers import integers, numbers
from thinkcap.engines.json_refs import is_internal, resolve_ref
from thinkcap.engines.json_scalars import (
    STRING_KEYWORDS,
    cannot,
    check_bounds,
    check_count,
    has_type,
    invalid,
    string_form,
    written,
)
from thinkcap.engines.json_shapes import (
    ANY_DEPTH,
    BOOLEAN,
    COLON,
    MOST_REPEATS,
    NULL,
    any_value,
    entries_of,
    list_of,
    members_of,
)

_REF_DEPTHS = (3, 2, 1)
"""Times a part may stand inside itself; the next number is tried if the schema grows too large."""
_FREE_KEYWORDS = 16

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
    "string": STRING_KEYWORDS,
    "integer": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}),
    "boolean": frozenset(),
    "null": frozenset(),
}
_ANYWHERE = frozenset({"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "nullable"})
_ASSERTIONS = _ANYWHERE.union(*_OF_TYPE.values())
_KNOWN = _ASSERTIONS | _ANNOTATIONS


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


def schema_form(schema: Any, *, root: Any = None, work: Work | None = None) -> Form:
    """The form of the texts a schema allows, or an error that names what cannot be held to.

    References point into `root`, which is the schema itself unless it is given.
    """
    return _compile(schema, schema if root is None else root, work)[0]


def relaxed_form(schema: Any) -> tuple[Form, bool]:
    """The form without the keywords that no grammar can express, and whether a server may do better by itself.

    A schema that is malformed, too large or without an end is an error here too.
    """
    found, reader = _compile(schema, schema, None, relaxed=True)
    return found, reader.incomplete


def _compile(schema: Any, root: Any, work: Work | None, relaxed: bool = False) -> tuple[Form, _Reader]:
    large: SchemaTooLarge | None = None
    for depth in _REF_DEPTHS:
        reader = _Reader(root, depth, relaxed, work or Work())
        try:
            found = reader.form(schema, SchemaPath(refs=("#",)))
        except SchemaTooLarge as err:
            large = large or err
        except RecursionError:
            large = large or SchemaTooLarge("the JSON schema is nested too deeply; flatten it")
        else:
            if found.least < inf:
                return found, reader
            large = large or SchemaTooLarge(
                "the JSON schema allows no value at all; check its references, enums and bounds"
            )
            break
        if not reader.recursive:
            break
    raise large or AssertionError("no depth was tried")


@dataclass
class _Reader:
    """One schema; `form` is called for every part of it, `place` says which."""

    root: Any
    depth: int
    relaxed: bool
    """Leave out what a grammar cannot express, instead of an error."""
    work: Work
    recursive: bool = False
    incomplete: bool = False
    """Something that a server's own grammar may express was left out."""
    patterns: dict[str, Form | None] = field(default_factory=dict)

    def form(self, schema: Any, place: SchemaPath) -> Form:
        self.work.spend(1, place)
        if schema is True or schema == {}:
            return any_value(ANY_DEPTH)
        if schema is False:
            return NEVER
        if not isinstance(schema, Mapping):
            raise Unsupported(f"the JSON schema has a {type(schema).__name__} at {place}; wanted an object")
        self._check(schema, place)
        if "$ref" in schema:
            found = self._referred(schema, place)
        elif "allOf" in schema:
            whole, after = self._merged(schema, place)
            found = NEVER if whole is None else self.form(whole, after)
        else:
            found = self._plain(schema, place)
            found = either((found, NULL)) if schema.get("nullable") is True else found
        if found.least < inf and found.tail > MOST_BYTES:
            raise SchemaTooLarge(
                f"the JSON schema asks for at least {found.tail:.0f} bytes of JSON at {place}, and {MOST_BYTES} "
                f"are the most; lower its minItems or minLength, or ask for fewer and shorter values"
            )
        return found

    def _plain(self, schema: Mapping[str, Any], place: SchemaPath) -> Form:
        for name in ("enum", "const"):
            if name in schema:
                return self._given(schema, name, place)
        for name in ("anyOf", "oneOf"):
            if name in schema and not self._drops_options(schema):
                return self._options(schema, name, place)
        kinds = _types(schema, place) or _implied(schema)
        if not kinds:
            return any_value(ANY_DEPTH)
        makers: Mapping[str, Callable[[], Form]] = {
            "object": lambda: self._object(schema, place),
            "array": lambda: self._array(schema, place),
            "string": lambda: string_form(schema, place, self.work, self.patterns, self.relaxed),
            "integer": lambda: integers(*check_bounds(schema, place, self.work)),
            "number": lambda: numbers(*check_bounds(schema, place, self.work)),
            "boolean": lambda: BOOLEAN,
            "null": lambda: NULL,
        }
        for kind in kinds:
            if kind not in makers:
                raise Unsupported(
                    f"unknown type '{kind[:80]}' in the JSON schema at {place}{nearest(kind, makers)}"
                )
        # An integer is a number: with both, the second would only repeat the first.
        return either(makers[kind]() for kind in kinds if not (kind == "integer" and "number" in kinds))

    def _check(self, schema: Mapping[str, Any], place: SchemaPath) -> None:
        """Count what is there, and refuse what is unknown."""
        parts = max(0, len(schema) - _FREE_KEYWORDS)
        for name, value in schema.items():
            if name in _KNOWN:
                if name not in _ANNOTATIONS and isinstance(value, list | Mapping):
                    parts += len(value)
            elif not self.relaxed and not str(name).startswith("x-"):
                raise cannot(f"keyword '{name[:80]}'", place)
        self.work.spend(parts, place)

    def _given(self, schema: Mapping[str, Any], name: str, place: SchemaPath) -> Form:
        values = [schema["const"]] if name == "const" else schema["enum"]
        if not isinstance(values, Sequence) or isinstance(values, str) or not values:
            raise invalid(name, values, place, "a list of values")
        beside = sorted((schema.keys() & _ASSERTIONS) - {"enum", "const", "nullable", "type"})
        if beside and not self.relaxed:
            raise cannot(f"'{name}' beside {beside[0]!r}", place)
        kinds = _types(schema, place)
        fitting = [value for value in values if not kinds or any(has_type(kind, value) for kind in kinds)]
        texts = dict.fromkeys(map(written, fitting))
        if name == "enum" and "const" in schema:
            texts = {text: None for text in texts if text == written(schema["const"])}
        self.work.spend(sum(map(len, texts)) // 64, place)
        return either(map(Exactly, texts))

    def _drops_options(self, schema: Mapping[str, Any]) -> bool:
        """Beside other keywords, options are what is left out."""
        return self.relaxed and bool((schema.keys() & _ASSERTIONS) - {"anyOf", "oneOf", "nullable", "type"})

    def _options(self, schema: Mapping[str, Any], name: str, place: SchemaPath) -> Form:
        beside = sorted((schema.keys() & _ASSERTIONS) - {name, "nullable"})
        if beside and not self.relaxed:
            raise cannot(f"'{name}' beside '{beside[0]}'", place)
        options = schema[name]
        if not isinstance(options, Sequence) or isinstance(options, str) or not options:
            raise invalid(name, options, place, "a list of schemas")
        if name == "oneOf" and not self.relaxed:
            if len(options) > MOST_OPTIONS:
                raise Unsupported(
                    f"'oneOf' of the JSON schema at {place} has {len(options)} schemas; wanted {MOST_OPTIONS} at "
                    f"most (use anyOf)"
                )
            if not self._apart(options, place):
                raise cannot("'oneOf' of schemas that one value may satisfy together (use anyOf)", place)
        return either(self.form(option, place.beside(f".{name}[{at}]")) for at, option in enumerate(options))

    def _apart(self, options: Sequence[Any], place: SchemaPath) -> bool:
        """No value is of two of these: they differ in type, or in what one of their required properties is."""
        marks = [self._marks(option, place) for option in options]
        return all(
            any(not (first[key] & second[key]) for key in first.keys() & second.keys())
            for at, first in enumerate(marks)
            for second in marks[:at]
        )

    def _marks(self, option: Any, place: SchemaPath) -> dict[str, frozenset[str]]:
        while isinstance(option, Mapping) and "$ref" in option:
            place, option = place.follow(option["$ref"]), resolve_ref(self.root, option["$ref"], str(place))
        if not isinstance(option, Mapping):
            return {}
        kind = option.get("type")
        found = {"": frozenset({"number" if kind == "integer" else kind})} if isinstance(kind, str) else {}
        properties, required = option.get("properties"), option.get("required")
        if not isinstance(properties, Mapping) or not isinstance(required, list):
            return found
        self.work.spend(len(required), place)
        for key in required:
            inner = properties.get(key) if isinstance(key, str) else None
            if isinstance(inner, Mapping):
                values = [inner["const"]] if "const" in inner else inner.get("enum")
                if isinstance(values, list) and values:
                    self.work.spend(len(values), place)
                    found[key] = frozenset(map(written, values))
        return found

    def _referred(self, schema: Mapping[str, Any], place: SchemaPath) -> Form:
        ref = schema["$ref"]
        beside = sorted((schema.keys() & _ASSERTIONS) - {"$ref", "nullable"})
        if beside and not self.relaxed:
            raise cannot(f"'$ref' beside '{beside[0]}'", place)
        if self.relaxed and not is_internal(ref):
            self.incomplete = True
            return any_value(ANY_DEPTH)
        target, after = resolve_ref(self.root, ref, str(place)), place.follow(ref)
        found = NEVER if self._too_deep(ref, place) else self.form(target, after)
        return either((found, NULL)) if schema.get("nullable") is True else found

    def _too_deep(self, ref: str, place: SchemaPath) -> bool:
        self.recursive = self.recursive or ref in place.refs
        return place.refs.count(ref) >= self.depth

    def _merged(self, schema: Mapping[str, Any], place: SchemaPath) -> tuple[Mapping[str, Any] | None, SchemaPath]:
        """`allOf` of parts that do not speak of the same thing; objects' properties add up.

        None if a reference goes deeper than it may. The place knows every reference that was followed.
        """
        whole: dict[str, Any] = {}
        refs: dict[str, None] = {}
        for part, at in self._parts(schema, place):
            if part is None:
                return None, place
            refs |= dict.fromkeys(at.refs[len(place.refs) :])
            self.work.spend(len(part), at)
            for key, value in part.items():
                if key not in whole or key in _ANNOTATIONS:
                    whole[key] = dict(value) if key == "properties" and isinstance(value, Mapping) else value
                elif whole[key] == value:
                    continue
                elif key == "properties" and self._adds_to(whole[key], value):
                    whole[key] |= {name: inner for name, inner in value.items() if name not in whole[key]}
                elif key == "required" and isinstance(whole[key], list) and isinstance(value, list):
                    whole[key] = [*whole[key], *value]
                    self.work.spend(len(whole[key]) // 16, at)
                elif not self.relaxed:
                    raise cannot(f"'allOf' of parts that differ in '{key[:80]}'", place)
        return whole, SchemaPath(place.where, (*place.refs, *refs), (*place.here, *refs))

    def _adds_to(self, properties: Any, more: Any) -> bool:
        if not isinstance(properties, dict) or not isinstance(more, Mapping):
            return False
        return self.relaxed or not properties.keys() & more.keys()

    def _parts(
        self, schema: Mapping[str, Any], place: SchemaPath
    ) -> Iterator[tuple[Mapping[str, Any] | None, SchemaPath]]:
        """The schema itself, then the parts of its `allOf`, with references and parts of parts followed."""
        yield {key: value for key, value in schema.items() if key != "allOf"}, place
        parts = schema.get("allOf", ())
        if not isinstance(parts, Sequence) or isinstance(parts, str):
            raise invalid("allOf", parts, place, "a list of schemas")
        for part in parts:
            at = place
            self.work.spend(1, place)
            while isinstance(part, Mapping) and part.keys() - _ANNOTATIONS == {"$ref"}:
                ref = part["$ref"]
                part, after = resolve_ref(self.root, ref, str(at)), at.follow(ref)
                if self._too_deep(ref, at):
                    yield None, at
                    return
                at = after
            if part is True:
                continue
            if not isinstance(part, Mapping):
                raise invalid("allOf", part, at, "a list of schemas")
            yield from self._parts(part, at)

    def _object(self, schema: Mapping[str, Any], place: SchemaPath) -> Form:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        more = schema.get("additionalProperties", True)
        if not isinstance(properties, Mapping):
            raise invalid("properties", properties, place, "an object of schemas")
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise invalid("required", required, place, "a list of names")
        needed = set(required)
        unnamed = [name for name in required if name not in properties]
        if unnamed and more is not False:
            properties = {**properties, **dict.fromkeys(unnamed, more)}
        elif unnamed:
            return NEVER
        if not properties:
            if more is False:
                return Exactly("{}")
            self.incomplete = self.incomplete or "patternProperties" in schema
            if more is True:
                return entries_of(any_value(ANY_DEPTH - 1))
            return entries_of(self.form(more, place.into(".additionalProperties")))
        members = [
            (Seq((Exactly(written(name)), COLON, self.form(inner, place.into(f".{name}")))), name in needed)
            for name, inner in properties.items()
        ]
        return Seq((Exactly("{"), members_of(members), Exactly("}")))

    def _array(self, schema: Mapping[str, Any], place: SchemaPath) -> Form:
        least, most = check_count(schema, "minItems", place) or 0, check_count(schema, "maxItems", place)
        self.work.repeat(max(least, min(most or 0, MOST_REPEATS)), place)
        first = schema.get("prefixItems") or ()
        if not isinstance(first, Sequence) or isinstance(first, str):
            raise invalid("prefixItems", first, place, "a list of schemas")
        named = [self.form(inner, place.into(f".prefixItems[{at}]")) for at, inner in enumerate(first)]
        # Python's tuples: what follows the named items is not forbidden there, and never wanted.
        rest = schema.get("items", not named)
        item = NEVER if rest is False else self.form(rest, place.into(".items"))
        return list_of(named, item, least, most)


def _types(schema: Mapping[str, Any], place: SchemaPath) -> tuple[str, ...]:
    kinds = schema.get("type")
    if kinds is None or isinstance(kinds, str):
        return (kinds,) if kinds else ()
    if not isinstance(kinds, Sequence) or not all(isinstance(kind, str) for kind in kinds):
        raise invalid("type", kinds, place, "a name or a list of names")
    return tuple(dict.fromkeys(kinds))


def _implied(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The type a schema without one speaks of."""
    return next(((kind,) for kind, names in _OF_TYPE.items() if schema.keys() & names), ())
