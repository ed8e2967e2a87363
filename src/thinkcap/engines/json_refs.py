"""References inside a JSON schema: resolve one, or move a schema to another place together with its references.

>>> resolve_ref({"$defs": {"a/b": {"type": "null"}}}, "#/$defs/a~1b", "$")
{'type': 'null'}
>>> move_refs({"items": {"$ref": "#/$defs/a"}}, "#/$defs/tool")
{'items': {'$ref': '#/$defs/tool/$defs/a'}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from thinkcap.core.errors import Unsupported

_SCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SCHEMAS = frozenset(
    {"anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalItems", "contains", "additionalProperties"}
    | {"propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)


def is_internal(ref: Any) -> bool:
    return isinstance(ref, str) and (ref == "#" or ref.startswith("#/"))


def resolve_ref(root: Any, ref: Any, where: str) -> Any:
    """The part of the schema that a reference names; `where` is the place of the reference, for the error."""
    if not is_internal(ref):
        raise Unsupported(
            f"the JSON schema refers to {str(ref)[:80]!r} at {where}; only references into itself ('#/...') work"
        )
    found: Any = root
    for step in ref.removeprefix("#").split("/")[1:]:
        names = [name.replace("~1", "/").replace("~0", "~") for name in (step, unquote(step))]
        if isinstance(found, Mapping):
            name = next((name for name in names if name in found), None)
            if name is not None:
                found = found[name]
                continue
        elif isinstance(found, list) and step in map(str, range(len(found))):
            found = found[int(step)]
            continue
        raise Unsupported(f"the JSON schema refers to '{ref[:200]}' at {where}, and there is no such part in it")
    return found


def has_refs(schema: Any) -> bool:
    """Whether a schema refers to parts of itself."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if is_internal(part.get("$ref")):
                return True
            waiting += _schemas_in(part)
    return False


def move_refs(schema: Any, to: str) -> Any:
    """The schema with its references changed for a place in a larger one, where `to` is its own pointer."""
    if not isinstance(schema, Mapping):
        return schema
    found: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "$ref" and is_internal(value):
            found[name] = to + value.removeprefix("#")
        elif name in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            found[name] = {key: move_refs(part, to) for key, part in value.items()}
        elif name in _SCHEMAS and isinstance(value, list):
            found[name] = [move_refs(part, to) for part in value]
        elif name in _SCHEMAS:
            found[name] = move_refs(value, to)
        else:
            found[name] = value
    return found


def pointer(*steps: str) -> str:
    """The reference to a place in a schema."""
    return "#" + "".join("/" + quote(step.replace("~", "~0").replace("/", "~1"), safe="~$") for step in steps)


def _schemas_in(schema: Mapping[str, Any]) -> Sequence[Any]:
    found: list[Any] = []
    for name, value in schema.items():
        if name in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            found += value.values()
        elif name in _SCHEMAS:
            found += value if isinstance(value, list) else [value]
    return found
