"""The one idea: a policy is a generator that yields what it needs and never calls a model itself.

Whatever runs a policy (a study, one question on the command line, a streamed HTTP answer, a replay from
stored traces) drives the same generator with `drive`. A flow may yield three effects: `Ask` and `First`, answered
by completions, and `Same`, answered by the grader. The driver counts tokens and holds the total cap.

    def twice(question: Question, cap: int) -> Flow:
        first = yield from ask(Request(question, "nothink", cap // 2, stage="first"))
        second = yield from ask(Request(question, "nothink", cap, stage="second", shown="answer"))
        agree = yield from same(first.answer, second.answer, question)
        return Answer(second.answer, stage="second", completion=second, notes={"agree": agree})
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from thinkcap.core.complete import Complete, complete
from thinkcap.core.engine import Emit, Engine
from thinkcap.core.errors import EngineError, Unsupported
from thinkcap.core.racing import raced, together
from thinkcap.core.thinking import Delta
from thinkcap.core.types import (
    GREEDY,
    Answer,
    Channel,
    Completion,
    Kind,
    Question,
    Request,
    Run,
    Sampling,
    Step,
)


class Ask(msgspec.Struct, frozen=True, gc=False):
    """Generations wanted now; several run side by side."""

    requests: tuple[Request, ...]


class First(msgspec.Struct, frozen=True, gc=False):
    """Thinking passes side by side, of which the `wanted` shortest thoughts win.

    When so many thoughts have ended, the others stop at the length of the longest of them. They are charged for
    what they had written by then, and have no answer.
    """

    requests: tuple[Request, ...]
    wanted: int


class Same(msgspec.Struct, frozen=True, gc=False):
    """Are these two answers equivalent? Asked of the grader, which lives in worker processes."""

    a: str
    b: str
    kind: Kind


Flow = Generator[Ask | First | Same, Any, Answer]
Policy = Callable[[Question, int], Flow]
Judge = Callable[[str, str, Kind], Awaitable[bool]]


def ask(request: Request) -> Generator[Ask, Any, Completion]:
    (completion,) = yield Ask((request,))
    assert isinstance(completion, Completion)
    return completion


def ask_all(requests: Sequence[Request]) -> Generator[Ask, Any, tuple[Completion, ...]]:
    completions = yield Ask(tuple(requests))
    return tuple(completions)


def first_of(requests: Sequence[Request], wanted: int) -> Generator[First, Any, tuple[Completion, ...]]:
    completions = yield First(tuple(requests), wanted)
    return tuple(completions)


def same(a: str | None, b: str | None, question: Question) -> Generator[Same, Any, bool]:
    """Nothing is equivalent to no answer, not even no answer."""
    if a is None or b is None:
        return False
    if question.kind is None:
        raise Unsupported(
            "this policy compares answers, but the question has no answer kind; "
            "set it (--kind number, math, label or text), or choose a policy that does not vote"
        )
    return a == b or bool((yield Same(a, b, question.kind)))


def wrapped(flow: Flow, each: Callable[[Ask | First], Generator[Ask | First, Any, Sequence[Completion]]]) -> Flow:
    """A flow inside another: `each` says what is really asked for what it asks, and what it is told of it."""
    came: Any = None
    try:
        while not isinstance(effect := _next(flow, came), Answer):
            try:
                came = (yield effect) if isinstance(effect, Same) else (yield from each(effect))
            except EngineError as err:
                came = err
        return effect
    finally:
        flow.close()


def _next(flow: Flow, came: Any) -> Ask | First | Same | Answer:
    """What a flow does with what came of its last effect: an engine's error is thrown into it, a reply sent."""
    try:
        return flow.throw(came) if isinstance(came, EngineError) else flow.send(came)
    except StopIteration as stop:
        if not isinstance(stop.value, Answer):
            raise Unsupported(f"a policy must return an Answer; this one returned {stop.value!r:.80}") from None
        return stop.value


def at_effort(policy: Policy, level: str) -> Policy:
    """The same policy with every thought at this level of the model's own, unless a pass has set one itself."""

    def each(effect: Ask | First) -> Generator[Ask | First, Any, Sequence[Completion]]:
        completions = yield replace(effect, requests=tuple(_leveled(r, level) for r in effect.requests))
        return tuple(completions)

    return lambda question, cap: wrapped(policy(question, cap), each)


def _leveled(request: Request, level: str) -> Request:
    return replace(request, effort=request.effort or level) if request.mode == "think" else request


@dataclass(frozen=True)
class Piece:
    """A piece of text a reader may see now."""

    text: str
    channel: Channel
    stage: str


