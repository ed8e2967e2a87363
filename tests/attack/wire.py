"""Bytes as an attacker sends them, from either side."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from running import in_thread

from patience import PATIENCE_S

CHAT = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def flood(address: str, head: bytes, piece: bytes, most: int, seconds: float = 30.0) -> tuple[int, bytes]:
    """Sends the head, then the piece until the other side hangs up. Bytes of pieces sent, and what it said."""
    parts = urlsplit(address)
    assert parts.hostname
    sent, deadline = 0, time.monotonic() + seconds
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=PATIENCE_S) as wire:
        wire.sendall(head)
        try:
            while sent < most and time.monotonic() < deadline:
                wire.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        return sent, _rest(wire)


def _rest(wire: socket.socket) -> bytes:
    found = b""
    try:
        while data := wire.recv(65536):
            found += data
    except OSError:
        pass
    return found


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


@contextmanager
def upstream(handler: Handler) -> Iterator[str]:
    """A model server made of bytes: `handler` gets each request whole, and writes what it likes."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[str]:
        async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while head := await reader.readuntil(b"\r\n\r\n"):
                    size = next(
                        (
                            int(line[15:])
                            for line in head.lower().split(b"\r\n")
                            if line.startswith(b"content-length:")
                        ),
                        0,
                    )
                    await handler(reader, writer, head + await reader.readexactly(size))
                    await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(met, "127.0.0.1", 0)
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        server.close()

    with in_thread(opening) as address:
        yield address


def answer(body: bytes, status: int = 200, kind: bytes = b"application/json", more: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %d X\r\nContent-Type: %b\r\nContent-Length: %d\r\n%b\r\n" % (status, kind, len(body), more)
    return head + body


MODELS = answer(b'{"data": [{"id": "m", "object": "model"}]}')
NO = answer(b'{"error": {"message": "no such path"}}', 404)


def resident_mb() -> float:
    """Memory this process holds now."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
