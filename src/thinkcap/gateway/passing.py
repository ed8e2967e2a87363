"""A model server's answer, looked at in passing: what nobody needs is skipped, bytes go on as they came.

state = Passing(call, fields=(), cap=64, mask=Mask())
out = state.take(chunk)              # bytes for the client, possibly none yet
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from thinkcap.engines.masking import Mask
from thinkcap.gateway.refusal import UPSTREAM, Refusal, of_status
from thinkcap.gateway.replies import DONE, encode
from thinkcap.gateway.wire import Call

_EVENT_BYTES = 2**20
_SLACK = 8
"""Events beyond the cap that are let pass: a closing tag may show as an event of its own."""
_NAMES = ("reasoning_content", "reasoning")


class Details(Struct):
    reasoning_tokens: int | None = None


class Usage(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    completion_tokens_details: Details | None = None


class Message(Struct):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[Any] | None = None

    @property
    def answers(self) -> bool:
        return bool(self.tool_calls) or bool(self.content and self.content.strip())

    @property
    def shows(self) -> bool:
        return bool(self.content or self.reasoning_content or self.reasoning or self.tool_calls)


class Choice(Struct):
    message: Message
    finish_reason: str


class Whole(Struct):
    choices: list[Choice]
    usage: Usage | None = None


class _Part(Struct):
    delta: Message | None = None
    finish_reason: str | None = None


class _Chunk(Struct):
    choices: list[_Part] = []
    usage: Usage | None = None
    error: Any = None


_whole = msgspec.json.Decoder(Whole)
_chunk = msgspec.json.Decoder(_Chunk)
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def garbled(what: str) -> Refusal:
    return Refusal(f"the model server sent {what}", status=502, kind=UPSTREAM, code="upstream_garbled")


def read_whole(raw: bytes) -> Whole:
    try:
        found = _whole.decode(raw)
    except _BROKEN as err:
        raise garbled("an answer that is no chat completion") from err
    if not found.choices:
        raise garbled("an answer without a choice")
    return found


def renamed(raw: bytes, fields: tuple[str, ...]) -> bytes:
    """The same object with its reasoning under other names."""
    body = msgspec.json.decode(raw)
    for choice in body["choices"]:
        message = choice.get("message") or choice.get("delta") or {}
        found = [message.pop(name) for name in _NAMES if name in message]
        if any(found):
            message |= dict.fromkeys(fields, next(text for text in found if text))
    return encode(body)


class Passing:
    """One stream: what came so far, what may be handed on now, and what has to wait for the end."""

    def __init__(self, call: Call, fields: tuple[str, ...], cap: int, mask: Mask) -> None:
        self._fields = fields
        self._mask = mask
        self._most = cap + _SLACK
        self._usage_wanted = call.usage_wanted
        self._keep_content = call.format is not None
        self._held = b""
        self._silent: list[bytes] = []
        """Events that show nothing, before the first that does: until then an error can still be a plain one."""
        self._last: bytes | None = None
        self._usage_event = b""
        self._shown = 0
        self.begun = False
        self.answers = False
        self.content = ""
        self.finish: str | None = None
        self.usage: Usage | None = None
        self.over = False
        """The server writes on beyond its limit: time to hang up."""

    def take(self, chunk: bytes) -> bytes:
        held = self._held + chunk if self._held else chunk
        if b"\r" in held:
            # A CR at the very end may be half of a line end; wait for the rest.
            tail = b"\r" if held.endswith(b"\r") else b""
            held = held.removesuffix(b"\r").replace(b"\r\n", b"\n") + tail
        *events, self._held = held.split(b"\n\n")
        if len(self._held) > _EVENT_BYTES:
            raise garbled(f"an event of more than {_EVENT_BYTES} bytes")
        out = [data for event in events if (data := self._event(event))]
        return b"".join(out)

    def end(self, about: dict[str, Any]) -> bytes:
        """The finish event with what happened in it, the usage where it was asked for, and the end mark."""
        last = self._last if self._last is not None else b'{"object":"chat.completion.chunk","choices":[]}'
        event = b"data: " + last.rstrip()[:-1] + b',"thinkcap":' + encode(about) + b"}\n\n"
        silent = b"".join(self._silent)
        return silent + event + (self._usage_event if self._usage_wanted else b"") + DONE

    def _event(self, event: bytes) -> bytes:
        data = event[5:].lstrip() if event.startswith(b"data:") and b"\n" not in event else _data(event)
        if not data or data == b"[DONE]" or self.over:
            return b""
        try:
            chunk = _chunk.decode(data)
        except _BROKEN as err:
            raise garbled("a stream event that is no chat completion chunk") from err
        if chunk.error is not None:
            raise _said(chunk.error, self._mask)
        if chunk.usage is not None:
            self.usage = chunk.usage
        if not chunk.choices:
            self._usage_event = b"data: " + data + b"\n\n"
            return b""
        part = chunk.choices[0]
        shows = part.delta is not None and part.delta.shows
        if part.delta is not None and shows:
            self._shown += 1
            self.answers |= part.delta.answers
            if self._keep_content:
                self.content += part.delta.content or ""
        if self._fields and shows:
            data = renamed(data, self._fields)
        if part.finish_reason is not None:
            self.finish = part.finish_reason
            self._last = data
            return b""
        if self._shown > self._most:
            self._hang_up(data)
            return b""
        ready = b"data: " + data + b"\n\n"
        if not shows and not self.begun:
            self._silent.append(ready)
            return b""
        self.begun = True
        if self._silent:
            ready = b"".join(self._silent) + ready
            self._silent.clear()
        return ready

    def _hang_up(self, data: bytes) -> None:
        self.over, self.finish = True, "length"
        event = msgspec.json.decode(data)
        event["choices"] = [{"index": 0, "delta": {}, "finish_reason": "length"}]
        self._last = encode(event)


def _data(event: bytes) -> bytes:
    """An event of several lines; comments and other fields are not data."""
    lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines).strip()


def _said(error: Any, mask: Mask) -> Refusal:
    code = error.get("code") if isinstance(error, dict) else None
    words = mask(str(error.get("message", error) if isinstance(error, dict) else error))
    return of_status(code if isinstance(code, int) and 400 <= code < 600 else 502, words)
