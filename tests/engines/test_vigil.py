"""A server that is silent while a whole answer is waited for: asked if it is there, and waited for or given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from patience import PATIENCE_S, comes
from thinkcap.core.errors import EngineTimeout
from thinkcap.engines.client import Client
from thinkcap.engines.fleet import Fleet, Upstream
from thinkcap.engines.link import Link
from thinkcap.engines.retry import RetryPolicy
from thinkcap.engines.vigil import Vigil

SOON_S = 0.05
NEVER_S = 20 * PATIENCE_S
"""What a call has in all; no test waits for it."""
HASTY = RetryPolicy(NEVER_S, NEVER_S, NEVER_S, NEVER_S, attempts=2, asks_after_s=SOON_S, waits_out=False)
MODELS = b"GET /v1/models "
ANSWER = b'{"a": 1}'
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
PATH = "/v1/chat/completions"

Answer = Callable[["Server", bytes], Awaitable[bytes]]


class Server:
    """Bytes for every request, as `answer` makes them from its first line."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[bytes] = []
        self.address = ""

    async def met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = next(
                    (int(n[15:]) for n in head.lower().split(b"\r\n") if n.startswith(b"content-length:")), 0
                )
                await reader.readexactly(size)
                self.asked.append(head.partition(b"\r\n")[0])
                writer.write(await self._answer(self, head))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @property
    def questions(self) -> int:
        return sum(line.startswith(MODELS) for line in self.asked)


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[Server]:
    server = Server(answer)
    listening = await asyncio.start_server(server.met, "127.0.0.1", 0)
    server.address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()


async def silent(server: Server, head: bytes) -> bytes:
    await asyncio.Event().wait()
    return b""


async def ready(server: Server, head: bytes) -> bytes:
    return GOOD


class Asked:
    """Somebody who says at once that the server is there."""

    def __init__(self) -> None:
        self.questions = 0

    async def __call__(self) -> bool:
        self.questions += 1
        return True


async def test_a_server_that_answers_a_question_is_waited_for() -> None:
    asked = Asked()
    vigil = Vigil(SOON_S, asked)
    waited = False
    with vigil.waiting():
        await comes(lambda: asked.questions >= 3)
        waited = True
    vigil.close()
    assert waited, "it was given up"


async def test_however_many_wait_it_is_asked_once_at_a_time() -> None:
    asked = Asked()
    vigil = Vigil(SOON_S, asked)

    async def wait() -> None:
        with vigil.waiting():
            await comes(lambda: asked.questions >= 3)

    await asyncio.gather(*(wait() for _ in range(20)))
    vigil.close()
    # Each of the twenty would have asked three times.
    assert asked.questions < 20


async def test_who_hears_of_the_server_asks_nothing() -> None:
    asked = Asked()
    vigil = Vigil(SOON_S, asked)
    with vigil.waiting():
        for _ in range(20):
            vigil.heard()
            await asyncio.sleep(0)
    vigil.close()
    assert asked.questions == 0


@pytest.mark.parametrize("status", [b"200 OK", b"404 Not Found", b"401 Unauthorized", b"302 Found"])
async def test_whatever_a_server_says_it_is_there(status: bytes) -> None:
    async def says(server: Server, head: bytes) -> bytes:
        return GOOD.replace(b"200 OK", status)

    async with serving(says) as server:
        link = Link(server.address, "key", HASTY)
        try:
            assert await asyncio.wait_for(link.answers("/v1/models"), PATIENCE_S)
        finally:
            await link.aclose()
    assert server.questions == 1


async def test_a_server_that_says_nothing_at_all_is_given_up() -> None:
    async with serving(silent) as server:
        client = Client(server.address, retry=HASTY)
        try:
            with pytest.raises(EngineTimeout):
                await asyncio.wait_for(client.post(PATH, {}), PATIENCE_S)
            assert server.questions == 1
        finally:
            await client.aclose()


async def test_a_call_moves_on_from_a_stalled_server_and_others_do_not_try_it() -> None:
    async with serving(silent) as stalled, serving(ready) as well:
        # Nobody's conversation, so the choice is by load and by chance; chance has the first server first.
        fleet = Fleet([Upstream(stalled.address), Upstream(well.address)], chance=lambda: 0.5)
        client = Client(stalled.address, retry=HASTY, fleet=fleet)
        try:
            assert await asyncio.wait_for(client.post(PATH, {}), PATIENCE_S) == {"a": 1}
            assert [line[:4] for line in stalled.asked] == [b"POST", b"GET "]
            assert fleet.members[0].pauses == 1
            for _ in range(5):
                await client.post(PATH, {})
            assert len(stalled.asked) == 2
        finally:
            await client.aclose()


async def test_an_answer_that_stops_in_its_middle_is_given_up_without_a_question() -> None:
    async def half(server: Server, head: bytes) -> bytes:
        return GOOD[:-3]

    async with serving(half) as server:
        client = Client(server.address, retry=RetryPolicy(NEVER_S, NEVER_S, SOON_S, NEVER_S, attempts=1))
        try:
            with pytest.raises(EngineTimeout):
                await asyncio.wait_for(client.post(PATH, {}), PATIENCE_S)
            assert server.questions == 0
        finally:
            await client.aclose()


async def test_looking_something_up_asks_nothing() -> None:
    async def late(server: Server, head: bytes) -> bytes:
        await asyncio.sleep(4 * SOON_S)
        return GOOD

    async with serving(late) as server:
        client = Client(server.address, retry=HASTY)
        try:
            assert await client.post("/tokenize", {}) == {"a": 1}
            assert server.asked == [b"POST /tokenize HTTP/1.1"]
        finally:
            await client.aclose()
