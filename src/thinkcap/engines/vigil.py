"""Whether a server that says nothing is still there, found out once for everybody who waits for it.

A whole answer comes at its end: until then silence means work, or death. Who has waited for a while without a byte
from the server to anybody has it asked one quick question. A server that answers it is at work and is waited for;
one that says nothing for as long again is given up.

    vigil = Vigil(120.0, link.answers)
    async with vigil.waiting():          # a TimeoutError where the server is given up
        head = await ...
    vigil.heard()
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from types import TracebackType


class Vigil:
    """Of one server. Nothing is asked while answers come, or while nobody waits."""

    def __init__(self, silence_s: float, answers: Callable[[], Awaitable[bool]]) -> None:
        self._silence_s = silence_s
        self._answers = answers
        self._waiting: dict[asyncio.Timeout, float] = {}
        """Who waits, and since when."""
        self._heard_at = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None

    def waiting(self) -> Waiting:
        return Waiting(self)

    def begin(self, patience: asyncio.Timeout) -> None:
        self._waiting[patience] = asyncio.get_running_loop().time()
        # One clock for all who wait: it is set by the first and goes on until it finds nobody.
        if self._timer is None and self._asking is None:
            self._look_after(self._silence_s)

    def end(self, patience: asyncio.Timeout) -> None:
        del self._waiting[patience]

    def heard(self) -> None:
        """Something came."""
        self._heard_at = asyncio.get_running_loop().time()

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
        left_s = quiet_since + self._silence_s - asyncio.get_running_loop().time()
        if left_s > 0:
            self._look_after(left_s)
        else:
            self._asking = asyncio.ensure_future(self._find_out())

    async def _find_out(self) -> None:
        asked_at = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._silence_s):
                alive = await self._answers()
        except TimeoutError:
            alive = False
        now = asyncio.get_running_loop().time()
        if alive:
            self._heard_at = now
        elif self._heard_at < asked_at:
            for patience, since in list(self._waiting.items()):
                if since <= asked_at:
                    patience.reschedule(now)
        self._asking = None
        self._look_after(self._silence_s)


class Waiting:
    """`async with vigil.waiting()`: somebody waits for the server's first byte."""

    __slots__ = ("_patience", "_vigil")

    def __init__(self, vigil: Vigil) -> None:
        self._vigil = vigil
        self._patience = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        await self._patience.__aenter__()
        self._vigil.begin(self._patience)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._vigil.end(self._patience)
        await self._patience.__aexit__(kind, error, trace)
