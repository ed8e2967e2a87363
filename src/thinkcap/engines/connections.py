"""Pooled HTTP connections to one server, and whether that server keeps a connection open after a stream.

    connections = Connections({"Authorization": "Bearer ..."}, limit=64, keepalive_s=15.0, connect_s=10.0)
    response = await connections.request("POST", url, body, None, streams=True)

llama.cpp's server announces keep-alive and closes the connection behind every stream. The next call on it meets a
closed connection, which says nothing about the server's health: it is sent again on a new connection, and later
streams to this server get connections of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

import aiohttp

_HEAD_BYTES = 2**14
_protocol: ContextVar[object] = ContextVar("protocol", default=None)
"""Of the connection that the current task uses; aiohttp does not name it if a request fails."""


class _Pool(aiohttp.TCPConnector):
    async def connect(self, *args: Any, **options: Any) -> Any:
        connection = await super().connect(*args, **options)
        _protocol.set(connection.protocol)
        return connection


class Connections:
    """Opened inside a running loop."""

    def __init__(self, headers: Mapping[str, str], limit: int, keepalive_s: float, connect_s: float) -> None:
        self.headers = headers
        self._limit = limit
        self._connect_s = connect_s
        self._pooled = self._open_session(_Pool(limit=limit, keepalive_timeout=keepalive_s))
        self._single: aiohttp.ClientSession | None = None
        """One connection per call; opened for servers that close connections after streams."""
        self._after_stream: WeakSet[Any] = WeakSet()
        """Connections whose last response was a stream."""
        self._keeps_open: bool | None = None
        """Whether the server keeps a connection open after a stream; None until a call shows it."""

    @property
    def closed(self) -> bool:
        return self._pooled.closed and (self._single is None or self._single.closed)

    async def request(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str] | None, streams: bool = False
    ) -> aiohttp.ClientResponse:
        """Return the response once its head has arrived; `streams` says that its body is a stream."""
        options: dict[str, Any] = {"data": body, "headers": headers, "allow_redirects": False}
        if streams and self._keeps_open is False:
            return await self._unpooled().request(method, url, **options)
        try:
            response = await self._pooled.request(method, url, **options)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as err:
            if _protocol.get() not in self._after_stream or isinstance(err, aiohttp.ClientConnectorError):
                raise
            self._keeps_open = False
            try:
                return await self._unpooled().request(method, url, **options)
            except aiohttp.ClientConnectorError:
                # The first connection may have delivered the call, so "never connected" would be wrong.
                raise err from None
        if self._keeps_open is None:
            self._observe(streams)
        return response

    def _observe(self, streams: bool) -> None:
        protocol = _protocol.get()
        if protocol in self._after_stream:
            self._keeps_open = True
            self._after_stream.clear()
        elif streams:
            self._after_stream.add(protocol)

    def _unpooled(self) -> aiohttp.ClientSession:
        if self._single is None:
            self._single = self._open_session(aiohttp.TCPConnector(limit=self._limit, force_close=True))
        return self._single

    def _open_session(self, connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            headers=self.headers,
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            max_line_size=_HEAD_BYTES,
            max_field_size=_HEAD_BYTES,
            # The rest is bounded by deadlines of ours, which cost less.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
        )

    async def aclose(self) -> None:
        await self._pooled.close()
        if self._single is not None:
            await self._single.close()
