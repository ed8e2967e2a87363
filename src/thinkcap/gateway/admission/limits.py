"""How much work is let in: so many calls at once and requests waiting; others are told when to retry.

async with Slot(admission, calls=5):
    ...                          # raises a 429 with Retry-After when the queue is full
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import deque
from collections.abc import Collection
from types import TracebackType
from urllib.parse import urlsplit

from starlette.types import Receive, Scope

from thinkcap.gateway.refusal import Refusal

Headers = list[tuple[bytes, bytes]]
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Admission:
    """`most` calls to a model at a time. A request that makes several at once takes as many places."""

    def __init__(self, most: int, queue: int) -> None:
        self.most = most
        self._queue = queue
        self.active = 0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()
        self._usual_s = 1.0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def retry_after_s(self) -> float:
        """About how long until the queue has moved on, from how long requests took lately."""
        return max(1.0, self._usual_s * (1 + self.waiting / max(1, self.most)))

    async def enter(self, calls: int = 1) -> tuple[float, int]:
        """The time of entry and the places taken, for `leave`. More than there are is all of them."""
        places = min(calls, self.most)
        if not self._waiting and self.active + places <= self.most:
            self.active += places
            return time.monotonic(), places
        if len(self._waiting) >= self._queue:
            raise Refusal(
                f"{self.active} calls are running and {self.waiting} requests are waiting; try again later",
                status=429,
                kind="rate_limit_error",
                code="queue_full",
                retry_after_s=self.retry_after_s,
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, places))
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.active -= places
            else:
                self._waiting.remove((turn, places))
            self._next()
            raise
        return time.monotonic(), places

    def leave(self, entered: tuple[float, int]) -> None:
        since, places = entered
        self._usual_s += 0.1 * (time.monotonic() - since - self._usual_s)
        self.active -= places
        self._next()

    def _next(self) -> None:
        """Places that became free go to who waits longest; nobody who needs fewer overtakes."""
        while self._waiting and self.active + self._waiting[0][1] <= self.most:
            turn, places = self._waiting.popleft()
            if not turn.done():
                self.active += places
                turn.set_result(None)


class Slot:
    """`async with Slot(admission)`: in the queue, then at work."""

    __slots__ = ("_admission", "_calls", "_entered")

    def __init__(self, admission: Admission, calls: int = 1) -> None:
        self._admission = admission
        self._calls = calls
        self._entered = (0.0, 0)

    async def __aenter__(self) -> None:
        self._entered = await self._admission.enter(self._calls)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admission.leave(self._entered)


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The whole body, unless it is too large; a client that left has no body."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > most:
            raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal("the client left before its request was complete", code="incomplete_request")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(most: int) -> Refusal:
    return Refusal(f"the body is larger than {most} bytes", status=413, code="body_too_large")


def check_origin(headers: Headers, allowed: Collection[str] = (), own: Collection[str] = LOOPBACK) -> None:
    """Without keys, no web page on another host may use a gateway on this one through somebody's browser, unless
    the operator named it. `own` are this gateway's names: its own page comes from one of them."""
    for name, value in headers:
        if name != b"origin" or value.decode("latin-1") in allowed or "*" in allowed:
            continue
        if _host_of(value) not in own and not _same_address(value, headers):
            raise Refusal("requests from other web pages need a key", status=403, code="foreign_origin")


def _same_address(origin: bytes, headers: Headers) -> bool:
    """A page that came from the very address asked. Names do not count: anybody can point one at this machine."""
    named = [value for name, value in headers if name == b"host"]
    try:
        ipaddress.ip_address(_host_of(origin))
    except ValueError:
        return False
    return named == [origin.partition(b"://")[2]]


def check_host(headers: Headers, allowed: Collection[str]) -> None:
    """Without keys, a name that somebody points at this machine must not open the gateway to their page."""
    named = [value for name, value in headers if name == b"host"]
    if len(named) != 1 or _host_of(b"http://" + named[0]) not in allowed:
        raise Refusal(
            "this host name is not served here; the operator can add it with hosts = [...] or set keys",
            status=421,
            code="foreign_host",
        )


def _host_of(address: bytes) -> str:
    """The host in an address, lower case; nothing where it is no address."""
    try:
        return urlsplit(address.decode("latin-1")).hostname or ""
    except ValueError:
        return ""
