"""How much work is let in: so many requests at once, so many waiting, the next is told when to come back.

async with Place(admission):
    ...                          # raises a 429 with Retry-After when the queue is full
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from types import TracebackType
from urllib.parse import urlsplit

from starlette.types import Receive, Scope

from thinkcap.gateway.refusal import Refusal


class Admission:
    def __init__(self, most: int, queue: int) -> None:
        self.most = most
        self._queue = queue
        self.active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._usual_s = 1.0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def retry_after_s(self) -> float:
        """About how long until the queue has moved on, from how long requests took lately."""
        return max(1.0, self._usual_s * (1 + self.waiting / max(1, self.most)))

    async def enter(self) -> float:
        """Returns the time of entry, for `leave`."""
        if self.active < self.most:
            self.active += 1
            return time.monotonic()
        if len(self._waiting) >= self._queue:
            raise Refusal(
                f"{self.active} requests are being answered and {self.waiting} wait; try again later",
                status=429,
                kind="rate_limit_error",
                code="queue_full",
                retry_after_s=self.retry_after_s,
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._next()
            else:
                self._waiting.remove(turn)
            raise
        return time.monotonic()

    def leave(self, entered: float) -> None:
        self._usual_s += 0.1 * (time.monotonic() - entered - self._usual_s)
        self._next()

    def _next(self) -> None:
        """A place that became free goes to who waits longest, or is given back."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.active -= 1


class Place:
    """`async with Place(admission)`: in the queue, then at work."""

    __slots__ = ("_admission", "_entered")

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._entered = 0.0

    async def __aenter__(self) -> None:
        self._entered = await self._admission.enter()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admission.leave(self._entered)


async def read_body(scope: Scope, receive: Receive, most: int, timeout_s: float) -> bytes:
    """The whole body, unless it is too large or too slow; a client that left has no body."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
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
    except TimeoutError:
        raise Refusal(
            f"the body did not arrive within {timeout_s:g} s", status=408, code="request_timeout"
        ) from None


def _too_large(most: int) -> Refusal:
    return Refusal(f"the body is larger than {most} bytes", status=413, code="body_too_large")


def check_origin(headers: list[tuple[bytes, bytes]]) -> None:
    """Without keys, no web page on another host may use a gateway on this one through somebody's browser."""
    for name, value in headers:
        if name == b"origin":
            host = urlsplit(value.decode("latin-1")).hostname or ""
            if host not in ("localhost", "127.0.0.1", "::1"):
                raise Refusal("requests from other web pages need a key", status=403, code="foreign_origin")
