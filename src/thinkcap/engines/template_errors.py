"""A chat template's own error in a server's words: servers report it as a failure of theirs.

find_template_error(500, "... Error: Jinja Exception: System message must be at the beginning.")
# 'System message must be at the beginning.'
"""

from __future__ import annotations

import re

_STATUSES = (400, 422, 500)
_REASON = re.compile(
    r"(?:jinja exception|jinja2?(?:\.exceptions)?\.\w*error|template ?error|error rendering (?:chat )?template)"
    r"[^:\n]{0,40}:\s*(?P<reason>.+)",
    re.IGNORECASE | re.DOTALL,
)
"""llama.cpp, Python servers that print jinja2's exception, TGI."""
_PLACE = re.compile(r"(?P<reason>.{1,500}?) at row \d{1,9}, column \d{1,9}:", re.DOTALL)
"""Older llama.cpp."""
_HINTS = ("raise_exception(", "conversation roles must alternate")


def find_template_error(status: int, words: str) -> str | None:
    """Return the template's message, or None if something else failed."""
    if status not in _STATUSES:
        return None
    for pattern in (_REASON, _PLACE):
        if found := pattern.search(words):
            return found["reason"].strip()
    return words if any(hint in words.lower() for hint in _HINTS) else None
