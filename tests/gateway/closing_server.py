"""Servers that close connections at awkward moments, as ASGI applications around another server."""

from __future__ import annotations

from typing import Any


class ClosesAfterStreams:
    """Announces keep-alive and closes behind every stream, as llama.cpp's server does.

    The client sees the close only when it uses the connection again, which is the worst moment for it.
    """

    def __init__(self, app: Any) -> None:
        self.app = app
        self.refused = 0
        """Calls that met a closed connection."""
        self._closing: set[Any] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        transport = send.__self__.transport
        if transport in self._closing:
            self._closing.discard(transport)
            self.refused += 1
            transport.abort()
            return

        async def watch(message: Any) -> None:
            if (b"content-type", b"text/event-stream") in message.get("headers", ()):
                self._closing.add(transport)
            await send(message)

        await self.app(scope, receive, watch)


class DropsEnd:
    """Closes the connection where a stream's end belongs: no `[DONE]`, no last chunk."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return

        async def watch(message: Any) -> None:
            body, end, _ = message.get("body", b"").partition(b"data: [DONE]")
            if not end:
                await send(message)
                return
            await send({**message, "body": body, "more_body": True})
            send.__self__.transport.close()

        await self.app(scope, receive, watch)
