"""Bodies as every wire reads them: JSON, an object, no field nobody knows, every value of its type.

raw, asked, unknown = read_as(ChatRequest, body, forward_unknown=False)
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from thinkcap.core.names import nearest
from thinkcap.gateway.refusal import Refusal

T = TypeVar("T", bound=Struct)


def decoded(body: bytes) -> dict[str, Any]:
    try:
        raw = msgspec.json.decode(body)
    except ValueError as err:
        raise Refusal(f"the body is not JSON: {err}", code="invalid_json") from err
    except RecursionError:
        raise Refusal("the body is nested too deeply", code="invalid_json") from None
    if not isinstance(raw, dict):
        raise Refusal(f"the body is a JSON {type(raw).__name__}; wanted an object", code="invalid_json")
    return raw


def read_as(
    form: type[T], body: bytes, forward_unknown: bool = False
) -> tuple[dict[str, Any], T, tuple[str, ...]]:
    """The body as it came, the same checked, and the names of fields that are let through unknown."""
    raw = decoded(body)
    known = _names(form)
    if raw.keys() <= known:
        return raw, converted(form, raw), ()
    unknown = tuple(name for name in raw if name not in known)
    if not forward_unknown:
        name = unknown[0][:80]
        raise Refusal(f"unknown field '{name}'{nearest(name, known)}", code="unknown_field", param=name)
    return raw, converted(form, raw), unknown


@cache
def _names(form: type[Struct]) -> frozenset[str]:
    return frozenset(form.__struct_fields__)


def converted(form: type[T], raw: dict[str, Any]) -> T:
    try:
        return msgspec.convert(raw, form)
    except msgspec.ValidationError as err:
        words, _, at = str(err).partition(" - at `$")
        param = at.rstrip("`").lstrip(".") or None
        said = f"{words}{f' in {param}' if param else ''}"
        _, missing, name = words.partition("missing required field ")
        if missing:
            param = f"{param}.{name.strip('`')}" if param else name.strip("`")
        raise Refusal(said, code="invalid_value", param=param) from None
    except RecursionError:
        raise Refusal("the body is nested too deeply", code="invalid_json") from None


def refused(raw: dict[str, Any], reasons: dict[str, str]) -> None:
    """Fields of the wire that would need what is not here; `false` and empty values ask for nothing."""
    for name, reason in reasons.items():
        if raw.get(name):
            raise Refusal(f"'{name}' is not offered here: {reason}", code="unsupported", param=name)
