"""A model server's answer on the short way: looked at, handed on, and cut where it goes beyond its limit.

state = StreamInspector(call, fields=(), cap=64)
out = state.take(events)             # bytes for the client, possibly none yet
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinkcap.engines.answers import (
    REASONING,
    REPETITION,
    ChatChoice,
    Usage,
    decoded,
    fitting,
    overran,
    read_event,
)
from thinkcap.gateway.call import Call
from thinkcap.gateway.replies import DONE, encode

_SILENT_BYTES = 2**18


class StreamError(Exception):
    """The server put an error into its stream."""

    def __init__(self, error: Any) -> None:
        super().__init__("an error inside a stream")
        self.error = error


def renamed(body: dict[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """The same object with its reasoning under other names."""
    for choice in body["choices"]:
        text = choice.get("message") or choice.get("delta") or {}
        found = [text.pop(name) for name in REASONING if name in text]
        if any(found):
            text |= dict.fromkeys(fields, next(thought for thought in found if thought))
    return body


def known_finish(data: bytes) -> bytes:
    """A repetition is the server's to know; clients know that an answer was cut."""
    body = decoded(data)
    body["choices"][0]["finish_reason"] = "length"
    return encode(body)


def cut(body: dict[str, Any], tokens: int, cap: int) -> dict[str, Any]:
    """A whole answer with the share of its text that fits the cap, and `length` as the reason it ended."""
    choice = body["choices"][0]
    text = choice["message"]
    thoughts = [name for name in REASONING if text.get(name)]
    thought = text[thoughts[0]] if thoughts else ""
    kept = len(fitting(thought + (text.get("content") or ""), tokens, cap))
    for name in thoughts:
        text[name] = thought[:kept]
    text["content"] = (text.get("content") or "")[: max(0, kept - len(thought))]
    choice["finish_reason"] = "length"
    return body


class StreamInspector:
    """One stream: what came so far, what may be handed on now, and what has to wait for the end."""

    def __init__(self, call: Call, fields: Sequence[str], cap: int) -> None:
        self._fields = fields
        self._cap = cap
        self._characters = 0
        self._usage_wanted = call.usage_wanted
        self._keep_content = call.format is not None
        self._silent: list[bytes] = []
        """Events that show nothing, before the first that does: until then an error can still be a plain one."""
        self._silent_bytes = 0
        self._last: bytes | None = None
        self._usage_event = b""
        self.shown = 0
        self.begun = False
        self.answers = False
        self.content = ""
        self.finish: str | None = None
        self.usage: Usage | None = None
        self.over = False
        """The server writes on beyond its limit: time to hang up."""

    def take(self, events: Sequence[bytes]) -> bytes:
        """A ValueError where an event is not what a chat server sends."""
        out: list[bytes] = []
        for raw in events:
            chunk, data = read_event(raw)
            if chunk.error is not None:
                raise StreamError(chunk.error)
            if chunk.usage is not None:
                self.usage = chunk.usage
            if chunk.choices:
                out.append(self._choice(chunk.choices[0], data))
            else:
                self._usage_event = b"data: " + data + b"\n\n" if chunk.usage is not None else b""
            if self.over:
                break
        return b"".join(out)

    def end(self, about: dict[str, Any]) -> bytes:
        """The finish event with what happened in it, the usage where it was asked for, and the end mark."""
        last = decoded(self._last) if self._last else {"object": "chat.completion.chunk", "choices": []}
        event = b"data: " + encode({**last, "thinkcap": about}) + b"\n\n"
        return b"".join(self._silent) + event + (self._usage_event if self._usage_wanted else b"") + DONE

    def _choice(self, part: ChatChoice, data: bytes) -> bytes:
        text = part.text
        shows = text.shows
        if shows:
            self.shown += 1
            self._characters += text.characters
            self.answers = self.answers or text.answers
            if self._keep_content:
                self.content += text.content or ""
            if self._fields:
                data = encode(renamed(decoded(data), self._fields))
        if part.finish_reason is not None:
            self.finish = part.finish_reason
            self._last = known_finish(data) if self.finish == REPETITION else data
            return b""
        if overran(self.shown, self._characters, self._cap):
            self._hang_up(data)
            return b""
        ready = b"data: " + data + b"\n\n"
        if not shows and not self.begun:
            self._keep(ready)
            return b""
        self.begun = True
        if self._silent:
            ready = b"".join(self._silent) + ready
            self._silent.clear()
        return ready

    def _keep(self, ready: bytes) -> None:
        self._silent.append(ready)
        self._silent_bytes += len(ready)
        if self._silent_bytes > _SILENT_BYTES:
            raise ValueError(f"more than {_SILENT_BYTES} bytes of events that show nothing")

    def _hang_up(self, data: bytes) -> None:
        self.over, self.finish = True, "length"
        event = decoded(data)
        event["choices"] = [{"index": 0, "delta": {}, "finish_reason": "length"}]
        self._last = encode(event)
