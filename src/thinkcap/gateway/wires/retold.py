"""A chat server's own answer, handed on by a wire that is not chat, or without its thought.

body = retold(chat_body, about, call, wire.encoder(call, fields))
async for events in retold_stream(relay.streamed(call, choice, cap, ()), call, encoder): ...
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from thinkcap.core.types import Answer, Completion, Question, Request, Run, Step
from thinkcap.engines.answers import REASONING, decoded
from thinkcap.gateway.call import Call
from thinkcap.gateway.replies import Encoder, Finished


def retold(body: bytes, about: Mapping[str, Any], call: Call, encoder: Encoder) -> bytes:
    answer = decoded(body)
    seen = _Seen()
    seen.take(answer["choices"][0], answer["choices"][0]["message"])
    seen.prompt = (answer.get("usage") or {}).get("prompt_tokens") or 0
    return encoder.whole([seen.finished(call, about)], about)


async def retold_stream(events: AsyncIterator[bytes], call: Call, encoder: Encoder) -> AsyncIterator[bytes]:
    """Batches of chat events become batches of the wire's; what fails, fails as it did."""
    seen = _Seen()
    opened = False
    about: Mapping[str, Any] = {}
    async with aclosing(events) as batches:  # type: ignore[type-var]
        async for batch in batches:
            out = b""
            for line in batch.split(b"\n\n"):
                if not line.startswith(b"data: {"):
                    continue
                chunk = decoded(line[6:])
                about = chunk.get("thinkcap") or about
                seen.prompt = (chunk.get("usage") or {}).get("prompt_tokens") or seen.prompt
                for choice in chunk.get("choices") or ():
                    thought, content = seen.take(choice, choice.get("delta") or {})
                    if not opened and (content or (thought and not call.hides_thought)):
                        # First of all: events of some wires are numbered as they are written.
                        opened, out = True, encoder.open(0)
                    out += encoder.thought(0, thought) if thought else b""
                    out += encoder.content(0, content) if content else b""
            if out:
                yield out
    one = seen.finished(call, about)
    begun = b"" if opened else encoder.open(0)
    yield begun + encoder.end(one, about) + encoder.last([one], call.usage_wanted)


class _Seen:
    """What a server has said so far, whole or in pieces."""

    def __init__(self) -> None:
        self._content = ""
        self._thought = ""
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish = "stop"
        self._stop_word = ""
        self._odds: list[Any] = []
        self.prompt = 0

    def take(self, choice: Mapping[str, Any], text: Mapping[str, Any]) -> tuple[str, str]:
        # Some servers send a thought under both of its names.
        thought = next((said for name in REASONING if (said := text.get(name))), "")
        content = text.get("content") or ""
        self._thought += thought
        self._content += content
        for at, piece in enumerate(text.get("tool_calls") or ()):
            self._called(piece.get("index", at), piece)
        self._finish = choice.get("finish_reason") or self._finish
        # vLLM says which of the caller's words ended the answer.
        word = choice.get("stop_reason")
        self._stop_word = word if isinstance(word, str) else self._stop_word
        self._odds += (choice.get("logprobs") or {}).get("content") or []
        return thought, content

    def _called(self, index: int, piece: Mapping[str, Any]) -> None:
        fresh = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = self._calls.setdefault(index, fresh)
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""

    def finished(self, call: Call, about: Mapping[str, Any]) -> Finished:
        stage = about["stages"][0]
        extras: dict[str, Any] = {"tool_calls": list(self._calls.values())} if self._calls else {}
        if self._odds:
            extras["logprobs"] = {"content": self._odds}
        done = Completion(
            text=self._content,
            ended=stage["ended"],
            tokens=stage["tokens"] or 0,
            answer=self._content,
            think_tokens=stage["reasoning_tokens"],
            prompt_tokens=self.prompt,
            extras=extras,
        )
        asked = Request(Question("chat", tuple(call.messages)), "nothink", about["cap"], stage=stage["stage"])
        run = Run(Answer(self._content, stage["stage"], done), (Step(asked, done),))
        return Finished(0, run, self._content, self._thought, self._finish, stop_word=self._stop_word)
