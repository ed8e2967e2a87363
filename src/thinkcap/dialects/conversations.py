"""Short conversations whose renderings show what a template does with thoughts, answers and tool calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

QUESTION, SECOND = "What is 2+3?", "And 4+4?"
THOUGHT, ANSWER = "Quietly adding both.", "It makes five."
TOOL = "get_weather"
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
"""Where templates look for an earlier thought."""


def said(source: str, thought: str, answer: str) -> Iterator[dict[str, Any]]:
    """An assistant's message with a thought, in every way that the template's text mentions."""
    for name in FIELDS:
        if name in source:
            yield {"role": "assistant", "content": answer, name: thought}
    if '"thinking"' in source or "'thinking'" in source:
        parts = [{"type": "thinking", "thinking": thought}]
        yield {"role": "assistant", "content": parts + ([{"type": "text", "text": answer}] if answer else [])}
    if "blocks" in source:
        blocks = [{"type": "thoughts", "text": thought}]
        blocks += [{"type": "response", "text": answer}] if answer else []
        yield {"role": "assistant", "content": {"blocks": blocks}}


def call(arguments: Any) -> dict[str, Any]:
    """Some templates want the arguments as a mapping, some as JSON."""
    return {"id": "call00001", "type": "function", "function": {"name": TOOL, "arguments": arguments}}


ARGUMENTS: tuple[Any, ...] = ({"city": "Paris"}, '{"city": "Paris"}')


def result() -> dict[str, Any]:
    return {"role": "tool", "name": TOOL, "tool_call_id": "call00001", "content": "18 degrees"}


def shows(text: str | None, *words: str) -> bool:
    """Whether a rendering has these words in this order, and not as the printed form of a Python value."""
    if text is None or "'type'" in text:
        return False
    for word in words:
        _, found, text = text.partition(word)
        if not found:
            return False
    return True
