"""Async underneath, plain calls on top: also in a notebook, where a loop is already running."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def wait(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end and return the result; in a thread of its own where this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    box: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            box.append(asyncio.run(work))
        except BaseException as err:  # carried over to the calling thread, whatever it is
            failed.append(err)

    thread = threading.Thread(target=run, name="thinkcap")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return box[0]
