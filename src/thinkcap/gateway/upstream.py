"""HTTP/1.1 to one model server with as little as possible between the socket and the relay.

A general client spends more on a request than the whole gateway does. This one keeps idle connections, parses with
httptools, holds back a server that writes faster than the reader reads, and hangs up on what is not wanted any
more: closing an exchange before its end is how upstream work is cancelled.

    async with upstream.ask("POST", "/v1/chat/completions", body) as reply:
        reply.status, await reply.read(timeout_s)
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import httptools

from thinkcap.core.errors import ConfigError

_HIGH_BYTES = 2**18
_HEAD_BYTES = 2**16
_BODY_BYTES = 2**25
_IDLE_S = 15.0
_IDLE_MOST = 1024


class Broken(Exception):
    """No connection, or it broke; the same request may work on another."""


class Nonsense(Exception):
    """What came is not HTTP."""


class _Wire(asyncio.Protocol):
    """One connection, one exchange at a time."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.lost = False
        self.idle_since = 0.0
        self._waiter: asyncio.Future[None] | None = None
        self.begin()

    def begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.head_done = False
        self.done = False
        self.nonsense = ""
        self._head_bytes = 0
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._paused = False
        self._keep = False
        self.busy = False

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if not self.busy or self.done:
            # Nobody asked: whatever it is, the next exchange must not read it as its answer.
            self.transport.abort()
            return
        if not self.head_done:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as err:
            self.nonsense = type(err).__name__
            self.transport.abort()
        if not self.head_done and self._head_bytes > _HEAD_BYTES:
            self.nonsense = "endless headers"
            self.transport.abort()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        framed = b"content-length" in self.headers or b"transfer-encoding" in self.headers
        if exc is None and self.head_done and not framed:
            self.done = True
        self._wake()

    # httptools' side

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.done:
            # A second answer to one question: keep nothing of it, and never use this connection again.
            self._keep = False
            return
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        if self.done:
            self._keep = False
            return
        self.status = self._parser.get_status_code()
        self.head_done = self.status >= 200
        # Asked here: at the end of the message the parser has forgotten it.
        self._keep = self._parser.should_keep_alive()

    def on_body(self, data: bytes) -> None:
        if self.done:
            return
        self._parts.append(data)
        self._size += len(data)
        if self._size > _HIGH_BYTES and not self._paused:
            self._paused = True
            self.transport.pause_reading()

    def on_message_complete(self) -> None:
        if self.head_done:
            self.done = True

    # the relay's side

    @property
    def reusable(self) -> bool:
        return self.done and self._keep and not self.lost and not self.nonsense

    def take(self) -> bytes:
        """All of the body that has come since the last call."""
        if not self._parts:
            return b""
        found = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        return found

    async def more(self) -> None:
        """Returns when anything has happened."""
        if self.lost and not self.done:
            if self.nonsense:
                raise Nonsense(self.nonsense)
            raise Broken("in the middle of an answer" if self.head_done else "before an answer")
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if self.nonsense:
            raise Nonsense(self.nonsense)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Exchange:
    """A request under way. Time-outs raise TimeoutError."""

    __slots__ = ("_head", "_upstream", "_wait_s", "_wire")

    def __init__(self, upstream: Upstream, head: bytes, wait_s: float) -> None:
        self._upstream = upstream
        self._head = head
        self._wait_s = wait_s
        self._wire: _Wire | None = None

    async def __aenter__(self) -> Exchange:
        wire = self._wire = await self._upstream.connection()
        wire.begin()
        wire.busy = True
        try:
            wire.transport.write(self._head)
            async with asyncio.timeout(self._wait_s):
                while not wire.head_done:
                    await wire.more()
        except BaseException:
            wire.transport.abort()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._wire is not None
        self._upstream.give_back(self._wire)

    @property
    def status(self) -> int:
        assert self._wire is not None
        return self._wire.status

    def header(self, name: bytes) -> str | None:
        assert self._wire is not None
        value = self._wire.headers.get(name)
        return None if value is None else value.decode("latin-1")

    async def read(self, wait_s: float, most: int = _BODY_BYTES, cut: bool = False) -> bytes:
        """The whole body; one larger than `most` is refused, or cut."""
        parts: list[bytes] = []
        size = 0
        while (part := await self.piece(wait_s)) is not None:
            parts.append(part)
            size += len(part)
            if size > most:
                if cut:
                    break
                raise Nonsense(f"an answer of more than {most} bytes")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def piece(self, wait_s: float) -> bytes | None:
        """What came since the last call; None at the end."""
        wire = self._wire
        assert wire is not None
        while True:
            if found := wire.take():
                return found
            if wire.done:
                return None
            async with asyncio.timeout(wait_s):
                await wire.more()


class Upstream:
    """Connections to one server. As many as there are exchanges at a time; idle ones are kept a while."""

    def __init__(self, address: str, key: str | None, connect_s: float) -> None:
        parts = urlsplit(address)
        if not parts.hostname:
            raise ConfigError(f"'{address}' names no host; wanted http://host:port/v1")
        self._host = parts.hostname
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._connect_s = connect_s
        self._idle: list[_Wire] = []
        fixed = [f"Host: {parts.netloc.rpartition('@')[2]}", "Accept: */*", "Accept-Encoding: identity"]
        if key:
            fixed.append(f"Authorization: Bearer {key}")
        self._fixed = "\r\n".join(fixed).encode("latin-1")

    def ask(
        self, method: str, path: str, body: bytes, wait_s: float, content_type: str = "application/json"
    ) -> Exchange:
        line = f"{method} {path} HTTP/1.1\r\n".encode("latin-1")
        kind = content_type.encode("latin-1", "replace").replace(b"\r", b"").replace(b"\n", b"")
        sized = b"\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind, len(body))
        return Exchange(self, line + self._fixed + sized + body, wait_s)

    async def connection(self) -> _Wire:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._idle:
            # The one used last is the likeliest to be alive still.
            wire = self._idle.pop()
            if not wire.lost and not wire.transport.is_closing() and now - wire.idle_since < _IDLE_S:
                return wire
            wire.transport.abort()
        try:
            async with asyncio.timeout(self._connect_s):
                _, made = await loop.create_connection(_Wire, self._host, self._port, ssl=self._tls)
        except (OSError, ssl.SSLError) as err:
            if isinstance(err, TimeoutError):
                raise
            raise Broken(type(err).__name__) from err
        return made

    def give_back(self, wire: _Wire) -> None:
        if not wire.reusable or len(self._idle) >= _IDLE_MOST:
            wire.transport.abort()
            return
        wire.busy = False
        wire.idle_since = asyncio.get_running_loop().time()
        self._idle.append(wire)

    async def aclose(self) -> None:
        for wire in self._idle:
            wire.transport.abort()
        self._idle.clear()
