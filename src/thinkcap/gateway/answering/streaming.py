"""An answer as server-sent events: thought and answer as they are written, then what happened.

async for events in streamed(job):
    await send(events)  # bytes of one or more events
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from thinkcap.core.flow import Piece
from thinkcap.core.types import Run
from thinkcap.engines.answers import clean
from thinkcap.gateway import replies
from thinkcap.gateway.answering.flows import Stops
from thinkcap.gateway.answering.job import Job, driven, finished
from thinkcap.gateway.replies import Finished


async def streamed(job: Job) -> AsyncIterator[bytes]:
    """Events as they come. What fails before the first is a plain error; afterwards the caller sends an event."""
    stream = _Stream(job)
    try:
        while events := await stream.next():
            yield events
        yield stream.last()
    finally:
        await stream.stop()


class _Stream:
    """The choices of one request, side by side, and the events they become."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[int, Piece | None]] = asyncio.Queue()
        self._encoder = job.encoder
        self._stops = [Stops(job.call.stops) for _ in range(job.call.n)]
        self._said = [""] * job.call.n
        self._thinking = [""] * job.call.n
        self._opened: set[int] = set()
        self._done: list[Finished] = []
        self._tasks = [self._start(index) for index in range(job.call.n)]
        self._pulse = self._loop.call_later(job.ping_s, self._beat)

    async def next(self) -> bytes:
        """Everything that has come since the last call; nothing once all choices are done."""
        out = b""
        while not out and len(self._done) < len(self._tasks):
            out = await self._event(*await self._queue.get())
            while not self._queue.empty():
                out += await self._event(*self._queue.get_nowait())
        return out

    def last(self) -> bytes:
        return self._encoder.last(self._done, self._job.call.usage_wanted)

    async def stop(self) -> None:
        self._pulse.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, index: int) -> asyncio.Future[Run]:
        task = asyncio.ensure_future(
            driven(self._job, index, lambda piece: self._queue.put_nowait((index, piece)))
        )
        task.add_done_callback(lambda _: self._queue.put_nowait((index, None)))
        return task

    def _beat(self) -> None:
        self._queue.put_nowait((-1, None))
        self._pulse = self._loop.call_later(self._job.ping_s, self._beat)

    async def _event(self, index: int, piece: Piece | None) -> bytes:
        if index < 0:
            return b": working\n\n"
        if piece is None:
            return self._end(index, await self._tasks[index])
        text = clean(piece.text)
        if piece.channel == "answer":
            text = self._stops[index].take(text)
            self._said[index] += text
        else:
            text = self._thought(index, piece.stage, text)
        if not text:
            return b""
        make = self._encoder.content if piece.channel == "answer" else self._encoder.thought
        return self._open(index) + make(index, text)

    def _thought(self, index: int, stage: str, text: str) -> str:
        """As in a whole answer: a line end between the thoughts of two passes."""
        before, self._thinking[index] = self._thinking[index], stage
        return "\n" + text if before and before != stage else text

    def _open(self, index: int) -> bytes:
        if index in self._opened:
            return b""
        self._opened.add(index)
        return self._encoder.open(index)

    def _end(self, index: int, run: Run) -> bytes:
        job, stops = self._job, self._stops[index]
        rest = stops.rest()
        self._said[index] += rest
        one = finished(job, index, run, self._said[index], stops.word)
        self._done.append(one)
        out = self._open(index)
        if rest:
            out += self._encoder.content(index, rest)
        about = None
        if len(self._done) == len(self._tasks):
            done = sorted(self._done, key=lambda d: d.index)
            about = replies.described(job.call, job.choice, job.cap, done)
        return out + self._encoder.end(one, about)
