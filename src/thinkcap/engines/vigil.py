"""Whether a server that says nothing is still there, found out once for everybody who waits for it.

A whole answer comes at its end: until then silence means work, or death. Who has waited for a while without a byte
from the server to anybody has it asked one quick question. A server that answers it is at work and is waited for;
one that says nothing for as long again is given up.

    vigil = Vigil(120.0, link.answers)
    with vigil.waiting():                # a TimeoutError where the server is given up
        head = await ...
    vigil.heard()
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

from thinkcap.engines.deadlines import Wait


class Vigil:
    """Of one server. Nothing is asked while answers come, or while nobody waits."""

    def __init__(self, silence_s: float, answers: Callable[[], Awaitable[bool]]) -> None:
        self._silence_s = silence_s
        self._answers = answers
        self._waiting: dict[Wait, float] = {}
        """Who waits, and since when."""
        self._heard_at = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None

    def waiting(self) -> Wait:
        """Somebody waits for the server's first byte."""
        return Wait(self)

    def begin(self, wait: Wait) -> None:
        self._waiting[wait] = time.monotonic()
        # One clock for all who wait: it is set by the first and goes on until it finds nobody.
        if self._timer is None and self._asking is None:
            self._look_after(self._silence_s)

    def end(self, wait: Wait) -> None:
        del self._waiting[wait]

    def heard(self) -> None:
        """Something came."""
        self._heard_at = time.monotonic()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._asking is not None:
            self._asking.cancel()

    def _look_after(self, pause_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(pause_s, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._waiting:
            return
        quiet_since = max(self._heard_at, min(self._waiting.values()))
        left_s = quiet_since + self._silence_s - time.monotonic()
        if left_s > 0:
            self._look_after(left_s)
        else:
            self._asking = asyncio.ensure_future(self._find_out())

    async def _find_out(self) -> None:
        asked_at = time.monotonic()
        try:
            async with asyncio.timeout(self._silence_s):
                alive = await self._answers()
        except TimeoutError:
            alive = False
        if alive:
            self._heard_at = time.monotonic()
        elif self._heard_at < asked_at:
            for wait, since in list(self._waiting.items()):
                if since <= asked_at:
                    wait.due()
        self._asking = None
        self._look_after(self._silence_s)
