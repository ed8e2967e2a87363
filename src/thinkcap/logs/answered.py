"""What a reply of a model server says without a judge: how it ended, how long it was, whether it has an answer.

Chat completions, completions, responses and messages are read alike, one entry a choice.

    >>> (one,) = answered({"choices": [{"text": "4", "finish_reason": "stop"}], "usage": {"completion_tokens": 2}})
    >>> one.finish, one.tokens, one.empty
    ('stop', 2, False)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from thinkcap.logs.ends import BROKEN, CUT, STOPPED
from thinkcap.logs.reading import printable
from thinkcap.logs.thoughts import Thoughts, thoughts

_MOST = 2**53
_THOUGHT_FIELDS = ("reasoning_content", "reasoning", "thinking")
_CALLS = ("tool_calls", "function_call")


@dataclass(frozen=True, slots=True)
class SeenAnswer:
    """One answer of one reply."""

    model: str = ""
    finish: str = ""
    """In the server's own word, lower case; empty where it said none."""
    tokens: int | None = None
    """All it wrote, thoughts included; None where the reply does not tell for this answer alone."""
    thought_tokens: int | None = None
    prompt_tokens: int | None = None
    text: str = ""
    thought: str = ""
    called: bool = False
    """It calls a tool, which is an answer without a word."""
    text_seen: bool = True
    """False where a log keeps no texts, and so does not tell whether there was an answer."""

    @property
    def cut(self) -> bool | None:
        """Stopped by its cap; None where the reply does not say how it ended."""
        return None if self.finish not in STOPPED | CUT else self.finish in CUT

    @property
    def broken(self) -> bool:
        return self.finish in BROKEN

    @property
    def empty(self) -> bool:
        """Nobody got an answer: no call, and no word outside a thought."""
        return not self.called and not said(self.text, self.model).strip()


def answered(body: Mapping[str, Any]) -> list[SeenAnswer]:
    """The answers of a reply; none where it is no reply of a kind known here."""
    usage = usage_of(body.get("usage"))
    model = name_of(body.get("model"))
    choices = body.get("choices")
    if isinstance(choices, list):
        found = [_choice(one, model, usage) for one in choices if isinstance(one, Mapping)]
        # What several answers cost together says nothing about each.
        return found if len(found) == 1 else [replace(one, **TokenCounts()._asdict()) for one in found]
    if isinstance(body.get("output"), list):
        return [_response(body, model, usage)]
    if isinstance(body.get("content"), list):
        return [_message(body, model, usage)]
    return []


def said(text: str, model: str) -> str:
    """The words outside a thought; nothing where a thought was opened and never closed."""
    if "<" not in text and "[" not in text:
        return text
    marked = _marks(model)
    found = marked if marked.shown_in(text) else thoughts(model=model, texts=[text])
    return found.divide(text).said


@lru_cache(maxsize=256)
def _marks(model: str) -> Thoughts:
    return thoughts(model=model)


class TokenCounts(NamedTuple):
    tokens: int | None = None
    thought_tokens: int | None = None
    prompt_tokens: int | None = None


def usage_of(usage: Any) -> TokenCounts:
    """Token counts by any of the names that servers have for them."""
    if not isinstance(usage, Mapping):
        return TokenCounts()
    details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    inside = details if isinstance(details, Mapping) else {}
    return TokenCounts(
        count(usage.get("completion_tokens", usage.get("output_tokens"))),
        count(inside.get("reasoning_tokens")),
        count(usage.get("prompt_tokens", usage.get("input_tokens"))),
    )


def count(value: Any) -> int | None:
    """A number of tokens, or None for whatever else stands there."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else None


def name_of(value: Any) -> str:
    return printable(value) if isinstance(value, str) else ""


def finish_of(value: Any) -> str:
    return printable(value).strip().lower() if isinstance(value, str) else ""


def thought_in(message: Mapping[str, Any]) -> str:
    return next((v for name in _THOUGHT_FIELDS if isinstance(v := message.get(name), str) and v), "")


def calls_in(message: Mapping[str, Any]) -> bool:
    return any(message.get(name) for name in _CALLS)


def _choice(choice: Mapping[str, Any], model: str, usage: TokenCounts) -> SeenAnswer:
    message = choice.get("message")
    found = message if isinstance(message, Mapping) else choice
    content = found.get("content", found.get("text"))
    text = content if isinstance(content, str) else parts_text(content)
    finish = finish_of(choice.get("finish_reason"))
    return SeenAnswer(model, finish, *usage, text, thought_in(found), calls_in(found))


def _response(body: Mapping[str, Any], model: str, usage: TokenCounts) -> SeenAnswer:
    items = [item for item in body["output"] if isinstance(item, Mapping)]
    text = "".join(parts_text(item.get("content")) for item in items if item.get("type") == "message")
    thought = "".join(
        parts_text(item.get("content")) or parts_text(item.get("summary"))
        for item in items
        if item.get("type") == "reasoning"
    )
    called = any(str(item.get("type", "")).endswith("_call") for item in items)
    return SeenAnswer(model, response_finish(body), *usage, text, thought, called)


def response_finish(body: Mapping[str, Any]) -> str:
    """A response has a status, and says elsewhere why it is not complete."""
    why = body.get("incomplete_details")
    reason = finish_of(why.get("reason")) if isinstance(why, Mapping) else ""
    status = finish_of(body.get("status"))
    return "error" if status == "failed" else reason or status


def _message(body: Mapping[str, Any], model: str, usage: TokenCounts) -> SeenAnswer:
    parts = [part for part in body["content"] if isinstance(part, Mapping)]
    thought = "".join(str(p.get("thinking", "")) for p in parts if p.get("type") == "thinking")
    called = any(str(p.get("type", "")).endswith("tool_use") for p in parts)
    return SeenAnswer(model, finish_of(body.get("stop_reason")), *usage, parts_text(parts), thought, called)


def parts_text(parts: Any) -> str:
    """The texts of content in parts, joined."""
    if not isinstance(parts, list):
        return ""
    kept = (p.get("text") for p in parts if isinstance(p, Mapping))
    return "".join(text for text in kept if isinstance(text, str))
