"""What passes by, read without touching it: a request's cap and model, and a reply's end, whole or as a stream.

    asked = asked_in(b'{"model": "m", "max_tokens": 64}')
    stream = StreamSeen()
    stream.take(chunk)             # True once the reply's last event has come
    stream.answers()

Whatever cannot be read is simply not known: this looks on, and refuses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from thinkcap.engines.sse import EventReader, EventTooLarge
from thinkcap.logs.answered import (
    SeenAnswer,
    TokenCounts,
    answered,
    calls_in,
    count,
    finish_of,
    name_of,
    parts_text,
    response_finish,
    thought_in,
    usage_of,
)

_CAPS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "n_predict")
_LAST = frozenset(("message_stop", "response.completed", "response.incomplete", "response.failed"))
_FAILED = ("error", "response.failed")


def decoded(raw: bytes) -> Mapping[str, Any]:
    """A JSON object, or an empty one for anything else."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class SeenRequest:
    model: str = ""
    cap: int | None = None
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def question(self) -> str:
        """The conversation as text: the words alone where there is one turn, else each with its role."""
        turns = self.body.get("messages", self.body.get("input"))
        if not isinstance(turns, list):
            asked = turns if isinstance(turns, str) else self.body.get("prompt")
            return asked if isinstance(asked, str) else ""
        said = [(t.get("role"), _words(t.get("content"))) for t in turns if isinstance(t, Mapping)]
        if len(said) == 1:
            return said[0][1]
        return "\n".join(f"{role}: {text}" for role, text in said)


def _words(content: Any) -> str:
    return content if isinstance(content, str) else parts_text(content)


def asked_in(raw: bytes) -> SeenRequest:
    body = decoded(raw)
    caps = [cap for name in _CAPS if (cap := count(body.get(name))) is not None]
    return SeenRequest(name_of(body.get("model")), min(caps, default=None), body)


@dataclass
class _Choice:
    finish: str = ""
    text: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    called: bool = False


class StreamSeen:
    """Events of any of the wires, folded into the answers they make."""

    def __init__(self) -> None:
        self._reader = EventReader()
        self._choices: dict[int, _Choice] = {}
        self._model = ""
        self._usage = TokenCounts()
        self._whole: list[SeenAnswer] = []
        self._written = self._thought = 0
        self._unread = False
        self.failed = False
        """An error came in the middle: the status before it was 200."""

    @property
    def counted_by_events(self) -> bool:
        """The stream carries no usage: a piece is taken for a token, which most servers send one by one."""
        return self._usage.tokens is None and not self._whole

    def take(self, chunk: bytes) -> bool:
        """Whether the last event is in this chunk or has come before."""
        if self._unread:
            return False
        try:
            events = self._reader.feed(chunk)
        except EventTooLarge:
            self._unread = True
            return False
        last = self._reader.done
        for data in events:
            event = decoded(data)
            self._event(event)
            last = last or event.get("type") in _LAST
        return last

    def answers(self) -> list[SeenAnswer]:
        if self._whole:
            return self._whole
        alone = len(self._choices) == 1
        tokens = self._usage.tokens if not self.counted_by_events else self._written
        thought = self._usage.thought_tokens
        thought = self._thought if thought is None else thought
        return [
            SeenAnswer(
                self._model,
                one.finish,
                tokens if alone else None,
                thought if alone else None,
                self._usage.prompt_tokens if alone else None,
                "".join(one.text),
                "".join(one.thought),
                one.called,
            )
            for one in self._choices.values()
        ]

    def _event(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind in _FAILED or event.get("error"):
            self.failed = True
        if isinstance(kind, str):
            self._typed(kind, event)
            return
        self._model = self._model or name_of(event.get("model"))
        self._count(event.get("usage"))
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping):
                self._piece(choice)

    def _piece(self, choice: Mapping[str, Any]) -> None:
        one = self._choices.setdefault(count(choice.get("index")) or 0, _Choice())
        delta = choice.get("delta")
        found = delta if isinstance(delta, Mapping) else choice
        text, thought = found.get("content", found.get("text")), thought_in(found)
        self._add(one, text if isinstance(text, str) else "", thought)
        if calls_in(found):
            one.called = True
            self._written += 1
        one.finish = finish_of(choice.get("finish_reason")) or one.finish

    def _typed(self, kind: str, event: Mapping[str, Any]) -> None:
        """Events of responses and of messages, which name their kind."""
        inside = event.get("response")
        if isinstance(inside, Mapping):
            if kind in _LAST:
                self._whole = answered(inside) or [SeenAnswer(finish=response_finish(inside))]
            return
        one = self._choices.setdefault(0, _Choice())
        if kind == "message_start" and isinstance(event.get("message"), Mapping):
            self._model = name_of(event["message"].get("model"))
            self._count(event["message"].get("usage"))
        elif kind == "content_block_start" and isinstance(event.get("content_block"), Mapping):
            one.called = one.called or str(event["content_block"].get("type", "")).endswith("tool_use")
        delta = event.get("delta")
        if isinstance(delta, Mapping):
            text, thought = delta.get("text"), delta.get("thinking")
            self._add(one, text if isinstance(text, str) else "", thought if isinstance(thought, str) else "")
            one.finish = finish_of(delta.get("stop_reason")) or one.finish
        if kind == "message_delta":
            self._count(event.get("usage"))

    def _add(self, one: _Choice, text: str, thought: str) -> None:
        if text:
            one.text.append(text)
        if thought:
            one.thought.append(thought)
            self._thought += 1
        self._written += bool(text or thought)

    def _count(self, usage: Any) -> None:
        """Later counts replace earlier ones; what a later one leaves out stays."""
        new, old = usage_of(usage), self._usage
        self._usage = TokenCounts(
            old.tokens if new.tokens is None else new.tokens,
            old.thought_tokens if new.thought_tokens is None else new.thought_tokens,
            old.prompt_tokens if new.prompt_tokens is None else new.prompt_tokens,
        )
