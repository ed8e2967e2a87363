"""How long a test waits for what will surely happen: longer than a busy machine takes, and only until it has.

A limit that is not itself what a test shows is `PATIENCE_S`; one that is stands in that test alone.

    until(lambda: stub.active == 0)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 120.0


def until(true: Callable[[], Any], seen: Callable[[], Any] = lambda: "") -> None:
    """Until it holds; `seen` says what was there instead."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"did not happen within {PATIENCE_S:g} s; {seen()}"
        time.sleep(0.01)


async def comes(true: Callable[[], Any]) -> None:
    """The same inside a loop, which goes on meanwhile."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 - what is waited for offers no event
            await asyncio.sleep(0.01)
