"""A policy's label apart, without knowing or importing the policy: logs name policies of anyone.

>>> split_label("gate(each=64,otherwise=iris(first=64,answer=32))")
('gate', {'each': 64, 'otherwise': 'iris(first=64,answer=32)'})
"""

from __future__ import annotations

from typing import Any


def split_label(label: str) -> tuple[str, dict[str, Any]]:
    """Base name and options; a text that is not built like a label is a name."""
    name, bracket, rest = label.partition("(")
    if not bracket or not name or not rest.endswith(")"):
        return label, {}
    options = {}
    for part in _parts(rest[:-1]):
        key, equals, value = part.partition("=")
        if not equals:
            return label, {}
        options[key.strip()] = _value(value.strip())
    return name.strip(), options


def _parts(text: str) -> list[str]:
    """Split at the commas outside brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def _value(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text
