"""One client's connection: what is outside the body is bounded in size and time, and a body nobody reads ends it.

    uvicorn.Config(app, http=bounded(header_bytes=32768, arrival_s=20.0))

A request's head, the framing of its chunks and its trailers count against one limit. An answer that is complete
before its request is says `connection: close`; what still comes is thrown away for a moment, so that the client
can read the answer, and then the connection is cut.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thinkcap.gateway.refusal import Refusal

_CHUNK_BYTES = 16
"""What the framing of one chunk may take: its length, two line ends, and a little more."""
_LINGER_S = 1.0
_LINGER_BYTES = 2**20


def bounded(header_bytes: int, arrival_s: float) -> type[HttpToolsProtocol]:
    """uvicorn's protocol with these limits."""

    class Bounded(_BoundedConnection):
        _header_bytes = header_bytes
        _arrival_s = arrival_s

    return Bounded


class _BoundedConnection(HttpToolsProtocol):
    _header_bytes: int
    _arrival_s: float

    _outside = 0
    """Bytes since the request began that were no body: the head, framing, trailers."""
    _in_head = True
    _request_open = False
    """A request has begun and has not ended."""
    _deaf = False
    """The last word is said; what still comes is thrown away."""
    _swallowed = 0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            self._swallowed += len(data)
            if self._swallowed > _LINGER_BYTES:
                self.transport.abort()
            return
        self._outside += len(data)
        super().data_received(data)
        if self._request_open and self._in_head and self._late is None:
            # Most heads come whole, and a clock for each would cost more than reading it.
            self._start_clock()
        # After the parser, which took the body's share off: one piece of data may hold a head and part of a body.
        if self._outside > self._header_bytes:
            self._refuse(Refusal("the headers or trailers are too large", status=431, code="headers_too_large"))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = self._request_open = True

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_clock()
        # Part of the body may have come with the head, so this much alone does not make the head too large.
        if self._outside > self._header_bytes and self._head_bytes() > self._header_bytes:
            self._refuse(Refusal("the headers are too large", status=431, code="headers_too_large"))
        if self._deaf:
            return
        before = self.cycle
        super().on_headers_complete()
        # The parser reports trailers as headers; these go where nobody reads them. Their size is bounded as well.
        self.headers = []
        if self.cycle is not before:
            self.cycle.transport = _LingeringTransport(self)  # type: ignore[assignment]
            # Until the request has ended: an answer that comes earlier then says `connection: close`.
            self._keep_alive, self.cycle.keep_alive = self.cycle.keep_alive, False

    def on_chunk_header(self) -> None:
        self._outside = max(0, self._outside - _CHUNK_BYTES)

    def on_body(self, body: bytes) -> None:
        self._outside -= len(body)
        if not self._deaf:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._request_open, self._in_head = False, True
        self._outside = 0
        if self._deaf:
            return
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keep_alive
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self._deaf:
            self.server_state.total_requests += 1
        else:
            super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        # The parser may stumble over what follows a refusal; the client has its answer by then.
        if not self._deaf and not self.transport.is_closing():
            super().send_400_response(msg)

    def finish(self) -> None:
        """Closes at once where nothing is left to read, and courteously where the client is still sending."""
        if self.transport.is_closing() or self._deaf:
            return
        if not self._request_open or not self.transport.can_write_eof():
            self.transport.close()
            return
        self._deaf = True
        # A socket closed with unread data is reset, and the client might never see its answer.
        self.flow.resume_reading()
        self.transport.write_eof()
        self._late = self.loop.call_later(_LINGER_S, self.transport.abort)

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)

    def _refuse(self, err: Refusal) -> None:
        if self.transport.is_closing() or self._deaf:
            return
        if self.cycle is None or self.cycle.response_complete or self._in_head:
            body = err.body()
            head = b"HTTP/1.1 %d Refused\r\ncontent-type: application/json\r\nconnection: close\r\n" % err.status
            self.transport.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        else:
            # An answer may be under way; two would be nonsense.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._request_open = True
        self.finish()

    def _too_late(self) -> None:
        self._late = None
        if self._request_open:
            self._refuse(Refusal("the headers came too slowly", status=408, code="request_timeout"))
        elif not self.transport.is_closing():
            self.transport.close()

    def _start_clock(self) -> None:
        self._late = self.loop.call_later(self._arrival_s, self._too_late)

    def _stop_clock(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _LingeringTransport:
    """What an answer writes to. Its head waits for the first piece of the body, since a write for each costs more
    than all the rest; closing is left to the connection, which knows whether the client still sends."""

    __slots__ = ("_connection", "_head", "_write", "is_closing")

    def __init__(self, connection: _BoundedConnection) -> None:
        self._connection = connection
        self._head: bytes | None = None
        self._write = connection.transport.write
        self.is_closing = connection.transport.is_closing

    def write(self, data: bytes) -> None:
        if self._head is None:
            self._head = data
            self._connection.loop.call_soon(self._flush)
        elif self._head:
            head, self._head = self._head, b""
            self._write(head + data)
        else:
            self._write(data)

    def close(self) -> None:
        self._flush()
        self._connection.finish()

    def _flush(self) -> None:
        head, self._head = self._head, b""
        if head and not self.is_closing():
            self._write(head)
