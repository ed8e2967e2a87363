"""Plain chat requests to a server under examination, and what can be seen of its answers.

async with Probe("http://localhost:8000/v1", "qwen3-8b", 60) as probe:
    seen = await probe.ask("What is 2 + 3?", max_tokens=64)
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from thinkcap.core.types import Mode
from thinkcap.engines.client import Client, Patience

_NAMES = ("reasoning_content", "reasoning")


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
    def __init__(self, address: str, model: str, timeout_s: float) -> None:
        base = address.partition("#")[0].rstrip("/")
        key = next((os.environ[k] for k in ("THINKCAP_API_KEY", "OPENAI_API_KEY") if os.environ.get(k)), None)
        patience = Patience(
            first_byte_s=timeout_s, between_bytes_s=timeout_s, total_s=timeout_s, attempts=2, pause_s=0.2
        )
        self._client = Client(base, key, patience)
        self._model = model
        self.switches: Mapping[Mode, Mapping[str, Any]] = {}
        """Filled in once a switch was seen to work."""

    def mode(self, mode: Mode) -> dict[str, Any]:
        return dict(self.switches.get(mode, {}))

    async def ask(self, text: str, **body: Any) -> Seen:
        return await self._client.post("/chat/completions", self._body(text, body), _whole)

    async def stream(self, text: str, **body: Any) -> Seen:
        state = _Streamed()
        await self._client.stream("/chat/completions", {**self._body(text, body), "stream": True}, state.take)
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


def _whole(answer: Any) -> Seen:
    choice = answer["choices"][0]
    message = choice["message"]
    content = message.get("content") or ""
    place = next((name for name in _NAMES if message.get(name)), "")
    thought = message.get(place) or "" if place else _tagged(content)
    usage = answer.get("usage") or {}
    timings = answer.get("timings") or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", timings.get("cache_n"))
    return Seen(
        content=content,
        thought=thought,
        place=place or ("content" if thought.strip() else ""),
        finish=str(choice.get("finish_reason")),
        tokens=usage.get("completion_tokens"),
        reasoning_tokens=(usage.get("completion_tokens_details") or {}).get("reasoning_tokens"),
        cached_tokens=cached,
        prompt_tokens=usage.get("prompt_tokens"),
    )


def _tagged(content: str) -> str:
    """A thought left inside the content; a template may have opened it without showing the tag."""
    head, close, _ = content.partition("</think>")
    if close:
        return head.removeprefix("<think>")
    return content.removeprefix("<think>") if content.startswith("<think>") else ""


class _Streamed:
    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._first = self._last = 0.0
        self._content: list[str] = []
        self._thought: list[str] = []
        self._place = ""
        self._finish = ""
        self._usage: Mapping[str, Any] = {}

    def take(self, event: Any) -> bool:
        self._usage = event.get("usage") or self._usage
        for choice in event["choices"]:
            delta = choice.get("delta") or {}
            for name in _NAMES:
                if delta.get(name):
                    self._place = name
                    self._thought.append(delta[name])
                    break
            if delta.get("content"):
                self._content.append(delta["content"])
            if delta.get("content") or any(delta.get(n) for n in _NAMES):
                self._last = time.perf_counter()
                self._first = self._first or self._last
            self._finish = choice.get("finish_reason") or self._finish
        return bool(self._finish)

    def seen(self) -> Seen:
        content = "".join(self._content)
        tagged = "" if self._place else _tagged(content)
        inside = 0
        if tagged.strip():
            # Pieces up to the closing tag are the thought's.
            size = 0
            for piece in self._content:
                inside += size < len(tagged)
                size += len(piece)
        return Seen(
            content=content,
            thought="".join(self._thought) or tagged,
            place=self._place or ("content" if tagged.strip() else ""),
            finish=self._finish,
            tokens=self._usage.get("completion_tokens"),
            pieces=len(self._content) + len(self._thought),
            thought_pieces=len(self._thought) or inside,
            first_s=self._first - self._started,
            total_s=self._last - self._started,
        )