@dataclass
class _Ledger:
    """What is left of the cap. A request's tokens are reserved before it goes out, so none can overdraw."""

    cap: int | None
    sampling: Sampling
    reserved: int = 0
    steps: list[Step] = field(default_factory=list)

    def admit(self, request: Request) -> Request:
        """The request with the budget it really gets, and drawn as the run says."""
        budget = request.budget
        if self.cap is not None:
            budget = min(budget, self.cap - self.reserved - request.keep)
        budget = max(0, budget)
        self.reserved += budget
        drawn, seed = request.sampling or self.sampling, self.sampling.seed + request.sample
        if budget == request.budget and drawn.seed == seed and drawn == (request.sampling or GREEDY):
            # Most requests of a greedy run are what they ask for already, and a copy is a tenth of a row's cost.
            return request
        return replace(request, budget=budget, sampling=Sampling(drawn.temperature, drawn.top_p, seed))

    def enter(
        self, requests: Sequence[Request], found: Completion | tuple[Completion, ...]
    ) -> tuple[Completion, ...]:
        """What came of the requests; what a request did not use is free again."""
        completions = found if isinstance(found, tuple) else (found,)
        for request, completion in zip(requests, completions, strict=True):
            self.reserved -= request.budget - completion.charged
            self.steps.append(Step(request, completion))
        return completions


async def drive(
    flow: Flow,
    engine: Engine,
    *,
    judge: Judge | None = None,
    cap: int | None = None,
    sampling: Sampling = GREEDY,
    show: Callable[[Piece], None] | None = None,
    each: Complete = complete,
) -> Run:
    """Run a flow to its end. The sum of all its calls never exceeds `cap`. `each` answers one request.

    An engine's error goes into the flow, which may have something better to do; if it does not catch it, it
    comes out here with the steps finished so far on `error.steps`.
    """
    ledger = _Ledger(cap, sampling)
    came: Any = None
    try:
        while not isinstance(effect := _next(flow, came), Answer):
            if isinstance(effect, Same):
                if judge is None:
                    raise Unsupported("this policy compares answers; drive it with a grader")
                came = await judge(effect.a, effect.b, effect.kind)
                continue
            clipped = [ledger.admit(request) for request in effect.requests]
            try:
                came = ledger.enter(clipped, await _asked(effect, engine, clipped, show, each))
            except EngineError as err:
                came = err
        return _finished(effect, ledger, show)
    except EngineError as err:
        err.steps = tuple(ledger.steps)
        raise
    finally:
        flow.close()


def _asked(
    effect: Ask | First,
    engine: Engine,
    clipped: Sequence[Request],
    show: Callable[[Piece], None] | None,
    each: Complete,
) -> Coroutine[Any, Any, Completion | tuple[Completion, ...]]:
    """What is awaited for an effect: one request, several at once, or a race."""
    if isinstance(effect, First):
        return raced(engine, clipped, effect.wanted, each)
    if len(clipped) == 1:
        return each(engine, clipped[0], _emit(clipped[0], show))
    # Not shown as they are written: the words of several would run into each other.
    return together(each(engine, request, None) for request in clipped)


def _emit(request: Request, show: Callable[[Piece], None] | None) -> Emit | None:
    if show is None or request.shown == "hidden":
        return None

    def emit(delta: Delta) -> None:
        channel = delta.channel or "answer"
        if channel == "thought" or request.shown == "answer":
            show(Piece(delta.text, channel, request.stage))

    return emit


def _finished(answer: Answer, ledger: _Ledger, show: Callable[[Piece], None] | None) -> Run:
    steps = tuple(ledger.steps)
    if show and answer.text and not _already_shown(answer, steps):
        show(Piece(answer.text, "answer", answer.stage))
    return Run(answer, steps)


def _already_shown(answer: Answer, steps: Sequence[Step]) -> bool:
    """A final answer whose pass was hidden (an accepted probe, a vote) is shown at once, and only once."""
    for step in steps:
        if answer.completion is step.completion:
            return step.request.shown == "answer"
    return False


async def stream(
    flow: Flow,
    engine: Engine,
    *,
    judge: Judge | None = None,
    cap: int | None = None,
    sampling: Sampling = GREEDY,
) -> AsyncIterator[Piece | Run]:
    """The same drive from outside: pieces as they are written, then the run. Closing it stops the work."""
    queue: asyncio.Queue[Piece | None] = asyncio.Queue()
    task = asyncio.ensure_future(
        drive(flow, engine, judge=judge, cap=cap, sampling=sampling, show=queue.put_nowait)
    )
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (piece := await queue.get()) is not None:
            yield piece
        yield await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
