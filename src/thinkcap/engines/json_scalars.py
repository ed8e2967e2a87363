"""Strings, bounds and counts of a JSON schema, checked and as forms of text; errors that name what is wrong.

form = string_form({"type": "string", "maxLength": 5}, place, work, {})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from thinkcap.core.errors import Unsupported
from thinkcap.core.names import nearest
from thinkcap.engines.grammar import NEVER, Exactly, Form, Seq, Times
from thinkcap.engines.json_limits import MOST_DIGITS, SchemaPath, Work
from thinkcap.engines.json_patterns import FORMATS, pattern
from thinkcap.engines.json_shapes import CHARACTER, MOST_REPEATS, few

STRING_KEYWORDS = frozenset({"minLength", "maxLength", "pattern", "format"})
_AT_LEAST = frozenset({"minItems", "minLength"})


def written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def string_form(
    schema: Mapping[str, Any],
    place: SchemaPath,
    work: Work,
    patterns: dict[str, Form | None],
    relaxed: bool = False,
) -> Form:
    """The form of a string; `patterns` keeps those of the same schema, relaxed leaves out what is unknown."""
    least, most = check_count(schema, "minLength", place) or 0, check_count(schema, "maxLength", place)
    if "pattern" in schema or "format" in schema:
        name = "pattern" if "pattern" in schema else "format"
        if len(schema.keys() & STRING_KEYWORDS) > 1 and not relaxed:
            other = sorted(schema.keys() & STRING_KEYWORDS - {name})[0]
            raise cannot(f"'{name}' beside '{other}'", place)
        inside = _inside(name, str(schema[name]), place, work, patterns, relaxed)
        if inside is not None:
            return Seq((Exactly('"'), inside, Exactly('"')))
    if most is not None and least > most:
        return NEVER
    work.repeat(max(least, min(most or 0, MOST_REPEATS)), place)
    return Seq((Exactly('"'), Times(CHARACTER, least, few(most)), Exactly('"')))


def _inside(
    name: str, value: str, place: SchemaPath, work: Work, patterns: dict[str, Form | None], relaxed: bool
) -> Form | None:
    """What stands between the quotes; None if it cannot be expressed and may be left out."""
    if name == "format":
        if value in FORMATS or relaxed:
            return FORMATS.get(value)
        known = nearest(value, FORMATS)
        raise Unsupported(f"the JSON schema asks for format '{value[:80]}' at {place}, unknown here{known}")
    if value not in patterns:
        work.spend(len(value) // 4, place)
        try:
            patterns[value] = pattern(value, str(place))
        except Unsupported:
            if not relaxed:
                raise
            patterns[value] = None
    return patterns[value]


def check_bounds(schema: Mapping[str, Any], place: SchemaPath, work: Work) -> tuple[Any, Any, bool, bool]:
    """The least and the greatest value, and whether each is itself left out."""
    found: dict[str, Any] = {}
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        value = schema.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise invalid(name, value, place, "a number")
        if value is not None and abs(value) >= 10**MOST_DIGITS:
            raise Unsupported(
                f"'{name}' of the JSON schema at {place} has more than {MOST_DIGITS} digits; leave it out"
            )
        work.spend(len(str(int(value))) // 8 if value else 0, place)
        found[name] = value
    low, high = found["minimum"], found["maximum"]
    over, under = found["exclusiveMinimum"], found["exclusiveMaximum"]
    open_low = over is not None and (low is None or over >= low)
    open_high = under is not None and (high is None or under <= high)
    return over if open_low else low, under if open_high else high, open_low, open_high


def check_count(schema: Mapping[str, Any], name: str, place: SchemaPath) -> int | None:
    value = schema.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise invalid(name, value, place, "a whole number from 0")
    if name in _AT_LEAST and value > MOST_REPEATS:
        raise Unsupported(
            f"'{name}' of the JSON schema at {place} is {str(value)[:40]}; at most {MOST_REPEATS} can be enforced "
            f"here; lower it or leave it out"
        )
    return value


def has_type(kind: str, value: Any) -> bool:
    kinds: Mapping[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    if kind in kinds:
        return isinstance(value, kinds[kind])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return kind == "number" or (kind == "integer" and value == int(value))


def cannot(what: str, place: SchemaPath) -> Unsupported:
    return Unsupported(f"the JSON schema uses {what} at {place}, which cannot be enforced here; leave it out")


def invalid(name: str, value: Any, place: SchemaPath, wanted: str) -> Unsupported:
    return Unsupported(f"'{name}' of the JSON schema at {place} is {written(value)[:80]}; wanted {wanted}")
