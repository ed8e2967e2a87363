"""What Ollama's `/api/show` tells of a model's way of thinking: a template in Go's syntax, and its capabilities.

Its templates are no Jinja and cannot be rendered here; what stands around `.Thinking` in one is read as it is.

>>> of_show({"capabilities": ["thinking"], "template": "<think>{{ .Thinking }}</think>"}).close_tag
'</think>'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thinkcap.dialects.dialect import QWEN, Dialect
from thinkcap.dialects.known import KNOWN
from thinkcap.dialects.marks import MARK, closing_of
from thinkcap.dialects.naming import of_model

_THOUGHT = re.compile(r"\{\{-?\s*(?:\$?\w*\.)?(?:\w+\.)?Thinking\s*-?\}\}")
_ACTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_NEAR = 160
"""Characters around a thought in which its marks stand."""


def of_show(told: Mapping[str, Any]) -> Dialect | None:
    """The dialect of an answer of `/api/show`; None where it says nothing of thinking."""
    template, able = told.get("template"), told.get("capabilities")
    template = template if isinstance(template, str) else ""
    marks = _around(template)
    if isinstance(able, list) and "thinking" not in able and marks is None:
        return replace(KNOWN["none"], found_by="Ollama's capabilities")
    if marks is None:
        family = (told.get("details") or {}).get("family") if isinstance(told.get("details"), Mapping) else None
        named = of_model(str(family or ""))
        return replace(named, found_by="Ollama's family") if named and named.thinks else None
    opened, closed = marks
    like = next((d for d in KNOWN.values() if (d.open_tag, d.close_tag) == marks), None)
    made = replace(like or QWEN, open_tag=opened, close_tag=closed, found_by="Ollama's template")
    return made if like else replace(made, name="", open=opened, close=closed, off_writes=None)


def _around(template: str) -> tuple[str, str] | None:
    """The last mark before a thought and the first behind it."""
    for found in _THOUGHT.finditer(template):
        before = _ACTION.sub("", template[max(0, found.start() - _NEAR) : found.start()])
        behind = _ACTION.sub("", template[found.end() : found.end() + _NEAR])
        for known in KNOWN.values():
            opening, closing = (known.open_tag or "").strip(), (known.close_tag or "").strip()
            if opening and before.rstrip().endswith(opening) and behind.lstrip().startswith(closing):
                return opening, closing
        marks = list(MARK.finditer(before))
        first = MARK.match(behind.lstrip())
        if marks and first and closing_of(marks[-1][0]) == first[0]:
            return marks[-1][0], first[0]
    return None
