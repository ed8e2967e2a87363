"""Deadlines that share a timer: each ends what is waited for, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from patience import PATIENCE_S, comes
from thinkcap.engines.deadlines import Deadlines

SOON_S = 0.02


async def test_what_takes_too_long_is_a_time_out() -> None:
    deadlines = Deadlines()
    with pytest.raises(TimeoutError), deadlines.within(SOON_S):
        await asyncio.Event().wait()
    # The task itself is well: nothing of the cancelling is left.
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_what_is_done_in_time_is_left_alone() -> None:
    deadlines, rang = Deadlines(), asyncio.Event()
    with deadlines.within(SOON_S):
        pass
    with pytest.raises(TimeoutError), deadlines.within(SOON_S):
        await rang.wait()
    deadlines.close()


async def test_a_short_wait_is_not_held_up_by_a_long_one() -> None:
    deadlines, ended = Deadlines(), list[str]()

    async def wait(name: str, seconds: float) -> None:
        try:
            with deadlines.within(seconds):
                await asyncio.Event().wait()
        except TimeoutError:
            ended.append(name)

    waits = [asyncio.create_task(wait("long", 20 * PATIENCE_S)), asyncio.create_task(wait("short", SOON_S))]
    await comes(lambda: ended == ["short"])
    waits[0].cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    assert waits[0].cancelled(), "who is cancelled by somebody else is cancelled, not late"


async def test_however_many_wait_there_is_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, timers = asyncio.get_running_loop(), list[float]()
    call_later = loop.call_later

    def counted(delay: float, *args: object) -> asyncio.TimerHandle:
        timers.append(delay)
        return call_later(delay, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "call_later", counted)
    deadlines = Deadlines()

    async def quick() -> None:
        with deadlines.within(PATIENCE_S):
            await asyncio.sleep(0)

    await asyncio.gather(*(quick() for _ in range(100)))
    deadlines.close()
    assert len(timers) == 1


async def test_the_inner_of_two_waits_ends_alone() -> None:
    deadlines = Deadlines()
    with deadlines.within(20 * PATIENCE_S):
        with pytest.raises(TimeoutError), deadlines.within(SOON_S):
            await asyncio.Event().wait()
        await asyncio.sleep(0)
    deadlines.close()
