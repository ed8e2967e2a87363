"""Short conversations whose renderings show what a template does with thoughts, answers and tool calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thinkcap.dialects.marks import THINKS
from thinkcap.dialects.reading import Reading
from thinkcap.dialects.rendering import Template, user

QUESTION, SECOND = "What is 2+3?", "And 4+4?"
THOUGHT, ANSWER = "Quietly adding both.", "It makes five."
TOOL, CALL_ID = "get_weather", "call00001"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Weather of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
FIELDS = ("reasoning_content", "reasoning", "thinking", "thought", "thoughts", "tool_plan")
"""Where most templates look for an earlier thought."""
_MOST = 12
"""Further names that are tried; templates seen in the wild have under 5."""


def thought_fields(reading: Reading) -> tuple[str, ...]:
    """Fields of a message that may hold a thought: the usual ones, and whatever else the template asks for."""
    others = [key for key in reading.keys if THINKS.search(key) and key not in FIELDS]
    return tuple(key for key in (*FIELDS, *others[:_MOST]) if key in reading.keys)


def said(template: Template, thought: str, answer: str) -> Iterator[dict[str, Any]]:
    """An assistant's message with a thought, in every way that the template's text mentions."""
    reading = template.reading
    for name in thought_fields(reading):
        yield {"role": "assistant", "content": answer, name: thought}
    kinds = [word for word in reading.constants if word.isidentifier() and THINKS.search(word)]
    for kind in kinds[:_MOST]:
        message, plain = ({"role": "assistant", "content": _parts(k, thought, answer)} for k in (kind, "text"))
        # A template that takes a thought for a text does not know such parts.
        if template.render([user(QUESTION), message]) != template.render([user(QUESTION), plain]):
            yield message
    if "blocks" in reading.keys:
        blocks = [{"type": "thoughts", "text": thought}]
        blocks += [{"type": "response", "text": answer}] if answer else []
        yield {"role": "assistant", "content": {"blocks": blocks}}


def _parts(kind: str, thought: str, answer: str) -> list[dict[str, Any]]:
    """A part has its text under its own name or under a common one."""
    first = {"text": thought, "content": thought, kind: thought, "type": kind}
    return [first, {"type": "text", "text": answer}] if answer else [first]


def call(arguments: Any) -> dict[str, Any]:
    """Some templates want the arguments as a mapping, some as JSON."""
    return {"id": CALL_ID, "type": "function", "function": {"name": TOOL, "arguments": arguments}}


ARGUMENTS: tuple[Any, ...] = ({"city": "Paris"}, '{"city": "Paris"}')


def result() -> dict[str, Any]:
    return {"role": "tool", "name": TOOL, "tool_call_id": CALL_ID, "content": "18 degrees"}


def shows(text: str | None, *words: str) -> bool:
    """Whether a rendering has these words in this order, and not as the printed form of a Python value."""
    if text is None or "'type'" in text:
        return False
    for word in words:
        _, found, text = text.partition(word)
        if not found:
            return False
    return True
