"""How long something may take, with one timer for all who wait.

    deadlines = Deadlines()
    with deadlines.within(30.0):         # a TimeoutError where it takes longer
        await ...

It means what `asyncio.timeout` means. That one arms and cancels a timer each time, which costs more than most of
what a quick request does; here a timer is armed by the first who waits and goes on until it finds nobody.
"""

from __future__ import annotations

import asyncio
import math
import time
from types import TracebackType
from typing import Protocol


class Due(Protocol):
    """Somebody who is told when his seconds are over."""

    @property
    def seconds(self) -> float: ...

    def due(self) -> None: ...


class Keeper(Protocol):
    """Who may give up what is waited for."""

    def begin(self, wait: Wait) -> None: ...

    def end(self, wait: Wait) -> None: ...


class Wait:
    """`with Wait(keeper):` what is awaited inside ends in a TimeoutError once the keeper says `due`."""

    __slots__ = ("_before", "_given_up", "_keeper", "_task", "seconds")

    def __init__(self, keeper: Keeper, seconds: float = math.inf) -> None:
        self._keeper = keeper
        self._given_up = False
        self.seconds = seconds

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._before = task, task.cancelling()
        self._keeper.begin(self)

    def due(self) -> None:
        if not self._given_up:
            self._given_up = True
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keeper.end(self)
        if not self._given_up:
            return
        # Whoever cancelled the task besides is heard first.
        alone = self._task.uncancel() <= self._before
        if alone and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error


class Deadlines:
    """The deadlines of everybody in one place. Used inside one running loop."""

    def __init__(self) -> None:
        self._until: dict[Due, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = math.inf

    def within(self, seconds: float) -> Wait:
        return Wait(self, seconds)

    def begin(self, one: Due) -> None:
        until = self._until[one] = time.monotonic() + one.seconds
        if until < self._rings_at:
            self._ring_at(until)

    def end(self, one: Due) -> None:
        self._until.pop(one, None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ring_at(self, until: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = until
        self._timer = asyncio.get_running_loop().call_later(max(0.0, until - time.monotonic()), self._ring)

    def _ring(self) -> None:
        self._timer, self._rings_at = None, math.inf
        now = time.monotonic()
        for one in [one for one, until in self._until.items() if until <= now]:
            del self._until[one]
            one.due()
        if self._until:
            self._ring_at(min(self._until.values()))
