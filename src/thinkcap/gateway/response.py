"""One response on its way to a client, and what happens when the client leaves before it is there.

response = Response(send, visit, wire)
with cancel_on_disconnect(receive, response, service):
    await response.whole(body, header)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping, Sequence
from types import TracebackType
from typing import Any

from starlette.types import Receive, Send

from thinkcap.gateway import replies
from thinkcap.gateway.admission.limits import Headers
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.service import Service
from thinkcap.gateway.telemetry.visit import LEFT, Visit
from thinkcap.gateway.wires import Wire

_COMMENT = b":"
_SSE: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class Response:
    """One response on its way: at most one start, and an error in whichever form is still possible."""

    __slots__ = ("_send", "done", "sent", "started", "visit", "wire")

    def __init__(self, send: Send, visit: Visit, wire: Wire) -> None:
        self._send = send
        self.visit = visit
        self.wire = wire
        self.started = False
        self.sent = 0
        """Events of a stream, comments aside."""
        self.done = False

    @property
    def written(self) -> int | None:
        """Tokens so far; None where nobody has counted any."""
        return self.visit.tokens if self.visit.passes else None

    async def whole(self, body: bytes, header: bytes) -> None:
        headers = [(b"content-type", b"application/json"), (b"x-thinkcap", header)]
        self.visit.shown()
        await self._start(200, [*headers, (b"content-length", b"%d" % len(body))])
        await self._end(body)

    async def stream(self, events: AsyncIterator[bytes], choice: Choice, cap: int) -> None:
        """The first events are waited for before the headers go out: what fails until then is a plain error."""
        about = replies.header({"policy": choice.label, "chosen_by": choice.by, "cap": cap})
        try:
            async for event in events:
                if not event.startswith(_COMMENT):
                    self.sent += event.count(b"\n\n")
                    if self.visit.first is None:
                        self.visit.shown()
                if not self.started:
                    await self._start(200, [*_SSE, (b"x-thinkcap", about)])
                if event.endswith(replies.DONE):
                    await self._end(event)
                else:
                    await self._send({"type": "http.response.body", "body": event, "more_body": True})
            if not self.done:
                await self._end(b"")
        finally:
            await events.aclose()  # type: ignore[attr-defined]

    async def refuse(self, err: Refusal) -> None:
        err.request_id, self.visit.code = self.visit.id, err.code or ""
        if self.started:
            self.visit.status = err.status
            await self._end(self.wire.error_event(err, self.sent))
            return
        body = self.wire.error(err)
        await self._start(err.status, [*err.headers, (b"content-length", b"%d" % len(body))])
        await self._end(body)

    async def _start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.started, self.visit.status = True, status
        named = [*headers, (b"x-request-id", self.visit.id.encode())]
        await self._send({"type": "http.response.start", "status": status, "headers": named})

    async def _end(self, body: bytes) -> None:
        self.done = True
        await self._send({"type": "http.response.body", "body": body})


def noted(visit: Visit, send: Send) -> Send:
    """For answers that are not ours to write: their status is seen, and they carry the request's id."""

    async def seen(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            visit.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", visit.id.encode())]
        await send(message)

    return seen


class cancel_on_disconnect:  # noqa: N801 - used as a verb
    """Cancels what is inside as soon as the client hangs up, and with it the work upstream."""

    __slots__ = ("_gone", "_receive", "_response", "_service", "_task", "_watcher")

    seconds = 0.02
    """A task for every request costs more than most of what follows; answers that take longer pay it easily."""

    def __init__(self, receive: Receive, response: Response, service: Service) -> None:
        self._receive = receive
        self._response = response
        self._service = service
        self._gone = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._watcher: asyncio.Future[MutableMapping[str, Any]] | None = None
        self._service.watched.begin(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._response.done = True
        self._service.watched.end(self)
        if self._watcher is not None:
            self._watcher.cancel()
        if not self._gone or not isinstance(error, asyncio.CancelledError):
            return False
        self._task.uncancel()
        self._service.metrics.disconnects.add()
        self._response.visit.status = LEFT
        return True

    def due(self) -> None:
        self._watcher = asyncio.ensure_future(self._receive())
        self._watcher.add_done_callback(self._left)

    def _left(self, watcher: asyncio.Future[MutableMapping[str, Any]]) -> None:
        if not watcher.cancelled() and not self._response.done:
            self._gone = True
            self._task.cancel()
