"""Plain chat requests to a server under examination, and what can be seen of its answers.

async with Probe("http://localhost:8000/v1", "qwen3-8b", 60) as probe:
    seen = await probe.ask("What is 2 + 3?", max_tokens=64)
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import msgspec

from thinkcap.core.marks import PLAIN, Marks
from thinkcap.core.types import Mode
from thinkcap.engines.answers import ChatAnswer, ChatReply, Usage, read_answer, read_event
from thinkcap.engines.client import Client
from thinkcap.engines.fleet import Fleet
from thinkcap.engines.retry import RetryPolicy, key_for


@dataclass(frozen=True)
class Seen:
    content: str
    thought: str
    place: str
    """The field reasoning was found in; `content` where it stood between tags there."""
    finish: str
    tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    prompt_tokens: int | None = None
    pieces: int = 0
    thought_pieces: int = 0
    first_s: float = 0.0
    total_s: float = 0.0

    @property
    def thinks(self) -> bool:
        return bool(self.thought.strip())

    @property
    def json_keys(self) -> set[str]:
        try:
            found = json.loads(self.content)
        except ValueError:
            return set()
        return set(found) if isinstance(found, dict) else set()


class Probe:
    def __init__(
        self, address: str, model: str, timeout_s: float, marks: Marks = PLAIN, fleet: Fleet | None = None
    ) -> None:
        base = address.partition("#")[0].rstrip("/")
        retry = RetryPolicy(
            first_byte_s=timeout_s, between_bytes_s=timeout_s, total_s=timeout_s, attempts=2, pause_s=0.2
        )
        self._client = Client(base, key_for(base), retry, fleet=fleet)
        self._model = model
        self._marks = marks
        self.switches: Mapping[Mode, Mapping[str, Any]] = {}
        """Filled in once a switch was seen to work."""

    def mode(self, mode: Mode) -> dict[str, Any]:
        return dict(self.switches.get(mode, {}))

    async def ask(self, text: str, **body: Any) -> Seen:
        return await self._client.send(
            "/chat/completions",
            msgspec.json.encode(self._body(text, body)),
            lambda raw: _whole(read_answer(raw), self._marks),
        )

    async def stream(self, text: str, **body: Any) -> Seen:
        state = _Streamed(self._marks)
        await self._client.stream(
            "/chat/completions",
            {**self._body(text, body), "stream": True},
            state.take,
            lambda raw: read_event(raw)[0],
        )
        return state.seen()

    def _body(self, text: str, more: Mapping[str, Any]) -> dict[str, Any]:
        messages = [{"role": "user", "content": text}]
        return {"model": self._model, "messages": messages, "temperature": 0, **more}

    async def __aenter__(self) -> Probe:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()


def _whole(answer: ChatAnswer, marks: Marks) -> Seen:
    text = answer.choices[0].text
    content = text.content or ""
    thought = text.thought or _tagged(content, marks)
    usage = answer.usage or Usage()
    # llama-server counts what its cache served beside the usage.
    cached = usage.cached_tokens if usage.cached_tokens is not None else (answer.timings or {}).get("cache_n")
    return Seen(
        content=content,
        thought=thought,
        place=text.thought_field or ("content" if thought.strip() else ""),
        finish=str(answer.choices[0].finish_reason),
        tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cached_tokens=cached,
        prompt_tokens=usage.prompt_tokens,
    )


def _tagged(content: str, marks: Marks) -> str:
    """A thought left inside the content; a template may have opened it without showing the tag."""
    head, close, _ = content.partition(marks.close_tag)
    if close:
        return head.removeprefix(marks.open_tag)
    opened = marks.open_tag and content.startswith(marks.open_tag)
    return content.removeprefix(marks.open_tag) if opened else ""


class _Streamed:
    """A reply as it comes, with the pieces and when they came."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._started = time.perf_counter()
        self._first = self._last = 0.0
        self._reply = ChatReply()
        self._content: list[str] = []
        self._thoughts = 0

    def take(self, event: ChatAnswer) -> bool:
        self._reply.add(event)
        for choice in event.choices:
            text = choice.text
            if text.content:
                self._content.append(text.content)
            self._thoughts += bool(text.thought)
            if text.content or text.thought:
                self._last = time.perf_counter()
                self._first = self._first or self._last
        return self._reply.finish is not None

    def seen(self) -> Seen:
        reply, content = self._reply, "".join(self._content)
        tagged = "" if reply.thought_field else _tagged(content, self._marks)
        inside = 0
        if tagged.strip():
            # Pieces up to the closing tag are the thought's.
            size = 0
            for piece in self._content:
                inside += size < len(tagged)
                size += len(piece)
        return Seen(
            content=content,
            thought=reply.thought or tagged,
            place=reply.thought_field or ("content" if tagged.strip() else ""),
            finish=reply.finish or "",
            tokens=reply.usage.completion_tokens if reply.usage else None,
            pieces=len(self._content) + self._thoughts,
            thought_pieces=self._thoughts or inside,
            first_s=self._first - self._started,
            total_s=self._last - self._started,
        )
