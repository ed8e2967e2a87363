"""Thinking passes side by side: the first few thoughts to end win, and the others are stopped where they are.

Length decides, not the clock: a pass is stopped only when it has written more than the longest of the winners'
thoughts. So a stored run, in which every pass is there whole, gives the same winners as a live one.

    completions = await raced(engine, requests, wanted=3)
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from thinkcap.core.complete import Complete, complete
from thinkcap.core.engine import Emit, Engine, EngineCard, Output, Prompt
from thinkcap.core.thinking import Delta
from thinkcap.core.types import NOTHING, Completion, Request, Sampling

T = TypeVar("T")


async def together(calls: Iterable[Coroutine[Any, Any, T]]) -> tuple[T, ...]:
    """All of them at once; the first error stops the others."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return tuple(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def raced(
    engine: Engine, requests: Sequence[Request], wanted: int, each: Complete = complete
) -> tuple[Completion, ...]:
    # What is stored is written whole: another cap will want to cut it elsewhere.
    race = _Race(len(requests) + 1 if getattr(engine, "remembers", False) else wanted, each)
    found = await together(race.run(engine, at, request) for at, request in enumerate(requests))
    winners = sorted((c.think_tokens, at) for at, c in enumerate(found) if c.answer is not None)[:wanted]
    if len(winners) < wanted:
        return found
    longest, chosen = winners[-1][0], {at for _, at in winners}
    return tuple([c if at in chosen else await _cut(engine, c, longest) for at, c in enumerate(found)])


class _Race:
    """Who writes, how far each has come, and how long the thoughts that ended were."""

    def __init__(self, wanted: int, each: Complete) -> None:
        self._wanted = wanted
        self._each = each
        self._thoughts: dict[int, int] = {}
        """How long the thoughts are that have ended; while the answer is written, at most so long."""
        self._lanes: dict[int, tuple[asyncio.Task[Completion], _Lane]] = {}
        self._stopped: set[int] = set()

    async def run(self, engine: Engine, at: int, request: Request) -> Completion:
        lane = _Lane(engine)

        def emit(delta: Delta) -> None:
            if delta.channel != "answer":
                self._stop_if_beaten(at)
            elif at not in self._thoughts:
                self._ended(at, lane.tokens)

        task = asyncio.ensure_future(self._each(lane, request, emit))
        self._lanes[at] = task, lane
        try:
            completion = await task
        except asyncio.CancelledError:
            task.cancel()
            me = asyncio.current_task()
            if at not in self._stopped or (me and me.cancelling()):
                raise
            return lane.stopped()
        finally:
            del self._lanes[at]
        if completion.answer is not None:
            self._ended(at, completion.think_tokens)
        return completion

    def _ended(self, at: int, tokens: int) -> None:
        self._thoughts[at] = tokens
        for other in self._lanes:
            self._stop_if_beaten(other)

    def _stop_if_beaten(self, at: int) -> None:
        if len(self._thoughts) < self._wanted or at in self._thoughts:
            return
        task, lane = self._lanes[at]
        if lane.before > sorted(self._thoughts.values())[self._wanted - 1]:
            # Noted here: what it writes until it hears of it may be the beginning of an answer.
            self._stopped.add(at)
            task.cancel()


class _Lane:
    """An engine that keeps what it has written so far, marks included, for whoever is stopped in the middle."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pieces: list[str] = []
        self.tokens = self.before = 0
        """Written so far, and written before the newest piece, which may hold the end of the thought and more."""
        self.prompt, self.read, self.aclose = engine.prompt, engine.read, engine.aclose

    @property
    def card(self) -> EngineCard:
        return self._engine.card

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        def noted(delta: Delta) -> None:
            self._pieces.append(delta.text)
            self.before, self.tokens = self.tokens, self.tokens + delta.tokens
            if emit:
                emit(delta)

        return await self._engine.generate(prompt, limit, sampling, noted)

    def stopped(self) -> Completion:
        """What has come from the engine, every token of it paid for."""
        text = "".join(self._pieces)
        return replace(
            NOTHING, text=text, thought=text, tokens=self.tokens, generated=self.tokens, finish="stopped"
        )


async def _cut(engine: Engine, completion: Completion, tokens: int) -> Completion:
    """A pass as far as it counts. What was written live beyond that was written, and is charged."""
    live = completion.claim is None and completion.generated == completion.tokens
    if live or completion.ids is None or len(completion.ids) <= tokens:
        return replace(completion, answer=None, ended=False, finish="stopped")
    ids = completion.ids[:tokens]
    text = await engine.read(ids)
    return replace(
        completion,
        text=text,
        ids=ids,
        thought=text,
        answer=None,
        ended=False,
        tokens=tokens,
        think_tokens=tokens,
        finish="stopped",
    )
