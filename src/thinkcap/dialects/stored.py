"""Chat templates as they are stored: a text, bytes, or several by name, of which one is for plain conversations.

>>> default_template([{"name": "tool_use", "template": "B"}, {"name": "default", "template": "A"}])
'A'
>>> default_template(None)
''
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_DEFAULT = "default"


def default_template(stored: Any) -> str:
    """The template's text, without a byte-order mark; empty where there is none."""
    if isinstance(stored, bytes | bytearray):
        stored = bytes(stored).decode("utf-8", errors="replace")
    if isinstance(stored, str):
        return stored.removeprefix("\ufeff")
    if isinstance(stored, Mapping):
        named = dict(stored)
    elif isinstance(stored, Sequence):
        entries = [entry for entry in stored if isinstance(entry, Mapping)]
        named = {str(entry.get("name")): entry.get("template") for entry in entries}
    else:
        return ""
    texts = {name: text for name, text in named.items() if isinstance(text, str | bytes)}
    return default_template(texts.get(_DEFAULT, next(iter(texts.values()), None)))
