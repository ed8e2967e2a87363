"""One request and its reply, looked at while both go by: what the journal, the counts and the guard need of them.

    one = Onlooker(scope, arm="watch")
    one.request(piece)
    one.start(200, headers)
    one.take(chunk)                # True once the reply's last event is in it
    one.entry(key="alice")

Nothing here changes a byte, and what cannot be read is passed on all the same.
"""

from __future__ import annotations

import secrets
import time
import zlib
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Literal

from starlette.types import Message, Scope, Send

from thinkcap.gateway.telemetry.carried import carried
from thinkcap.gateway.watch.guard import SeenEnd
from thinkcap.gateway.watch.seen import SeenRequest, StreamSeen, asked_in, decoded
from thinkcap.logs.answered import SeenAnswer, answered

WIRES = ("/chat/completions", "/completions", "/responses", "/messages")
"""Paths whose requests ask for an answer; others pass and are not in the journal."""
KEPT_BYTES = 2**24
"""Of a request or a reply, to be read; what is longer passes all the same and is not read."""

ArmName = Literal["watch", "hold", "shadow"]


class Onlooker:
    def __init__(self, scope: Scope, arm: ArmName = "watch", name: str = "") -> None:
        self.scope, self.arm = scope, arm
        self.name = name or secrets.token_hex(8)
        """By which a line of the journal is found again. It says nothing about the request."""
        self.at, self.began = time.time(), time.perf_counter()
        self.wire = next((w for w in WIRES if scope["path"].endswith(w)), "") if scope["method"] == "POST" else ""
        self.status = 0
        self.first: float | None = None
        self.last: float | None = None
        self.complete = self.broken = self.streamed = False
        """`broken`: it ended in the middle, and not because the client left."""
        self.unread = self.policy = ""
        self._sent: list[bytes] = []
        self._size = 0
        self._reply: list[bytes] = []
        self._kept = 0
        self._stream: StreamSeen | None = None
        self._inflate: Callable[[bytes], bytes] | None = lambda chunk: chunk

    def request(self, piece: bytes) -> None:
        self._size += len(piece)
        if self.wire and self._size <= KEPT_BYTES:
            self._sent.append(piece)
        elif self.wire:
            self._sent, self.unread = [], "a long request"

    @property
    def body(self) -> bytes:
        return b"".join(self._sent)

    def start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        named = {name.lower(): value.decode("latin-1") for name, value in headers}
        self.status = status
        self.streamed = named.get(b"content-type", "").startswith("text/event-stream")
        # Ours says which policy it was: `policy=close; chosen_by=profile; cap=512`.
        self.policy = named.get(b"x-thinkcap", "").partition(";")[0].removeprefix("policy=")
        if self.wire:
            encoding = named.get(b"content-encoding", "identity")
            self._inflate = _inflating(encoding.lower())
            self._stream = StreamSeen() if self.streamed else None
            if self._inflate is None:
                self.unread = f"compressed as {encoding[:20]}"

    def take(self, chunk: bytes) -> bool:
        """Whether this is the last that a client waits for."""
        if self.first is None:
            self.first = time.perf_counter()
        if not self.wire or self._inflate is None:
            return False
        try:
            plain = self._inflate(chunk)
        except zlib.error:
            self._inflate, self.unread = None, "broken compression"
            return False
        self._kept += len(plain)
        if self._kept > KEPT_BYTES:
            self._inflate, self.unread, self._reply = None, "a long reply", []
            return False
        if self._stream is not None:
            return self._stream.take(plain)
        self._reply.append(plain)
        return False

    def end(self) -> None:
        """All of the reply has come, or as much of it as ever will."""
        if not self.complete:
            self.last, self.complete = time.perf_counter(), True

    def sending(self, send: Send, noted: Callable[[], None]) -> Send:
        """`send` of an application of ours, looked at; `noted` is called before the last byte goes out."""

        async def looked(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.start(message["status"], message["headers"])
            elif self.take(message.get("body", b"")) or not message.get("more_body"):
                self.end()
                noted()
            await send(message)

        return looked

    @cached_property
    def asked(self) -> SeenRequest:
        return asked_in(self.body)

    @cached_property
    def answers(self) -> list[SeenAnswer]:
        """Asked for once the reply is complete."""
        if self.status >= 400:
            return []
        return self._stream.answers() if self._stream else answered(decoded(b"".join(self._reply)))

    @property
    def failed(self) -> bool:
        return self.status >= 400 or self._cut_short

    @property
    def _cut_short(self) -> bool:
        return self.broken or (self._stream is not None and self._stream.failed)

    @property
    def outcome(self) -> SeenEnd | None:
        """None where the client left, or where nobody could read what came."""
        if self.unread or not (self.complete or self.failed):
            return None
        empty = not self.failed and all(one.empty for one in self.answers)
        return SeenEnd(self.failed, empty, (self.last or time.perf_counter()) - self.began)

    def entry(self, key: str) -> dict[str, Any]:
        """Its line of the journal, without any text."""
        asked, answers = self.asked, self.answers
        by_events = self._stream is not None and self._stream.counted_by_events
        return {
            "watch": 1,
            "id": self.name,
            "at": round(self.at, 3),
            "arm": self.arm,
            "wire": self.wire,
            "model": asked.model or (answers[0].model if answers else ""),
            "key": key,
            "cap": asked.cap,
            "stream": self.streamed,
            "status": self.status,
            "complete": self.complete and not self._cut_short,
            "first_s": None if self.first is None else round(self.first - self.began, 4),
            "seconds": round((self.last or time.perf_counter()) - self.began, 4),
            "tokens_by": "events" if by_events else "usage",
            "unread": self.unread,
            **({"policy": self.policy} if self.policy else {}),
            **({"request_id": asked_as} if (asked_as := carried(self.scope).get("x-request-id")) else {}),
            "answers": [described(a) for a in answers],
        }


def described(one: SeenAnswer) -> dict[str, Any]:
    return {
        "finish": one.finish,
        "tokens": one.tokens,
        "thought_tokens": one.thought_tokens,
        "prompt_tokens": one.prompt_tokens,
        "empty": one.empty,
        "thought": bool(one.thought),
    }


def _inflating(encoding: str) -> Callable[[bytes], bytes] | None:
    """Reads what a server packs for the client; None for what is not unpacked here."""
    if encoding == "identity":
        return lambda chunk: chunk
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return None
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
    return lambda chunk: unpack.decompress(chunk, KEPT_BYTES)
