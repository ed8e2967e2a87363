"""Async underneath, plain calls on top, even in a notebook, where a loop is already running."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return the result; in a thread of its own where this one has a running loop.

    An interrupt (a notebook's stop button) ends the work in that thread too.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="thinkcap") as thread:
        begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()

        async def noted() -> T:
            task = asyncio.ensure_future(work)
            begun.set_result((asyncio.get_running_loop(), task))
            return await task

        done = thread.submit(asyncio.run, noted())
        try:
            return done.result()
        except KeyboardInterrupt:
            loop, task = begun.result()
            with suppress(RuntimeError):  # it ended by itself meanwhile, and its loop with it
                loop.call_soon_threadsafe(task.cancel)
            raise
