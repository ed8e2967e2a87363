"""A template's arguments, some of which are mappings: `thinking.type` is the key `type` of `thinking`.

>>> nested({"thinking.type": "disabled"})
{'thinking': {'type': 'disabled'}}
>>> given({"thinking": {"type": "disabled"}}, "thinking.type")
'disabled'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def nested(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the keys of mappings put into their mappings."""
    made: dict[str, Any] = {}
    for name, value in arguments.items():
        *outer, last = name.split(".")
        place = made
        for key in outer:
            inner = place.get(key)
            place[key] = dict(inner) if isinstance(inner, Mapping) else {}
            place = place[key]
        place[last] = value
    return made


def given(arguments: Mapping[str, Any], name: str) -> Any:
    """What is said for a name; None where nothing is."""
    found: Any = arguments
    for key in name.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
