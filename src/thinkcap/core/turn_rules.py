"""Message orders that a chat template cannot render, and the merge that makes a conversation fit.

rules = TurnRules(one_system=True)
rules.merge([system("Be brief."), user("Hi"), system("Be kind."), user("Again")])
# one leading system message "Be brief.\\n\\nBe kind.", then the two user messages
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thinkcap.core.types import Message

_BLANK_LINE = "\n\n"
_SYSTEM, _USER, _ASSISTANT = "system", "user", "assistant"

CanRender = Callable[[Sequence[Message]], Awaitable[bool]]
"""Whether a template renders these messages with all of their texts."""


@dataclass(frozen=True)
class TurnRules:
    one_system: bool = False
    """Only one system message is rendered, the first message."""
    alternation: bool = False
    """User and assistant messages must alternate."""

    def merge(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return the conversation in a form that the template renders; no text is lost."""
        merged = _lead_with_system(messages) if self.one_system else tuple(messages)
        return _alternate(merged) if self.alternation else merged


ANY_ORDER = TurnRules()

_FIRST, _SECOND = ({"role": _SYSTEM, "content": text} for text in ("Be brief.", "Answer in English."))
_ASKED, _ASKED_AGAIN = ({"role": _USER, "content": text} for text in ("Is it raining?", "And tomorrow?"))
_ANSWERED: Message = {"role": _ASSISTANT, "content": "It is dry."}


async def find_turn_rules(can_render: CanRender) -> TurnRules:
    """Probe a template with short conversations, from the most demanding one to the plainest."""
    if await can_render((_FIRST, _SECOND, _ASKED, _ANSWERED, _SECOND, _ASKED, _ASKED_AGAIN)):
        return ANY_ORDER
    if await can_render((_FIRST, _ASKED, _ANSWERED, _ASKED, _ASKED_AGAIN)):
        return TurnRules(one_system=True)
    if await can_render((_FIRST, _SECOND, _ASKED, _ANSWERED, _SECOND, _ASKED_AGAIN)):
        return TurnRules(alternation=True)
    if await can_render((_FIRST, _ASKED, _ANSWERED, _ASKED_AGAIN)):
        return TurnRules(one_system=True, alternation=True)
    # The order of messages is not what it rejects.
    return ANY_ORDER


def _lead_with_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    system = [message for message in messages if message["role"] == _SYSTEM]
    if not system or (len(system) == 1 and messages[0] is system[0]):
        return tuple(messages)
    first = system[0]
    for message in system[1:]:
        first = _join(first, message)
    return (first, *(message for message in messages if message["role"] != _SYSTEM))


def _alternate(messages: Sequence[Message]) -> tuple[Message, ...]:
    found: list[Message] = []
    for message in messages:
        role = message["role"]
        before = found[-1]["role"] if found else ""
        if (role == before and role in (_USER, _ASSISTANT)) or (role == _USER and before == "tool"):
            # A tool's result stands for the user's turn, so a user message behind it becomes a part of it.
            found[-1] = _join(found[-1], message)
        else:
            found.append(message)
    return tuple(found)


def _join(first: Message, second: Message) -> Message:
    joined: dict[str, Any] = {**first, "content": _join_content(first.get("content"), second.get("content"))}
    for name in ("reasoning_content", "reasoning"):
        if second.get(name):
            joined[name] = _join_content(first.get(name), second[name])
    if second.get("tool_calls"):
        joined["tool_calls"] = [*(first.get("tool_calls") or ()), *second["tool_calls"]]
    return joined


def _join_content(first: Any, second: Any) -> Any:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return first + _BLANK_LINE + second
    return [*_parts(first), {"type": "text", "text": _BLANK_LINE}, *_parts(second)]


def _parts(content: str | Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    return ({"type": "text", "text": content},) if isinstance(content, str) else content
