"""What chat servers answer, whole or in events, read in one place for engines, the relay and the doctor.

answer = read_answer(b'{"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}]}')
answer.choices[0].message.content                                                     # '42'

Bytes that are no text and JSON that is nearly JSON (NaN, half a character) cost a character, not the answer.
Anything else that is not what a chat server promises is a ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from thinkcap.core.thinking import Delta

REASONING = ("reasoning_content", "reasoning")
"""The two names servers have for a thought."""
REPETITION = "repetition"
"""vLLM's word for an answer it ended because it ran in circles."""
CUT = ("length", REPETITION)
"""Reasons for an end that was not the model's own."""
OVERRUN = 8
"""Events beyond a limit that are let pass: a closing tag may show as an event of its own."""

_TOKEN_CHARACTERS = 256
_SPARE_CHARACTERS = 2**16

Tokens = Annotated[int, Meta(ge=0, le=2**40)]


class TokenDetails(Struct, gc=False):
    reasoning_tokens: Tokens | None = None
    cached_tokens: Tokens | None = None


class Usage(Struct, gc=False):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    completion_tokens_details: TokenDetails | None = None
    prompt_tokens_details: TokenDetails | None = None

    @property
    def reasoning_tokens(self) -> int | None:
        return self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details else None

    @property
    def cached_tokens(self) -> int | None:
        return self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else None


class ChatText(Struct, gc=False):
    """A message, or the piece of one that an event adds."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[dict[str, Any]] | None = None

    @property
    def thought(self) -> str:
        return self.reasoning_content or self.reasoning or ""

    @property
    def thought_field(self) -> str:
        """Which of the two names it came under."""
        return next((name for name in REASONING if getattr(self, name)), "")

    @property
    def characters(self) -> int:
        calls = sum(len(str(call.get("function"))) for call in self.tool_calls) if self.tool_calls else 0
        return len(self.content or "") + len(self.thought) + calls

    @property
    def answers(self) -> bool:
        return bool(self.tool_calls) or bool(self.content and self.content.strip())

    @property
    def shows(self) -> bool:
        return bool(self.content or self.reasoning_content or self.reasoning or self.tool_calls)


class ChatChoice(Struct, gc=False):
    message: ChatText | None = None
    delta: ChatText | None = None
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None

    @property
    def text(self) -> ChatText:
        return self.message or self.delta or _NOTHING


class ChatAnswer(Struct, gc=False):
    """A whole answer, or one event of a stream."""

    choices: list[ChatChoice] = []
    usage: Usage | None = None
    model: str | None = None
    timings: dict[str, Any] | None = None
    error: Any = None


_NOTHING = ChatText()
_typed = msgspec.json.Decoder(ChatAnswer)


def decoded(raw: bytes) -> Any:
    """Any JSON a server may send, with text that can be written again; a ValueError where there is none, or too
    deep."""
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        pass
    try:
        return _without_surrogates(json.loads(clean(raw.decode("utf-8", "replace"))))
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def read_event(raw: bytes) -> tuple[ChatAnswer, bytes]:
    """One event and the bytes it came in, repaired where they were no text."""
    try:
        return _typed.decode(raw), raw
    except msgspec.ValidationError as err:
        raise ValueError(f"no chat answer: {err}") from err
    except (ValueError, RecursionError):
        found = decoded(raw)
    try:
        return msgspec.convert(found, ChatAnswer), msgspec.json.encode(found)
    except msgspec.ValidationError as err:
        raise ValueError(f"no chat answer: {err}") from err


def read_answer(raw: bytes) -> ChatAnswer:
    """A whole answer: at least one choice, with a message and a reason for its end."""
    found, _ = read_event(raw)
    if found.error is None and not found.choices:
        raise ValueError("an answer without a choice")
    if found.choices and (found.choices[0].message is None or found.choices[0].finish_reason is None):
        raise ValueError("an answer without a message or a finish_reason")
    return found


def clean(text: str) -> str:
    """Without lone surrogates, which some servers' JSON holds and no UTF-8 can."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def overran(pieces: int, characters: int, limit: int) -> bool:
    """More events, or far more text, than this limit of tokens allows: the server does not keep it."""
    return pieces > limit + OVERRUN or characters > limit * _TOKEN_CHARACTERS + _SPARE_CHARACTERS


def fitting(text: str, tokens: int, limit: int) -> str:
    """The share of a text that a limit allows, where its server has written beyond it."""
    return text if tokens <= limit else text[: len(text) * limit // tokens]


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_without_surrogates(one) for one in value]
    if isinstance(value, dict):
        return {clean(key): _without_surrogates(one) for key, one in value.items()}
    return value


@dataclass
class ChatReply:
    """One answer put together: at once, or event by event."""

    content: str = ""
    thought: str = ""
    thought_field: str = ""
    finish: str | None = None
    model: str | None = None
    usage: Usage | None = None
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    logprobs: dict[str, Any] | None = None
    pieces: int = 0
    """Events that showed something."""
    characters: int = 0

    @classmethod
    def whole(cls, answer: ChatAnswer) -> ChatReply:
        choice = answer.choices[0]
        return cls(
            content=(choice.text.content or "").lstrip("\n"),
            thought=choice.text.thought,
            thought_field=choice.text.thought_field,
            finish=choice.finish_reason,
            model=answer.model,
            usage=answer.usage,
            calls=dict(enumerate(choice.text.tool_calls or ())),
            logprobs=choice.logprobs,
        )

    def add(self, event: ChatAnswer) -> list[Delta]:
        """Takes one event of a stream; what a reader may see of it comes back."""
        self.model = event.model or self.model
        self.usage = event.usage or self.usage
        shown: list[Delta] = []
        for choice in event.choices:
            shown += self._add(choice.text)
            if choice.logprobs is not None:
                self._odds(choice.logprobs)
            self.finish = choice.finish_reason or self.finish
        return shown

    def _add(self, piece: ChatText) -> list[Delta]:
        shown: list[Delta] = []
        self.pieces += piece.shows
        self.characters += piece.characters
        thought, content = piece.thought, piece.content or ""
        self.thought_field = self.thought_field or piece.thought_field
        # `transformers serve` streams the empty thought of the prompt, and the blank lines after it.
        if not self.content:
            content = content.lstrip("\n")
        blank = not self.thought.strip()
        self.thought += thought
        if thought and self.thought.strip():
            shown.append(Delta(self.thought if blank else thought, "thought"))
        if content:
            # Without a reasoning field the content may hold the tags itself: the splitter looks.
            shown.append(Delta(content, "answer" if self.thought.strip() else None))
        self.content += content
        for call in piece.tool_calls or ():
            self._call(call)
        return shown

    def _odds(self, piece: Mapping[str, Any]) -> None:
        """Log probabilities come with the tokens they are of; the lists of all events are one."""
        held = self.logprobs or {}
        self.logprobs = {**held, **piece}
        for name, found in piece.items():
            if isinstance(found, list):
                self.logprobs[name] = [*(held.get(name) or ()), *found]

    def _call(self, piece: Mapping[str, Any]) -> None:
        call = self.calls.setdefault(
            int(piece.get("index", 0)), {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""
