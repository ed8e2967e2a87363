"""JSON over HTTP to model servers that may be slow, busy, gone or lying: one of them, or several of one model.

A call has one deadline that covers all its tries. What may work on a second try is tried again: at once where
there is another server, else after a pause that grows and is never the same for all callers. A stream is tried
again only while nobody has seen a piece of it: half an answer is never taken for a whole one.

    client = Client("http://localhost:8000", key=None)
    models = await client.get("/v1/models")
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from thinkcap.core.errors import EngineError, EngineRefused
from thinkcap.engines.answers import decoded
from thinkcap.engines.fleet import Fleet, Lease, Member, Upstream, moves
from thinkcap.engines.link import ANSWER_BYTES, STREAM_BYTES, UNFIT, Link, start
from thinkcap.engines.retry import RetryPolicy

T = TypeVar("T")
Json = Mapping[str, Any]


class HangUp(Exception):
    """Raised by who takes events: the server goes on where the answer should be over."""


class Client:
    """A way to one server, or to the several of a fleet. Opened inside a running loop."""

    def __init__(
        self,
        base: str,
        key: str | None = None,
        retry: RetryPolicy | None = None,
        connections: int = 64,
        keepalive_s: float = 15.0,
        on_retry: Callable[[], None] = lambda: None,
        fleet: Fleet | None = None,
    ) -> None:
        """The servers of a fleet have their own keys, and are asked under the path of `base`."""
        self.base = base.rstrip("/")
        self.retry = retry or RetryPolicy()
        self._on_retry = on_retry
        path = urlsplit(self.base).path if fleet else ""
        self._fleet = fleet or Fleet([Upstream(self.base, key=key)])
        self._links = [
            Link(one.address + path, one.key, self.retry, connections, keepalive_s)
            for one in self._fleet.upstreams
        ]

    async def get(self, path: str, parse: Callable[[Any], T] = lambda j: j, within_s: float | None = None) -> T:
        """`within_s` is for a quick look: one try, so long and no longer."""
        retry = RetryPolicy.within(within_s, attempts=1) if within_s else self.retry
        return await self._patiently(lambda link, left: link.whole("GET", path, None, left, _parsed(parse)), retry)

    async def post(self, path: str, body: Json, parse: Callable[[Any], T] = lambda j: j) -> T:
        """`parse` runs inside the try: an answer that is not what was promised is asked for again."""
        return await self.send(path, msgspec.json.encode(body), _parsed(parse))

    async def send(self, path: str, body: bytes, read: Callable[[bytes], T]) -> T:
        """The same with bytes on both sides; `read` raises a ValueError where they are not what was promised."""
        return await self._patiently(lambda link, left: link.whole("POST", path, body, left, read), self.retry)

    async def forward(self, path: str, body: bytes, content_type: str) -> tuple[int, str, bytes]:
        """A request that is none of our business, sent once. Refusals are raised: their words need looking at."""
        once = RetryPolicy(connect_s=self.retry.connect_s, total_s=self.retry.total_s, attempts=1, waits_out=False)
        return await self._patiently(lambda link, left: link.forward(path, body, content_type, left), once)

    async def stream(
        self, path: str, body: Json, take: Callable[[Any], bool], read: Callable[[bytes], Any] = decoded
    ) -> None:
        """Hands every event to `take`, which says when the answer is complete; ending before that is an error."""
        begun = complete = False
        try:
            async with aclosing(
                self.events(path, msgspec.json.encode(body), lambda: begun, lambda: complete)
            ) as batches:
                async for batch in batches:
                    for data in batch:
                        begun = True
                        complete = self._taken(path, data, take, read) or complete
        except HangUp:
            return
        except EngineError:
            # Once the answer is whole, nonsense behind it harms nobody.
            if not complete:
                raise
        if not complete:
            raise self._links[0].broken_off(path)

    async def events(
        self,
        path: str,
        body: bytes,
        shown: Callable[[], bool] = lambda: False,
        complete: Callable[[], bool] = lambda: False,
    ) -> AsyncGenerator[list[bytes], None]:
        """The data of the events, as they come. Tried again while nothing of it was shown to anybody.

        What breaks once the answer is `complete` (a missing `[DONE]`, a closed connection) is no failure.
        """
        tries = _Tries(self._fleet, self.retry, self._on_retry)
        while True:
            try:
                with tries.somewhere() as lease:
                    link = self._links[lease.member.index]
                    async with aclosing(link.events(path, body, tries.left_s, complete)) as batches:
                        async for batch in batches:
                            lease.heard()
                            yield batch
                return
            except EngineError as err:
                if shown():
                    raise
                await tries.pause(err)

    async def listed(self, path: str, within_s: float) -> list[Any]:
        """What every server says at `path`, or the error it is: for a look at all of them, whoever is well."""
        looks = (link.whole("GET", path, None, within_s, decoded) for link in self._links)
        found = await asyncio.gather(*looks, return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException) and not isinstance(one, EngineError):
                raise one
        return found

    async def aclose(self) -> None:
        for link in self._links:
            await link.aclose()

    async def _patiently(self, once: Callable[[Link, float], Awaitable[T]], retry: RetryPolicy) -> T:
        tries = _Tries(self._fleet, retry, self._on_retry)
        while True:
            try:
                with tries.somewhere() as lease:
                    return await once(self._links[lease.member.index], tries.left_s)
            except EngineError as err:
                await tries.pause(err)

    def _taken(self, path: str, data: bytes, take: Callable[[Any], bool], read: Callable[[bytes], Any]) -> bool:
        try:
            event = read(data)
            error = event.get("error") if isinstance(event, dict) else getattr(event, "error", None)
            if error:
                raise self.refused_inside(path, error)
            return take(event)
        except UNFIT as err:
            raise self._links[0].garbled(path, f"an event that does not fit ({err!r}): {start(data)}") from err

    def refused_inside(self, path: str, error: Any) -> EngineRefused:
        """An error that came inside a stream, after a 200; some carry their own code."""
        code = error.get("code") if isinstance(error, dict) else None
        words = str(error.get("message", error) if isinstance(error, dict) else error)
        for link in self._links[1:]:
            words = link.mask(words)
        return self._links[0].refusal(
            path, code if isinstance(code, int) and 400 <= code < 600 else 500, words, None
        )


class _Tries:
    """The tries of one call, all within its deadline: at every server once, then again after a pause."""

    def __init__(self, fleet: Fleet, retry: RetryPolicy, told: Callable[[], None]) -> None:
        self._fleet = fleet
        self._retry = retry
        self._told = told
        self._deadline = time.monotonic() + retry.total_s
        self._attempt = 0
        self._tried: list[Member] = []

    @property
    def left_s(self) -> float:
        return max(0.001, self._deadline - time.monotonic())

    def somewhere(self) -> Lease:
        lease = self._fleet.lease(self._tried, self._retry.between_bytes_s)
        self._tried.append(lease.member)
        return lease

    async def pause(self, error: EngineError) -> None:
        """Moves on, waits before the next try, or raises the error where there is none.

        A server that was not reached has seen nothing: moving on from it is no try. One that was, and fell, may
        have fallen over this very call, which is why `attempts` bounds how many get it.
        """
        others = len(self._tried) < len(self._fleet.members)
        if others and not error.reached and time.monotonic() < self._deadline:
            self._told()
            return
        pause_s = self._retry.pause(self._attempt, error)
        self._attempt += 1
        if self._attempt >= self._retry.attempts:
            raise error
        if others and moves(error) and time.monotonic() < self._deadline:
            self._told()
            return
        if not self._retry.again(error) or time.monotonic() + pause_s >= self._deadline:
            raise error
        self._told()
        self._tried.clear()
        await asyncio.sleep(pause_s)


def _parsed(parse: Callable[[Any], T]) -> Callable[[bytes], T]:
    return lambda raw: parse(decoded(raw))


__all__ = ["ANSWER_BYTES", "STREAM_BYTES", "Client", "HangUp"]
