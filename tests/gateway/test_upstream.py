"""The relay's own HTTP client: connections are used again, and whatever a server does has a name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from thinkcap.gateway.upstream import Broken, Nonsense, Upstream

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(
    answer: bytes, *, close: bool = False, times: int = 10**6
) -> AsyncIterator[tuple[Upstream, list[int]]]:
    """A server that sends these bytes for every request; gives how many connections it saw."""
    seen: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(0)
        number = len(seen) - 1
        try:
            while seen[number] < times:
                await reader.readuntil(b"\r\n\r\n")
                seen[number] += 1
                writer.write(answer)
                await writer.drain()
                if close:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    upstream = Upstream(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", "k", 1.0)
    try:
        yield upstream, seen
    finally:
        await upstream.aclose()
        server.close()


async def asked(upstream: Upstream, wait_s: float = 1.0) -> tuple[int, bytes]:
    async with upstream.ask("GET", "/v1/models", b"", wait_s) as reply:
        return reply.status, await reply.read(wait_s)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"


@pytest.mark.parametrize("answer", [OK, CHUNKED])
async def test_a_connection_serves_many_requests(answer: bytes) -> None:
    async with served(answer) as (upstream, seen):
        for _ in range(5):
            assert await asked(upstream) == (200, b"hi")
        assert seen == [5]


async def test_side_by_side_requests_have_connections_of_their_own() -> None:
    async with served(OK) as (upstream, seen):
        await asyncio.gather(*(asked(upstream) for _ in range(4)))
        assert len(seen) == 4
        await asyncio.gather(*(asked(upstream) for _ in range(4)))
        assert len(seen) == 4


async def test_a_server_that_closes_gets_a_new_connection() -> None:
    closing = OK.replace(b"200 OK\r\n", b"200 OK\r\nConnection: close\r\n")
    async with served(closing, close=True) as (upstream, seen):
        assert [await asked(upstream) for _ in range(3)] == [(200, b"hi")] * 3
        assert seen == [1, 1, 1]


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with served(b"HTTP/1.1 200 OK\r\n\r\nuntil the end", close=True) as (upstream, _):
        assert await asked(upstream) == (200, b"until the end")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", Broken),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", Broken),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha", Broken),
        (b"SSH-2.0-OpenSSH_9\r\n", Nonsense),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Nonsense),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000, Nonsense),
    ],
)
async def test_broken_answers_have_names(answer: bytes, error: type[Exception]) -> None:
    async with served(answer, close=True) as (upstream, _):
        with pytest.raises(error):
            await asked(upstream)


async def test_silence_is_a_time_out_and_the_connection_is_not_used_again() -> None:
    async with served(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf") as (upstream, seen):
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await asked(upstream, 0.1)
        assert len(seen) == 2


async def test_words_nobody_asked_for_are_never_taken_for_an_answer() -> None:
    async with served(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil") as (upstream, _):
        for _ in range(3):
            try:
                assert await asked(upstream) == (200, b"hi")
            except (Broken, Nonsense):
                continue


async def test_nobody_there_is_broken() -> None:
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    with pytest.raises(Broken):
        await asked(Upstream(f"http://127.0.0.1:{port}", None, 1.0))


async def test_a_fast_server_is_held_back_until_the_reader_reads() -> None:
    size = 20 * 2**20
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // 2**16):
            writer.write(b"x" * 2**16)
            await writer.drain()
            sent += 2**16
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    upstream = Upstream(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", None, 1.0)
    async with upstream.ask("GET", "/", b"", 1.0) as reply:
        await asyncio.sleep(0.3)
        assert sent < size
        assert len(await reply.read(5.0)) == size
    server.close()
