"""Thinking passes side by side: the first so many thoughts to end win, the rest is stopped where it stands.

Length decides, not the clock: a pass is stopped only when it has written more than the longest of the winners'
thoughts. So a stored run, in which every pass is there whole, gives the same winners as a live one.

    completions = await raced(engine, requests, wanted=3)
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

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
        self._thoughts: list[int] = []
        self._lanes: dict[int, tuple[asyncio.Task[Completion], list[str]]] = {}
        self._answering: set[int] = set()

    async def run(self, engine: Engine, at: int, request: Request) -> Completion:
        lane = _Lane(engine)

        def emit(delta: Delta) -> None:
            if delta.channel == "answer":
                self._answering.add(at)
            elif self._beaten(at):
                task.cancel()

        task = asyncio.ensure_future(self._each(lane, request, emit))
        self._lanes[at] = task, lane.pieces
        try:
            completion = await task
        except asyncio.CancelledError:
            task.cancel()
            if not self._beaten(at):
                raise
            return _stopped(lane.pieces)
        finally:
            del self._lanes[at]
        if completion.answer is not None:
            self._thoughts.append(completion.think_tokens)
            for other, (running, _) in self._lanes.items():
                if self._beaten(other):
                    running.cancel()
        return completion

    def _beaten(self, at: int) -> bool:
        if len(self._thoughts) < self._wanted or at in self._answering or at not in self._lanes:
            return False
        # A piece is at least a token: whoever has shown as many as the bar and still thinks, thinks longer.
        return len(self._lanes[at][1]) >= sorted(self._thoughts)[self._wanted - 1]


class _Lane:
    """An engine that keeps what it has written so far, marks included, for whoever is stopped in the middle."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.pieces: list[str] = []
        self.prompt, self.read, self.aclose = engine.prompt, engine.read, engine.aclose

    @property
    def card(self) -> EngineCard:
        return self._engine.card

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        def noted(delta: Delta) -> None:
            self.pieces.append(delta.text)
            if emit:
                emit(delta)

        return await self._engine.generate(prompt, limit, sampling, noted)


def _stopped(pieces: Sequence[str]) -> Completion:
    text = "".join(pieces)
    return replace(NOTHING, text=text, thought=text, generated=len(pieces), fresh=len(pieces), finish="stopped")


async def _cut(engine: Engine, completion: Completion, tokens: int) -> Completion:
    """A pass as far as it counts. What was written live beyond that was written, and is charged."""
    live = completion.claim is None and completion.fresh == completion.generated
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
        generated=tokens,
        think_tokens=tokens,
        finish="stopped",
    )
