"""The one client, against servers made of bytes: what is bounded, what is reused, what is cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from patience import PATIENCE_S, comes
from thinkcap.core.errors import EngineError, EngineGarbled, EngineTimeout, EngineUnreachable
from thinkcap.engines.client import ANSWER_BYTES, Client
from thinkcap.engines.retry import RetryPolicy

Write = Callable[[asyncio.StreamWriter], Awaitable[None]]
ONCE = RetryPolicy(PATIENCE_S, PATIENCE_S, PATIENCE_S, PATIENCE_S, attempts=1)


class Server:
    def __init__(self, write: Write) -> None:
        self._write = write
        self.connections = 0
        self.requests = 0
        self.cut = asyncio.Event()

    async def met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.lower().split(b"\r\n")
                size = next((int(n[15:]) for n in lines if n.startswith(b"content-length:")), 0)
                await reader.readexactly(size)
                self.requests += 1
                await self._write(writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.cut.set()
        finally:
            writer.close()


@asynccontextmanager
async def serving(answer: bytes | Write, **more: Any) -> AsyncIterator[tuple[Client, Server]]:
    async def plain(writer: asyncio.StreamWriter) -> None:
        assert isinstance(answer, bytes)
        writer.write(answer)

    server = Server(plain if isinstance(answer, bytes) else answer)
    listening = await asyncio.start_server(server.met, "127.0.0.1", 0)
    client = Client(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", **{"retry": ONCE, **more})
    try:
        yield client, server
    finally:
        await client.aclose()
        listening.close()


def whole(body: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%b\r\n" % (len(body), more) + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    framed = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framed + end


async def events(client: Client) -> list[bytes]:
    return [data async for batch in client.events("/x", b"{}") for data in batch]


@pytest.mark.parametrize("answer", [whole(b'{"a": 1}'), chunked(b'{"a"', b": 1}")])
async def test_a_connection_serves_many_requests(answer: bytes) -> None:
    async with serving(answer) as (client, server):
        for _ in range(5):
            assert await client.get("/x") == {"a": 1}
        assert (server.connections, server.requests) == (1, 5)


async def test_a_stream_read_to_its_end_leaves_its_connection_to_the_next() -> None:
    async with serving(chunked(b"data: 1\n\nda", b"ta: 2\n\ndata: [DONE]\n\n")) as (client, server):
        for _ in range(3):
            assert await events(client) == [b"1", b"2"]
        assert server.connections == 1


async def test_a_stream_that_is_left_is_cut() -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"data: 1\n\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with serving(endless) as (client, server):
        batches = client.events("/x", b"{}")
        assert await anext(batches)
        await batches.aclose()
        await asyncio.wait_for(server.cut.wait(), PATIENCE_S)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"SSH-2.0-OpenSSH\r\n", EngineError),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000, EngineError),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, EngineError),
        (whole(b'{"a": 1}', b"Content-Encoding: gzip\r\n"), EngineGarbled),
        (whole(b"not json"), EngineGarbled),
        (whole(b"[" * 100_000), EngineGarbled),
        (chunked(b"{", end=b"zz\r\n"), EngineError),
    ],
)
async def test_broken_answers_have_names(answer: bytes, error: type[Exception]) -> None:
    async with serving(answer) as (client, _):
        with pytest.raises(error) as caught:
            await client.get("/x")
        assert len(str(caught.value)) < 1000


async def test_an_answer_that_stops_in_the_middle_is_a_time_out() -> None:
    retry = replace(ONCE, total_s=1)
    async with serving(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", retry=retry) as (client, _):
        with pytest.raises(EngineTimeout) as caught:
            await client.get("/x")
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b" " * 65536, id="whole answer"),
        pytest.param(b"data: x\n\n" * 8192, id="events that show nothing"),
    ],
)
async def test_an_answer_without_end_is_refused_before_it_fills_the_memory(piece: bytes) -> None:
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        while True:
            writer.write(piece)
            sent += len(piece)
            await writer.drain()

    async with serving(endless) as (client, _):
        with pytest.raises(EngineGarbled, match="more than"):
            await client.get("/x")
    assert sent < ANSWER_BYTES + 2**24


@pytest.mark.parametrize("piece", [b"x" * 65536, b"X-T: " + b"y" * 1000 + b"\r\n"])
async def test_an_event_a_line_or_trailers_without_end_are_refused(piece: bytes) -> None:
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        start = b"6\r\ndata: \r\n0\r\n" if piece.startswith(b"X") else b""
        head = b"Transfer-Encoding: chunked\r\n" if start else b""
        writer.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + start)
        while True:
            writer.write(piece)
            sent += len(piece)
            await writer.drain()

    async with serving(endless) as (client, _):
        with pytest.raises(EngineError):
            await events(client)
    assert sent < 2**26


async def test_silence_is_a_time_out_and_the_connection_is_not_used_again() -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    retry = replace(ONCE, first_byte_s=0.2, attempts=2, pause_s=0.01)
    async with serving(silent, retry=retry) as (client, server):
        with pytest.raises(EngineTimeout):
            await events(client)
        await comes(lambda: server.connections == 2)


async def test_nobody_there_is_unreachable() -> None:
    client = Client("http://127.0.0.1:9", retry=ONCE)
    with pytest.raises(EngineUnreachable):
        await client.get("/x")
    await client.aclose()


async def test_a_fast_server_is_held_back_until_the_reader_reads() -> None:
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"data: " + b"x" * 4096 + b"\n\n")
            sent += 4104
            await writer.drain()

    async with serving(endless) as (client, _):
        batches = client.events("/x", b"{}")
        await anext(batches)
        before = 0
        while before != sent < 2**25:
            before = sent
            await asyncio.sleep(0.2)
        assert sent < 2**25, "it wrote on though nobody read"
        await batches.aclose()


async def test_an_error_whose_words_never_come_leaves_no_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[aiohttp.ClientResponse] = []
    request = aiohttp.ClientSession.request

    async def noted(session: aiohttp.ClientSession, *args: Any, **more: Any) -> aiohttp.ClientResponse:
        made.append(await request(session, *args, **more))
        return made[-1]

    async def half(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oh No\r\nContent-Length: 100\r\n\r\n")
        await writer.drain()
        await asyncio.Event().wait()

    monkeypatch.setattr(aiohttp.ClientSession, "request", noted)
    async with serving(half, retry=replace(ONCE, first_byte_s=1.0)) as (client, _):
        with pytest.raises(EngineTimeout):
            await events(client)
        assert [one.closed for one in made] == [True]
