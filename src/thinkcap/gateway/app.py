"""The gateway as an ASGI application: chat completions by the shortest way, everything else by Starlette.

metrics = Metrics()
app = Gateway(config, await open_models(config, metrics), metrics)      # any ASGI server runs it
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from thinkcap.core.types import Kind, Question
from thinkcap.gateway import chat, pages, replies
from thinkcap.gateway.auth import Keys
from thinkcap.gateway.choose import Choice, choose
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.json_answers import held
from thinkcap.gateway.limits import Admission, Place, check_origin, read_body
from thinkcap.gateway.metrics import Metrics
from thinkcap.gateway.models import Models, Served
from thinkcap.gateway.refusal import UPSTREAM, Refusal, refusal_of
from thinkcap.gateway.streaming import streamed
from thinkcap.gateway.wire import Call, read

log = logging.getLogger("thinkcap.gateway")
Headers = list[tuple[bytes, bytes]]

CHAT = "/v1/chat/completions"
_TEMPLATE_TOKENS = 256
"""More than any template adds to a short conversation."""
_SSE: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


class Gateway:
    """The models come opened and are closed by whoever opened them."""

    def __init__(self, config: ServeConfig, models: Models, metrics: Metrics) -> None:
        self.config = config
        self.models = models
        self.metrics = metrics
        self.keys = Keys(config.keys)
        self.draining = False
        self._judge = _Judge()
        self._admission = Admission(config.concurrency or models.concurrency, config.queue)
        self.metrics.watch("in_flight", "Requests being answered.", lambda: self._admission.active)
        self.metrics.watch("queued", "Requests waiting for their turn.", lambda: self._admission.waiting)
        self._pages = Starlette(routes=pages.routes(self), exception_handlers=pages.HANDLERS, lifespan=self._life)

    @asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        yield
        await self._judge.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == CHAT and scope["method"] == "POST":
            await self._chat(scope, receive, send)
        else:
            await self._pages(scope, receive, send)

    def authorise(self, headers: Headers) -> None:
        self.keys.check(headers)
        if not self.keys:
            check_origin(headers)

    async def _chat(self, scope: Scope, receive: Receive, send: Send) -> None:
        turn = _Turn(send, time.perf_counter())
        try:
            self.authorise(scope["headers"])
            body = await read_body(scope, receive, self.config.body_limit_bytes, self.config.arrival_timeout_s)
            call = read(body, forward_unknown=self.config.forward_unknown)
            served, forced = self.models.find(call.asked.model)
            turn.model = served.name
        except Refusal as err:
            self.metrics.refused(err.code)
            await turn.refuse(err)
            return
        async with _until_gone(receive, turn, self.metrics):
            await self._guarded(call, served, forced, turn)

    async def _guarded(self, call: Call, served: Served, forced: str | None, turn: _Turn) -> None:
        try:
            async with Place(self._admission), asyncio.timeout(self.config.request_timeout_s):
                await self._answer(call, served, forced, turn)
        except TimeoutError:
            late = f"no answer within {self.config.request_timeout_s:g} s"
            await turn.refuse(Refusal(late, status=504, kind=UPSTREAM, code="request_timeout"))
        except Exception as err:
            refusal = refusal_of(err)
            if refusal.status == 500:
                # The place, not the words: they may hold what somebody asked.
                log.error(
                    "failed at %s: %s", _place(err), repr(err) if self.config.log_requests else type(err).__name__
                )
            elif refusal.kind == UPSTREAM or refusal.code == "upstream_busy":
                self.metrics.upstream_error(served.name, refusal.code)
                log.warning("%s: %s", served.name, refusal.code)
            else:
                self.metrics.refused(refusal.code)
            # What a failed flow had spent is spent all the same.
            for step in getattr(err, "steps", ()):
                done = step.completion
                self.metrics.spent(
                    served.name, step.request.stage, done.spent, done.think_tokens, done.prompt_tokens
                )
            await turn.refuse(refusal)
        self.metrics.answered(
            served.name, turn.policy, turn.status, call.stream, time.perf_counter() - turn.arrived
        )
        if self.config.log_requests:
            log.info(
                "%s", replies.encode({"request": call.raw, "status": turn.status, "policy": turn.policy}).decode()
            )

    async def _answer(self, call: Call, served: Served, forced: str | None, turn: _Turn) -> None:
        config = self.config
        if call.tools and not served.tools:
            raise Refusal(f"model '{served.name}' cannot call tools here", code="unsupported", param="tools")
        cap = call.cap or config.default_cap
        choice = choose(call, forced, cap, served.engine.card, served.profile, config.threshold)
        turn.policy = choice.spec.name
        wanted = call.wishes.reasoning_field or config.reasoning_field
        if served.relay is not None and served.short_way(call, choice):
            cap = await _fits(call, served, cap)
            fields = () if wanted == "upstream" else _names(wanted, "")
            if call.stream:
                await turn.stream(served.relay.streamed(call, choice, cap, fields), choice, cap)
                self.metrics.first(choice.spec.name, turn.first - turn.arrived)
                return
            await turn.whole(*await served.relay.whole(call, choice, cap, fields))
            return
        question = chat.question_of(call, served.engine)
        cap, room = await chat.fitted(question, served.engine, call.cap, config.default_cap)
        choice = choose(call, forced, cap, served.engine.card, served.profile, config.threshold)
        turn.policy = choice.spec.name
        job = chat.Job(
            call,
            served.engine,
            call.asked.model,
            served.name,
            question,
            choice,
            cap,
            _names(wanted, served.reasoning_field),
            self._judge.same,
            self.metrics,
            config.temperature,
            turn.arrived,
            config.ping_s,
            room,
            await held(question, served.engine, call.wishes.json),
        )
        if call.stream:
            await turn.stream(streamed(job), choice, cap)
        else:
            await turn.whole(*await chat.whole(job))


async def _fits(call: Call, served: Served, cap: int) -> int:
    """The cap on the short way. Prompts are counted only where they might not fit: counting costs two requests."""
    card = served.engine.card
    if not card.context or call.size + cap + _TEMPLATE_TOKENS <= card.context:
        return cap
    if card.transport == "ids" and not call.tools and not call.media:
        question = Question("chat", chat.question_of(call, served.engine).messages)
        return (await chat.fitted(question, served.engine, call.cap, cap))[0]
    if call.cap is not None and call.cap > card.context:
        raise chat.too_long(f"max_tokens of {call.cap}", card.context)
    return min(cap, card.context)


def _names(wanted: str, upstream: str) -> tuple[str, ...]:
    return (
        ("reasoning_content", "reasoning") if wanted == "both" else (upstream if wanted == "upstream" else wanted,)
    )


def _place(err: BaseException) -> str:
    trace = err.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"


class _Turn:
    """One response on its way: at most one start, and an error in whichever form is still possible."""

    __slots__ = ("_send", "_started", "arrived", "done", "first", "model", "policy", "status")

    def __init__(self, send: Send, arrived: float) -> None:
        self._send = send
        self._started = False
        self.arrived = arrived
        self.first = arrived
        self.done = False
        self.model = ""
        self.policy = "none"
        self.status = 0

    async def whole(self, body: bytes, header: bytes) -> None:
        headers = [(b"content-type", b"application/json"), (b"x-thinkcap", header)]
        await self._start(200, [*headers, (b"content-length", b"%d" % len(body))])
        await self._end(body)

    async def stream(self, events: AsyncIterator[bytes], choice: Choice, cap: int) -> None:
        """The first events are waited for before the headers go out: what fails until then is a plain error."""
        about = replies.header({"policy": choice.label, "chosen_by": choice.by, "cap": cap})
        try:
            async for event in events:
                if not self._started:
                    self.first = time.perf_counter()
                    await self._start(200, [*_SSE, (b"x-thinkcap", about)])
                await self._send({"type": "http.response.body", "body": event, "more_body": True})
            await self._end(b"")
        finally:
            await events.aclose()  # type: ignore[attr-defined]

    async def refuse(self, err: Refusal) -> None:
        if self._started:
            self.status = err.status
            await self._end(err.event())
            return
        body = err.body()
        await self._start(err.status, [*err.headers, (b"content-length", b"%d" % len(body))])
        await self._end(body)

    async def _start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._started, self.status = True, status
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _end(self, body: bytes) -> None:
        self.done = True
        await self._send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def _until_gone(receive: Receive, turn: _Turn, metrics: Metrics) -> AsyncIterator[None]:
    """Cancels what is inside as soon as the client hangs up, and with it the work upstream."""
    mine = asyncio.current_task()
    assert mine is not None
    gone = False

    def left(watcher: asyncio.Task[MutableMapping[str, Any]]) -> None:
        nonlocal gone
        if not watcher.cancelled() and not turn.done:
            gone = True
            mine.cancel()

    watcher: asyncio.Task[MutableMapping[str, Any]] = asyncio.ensure_future(receive())
    watcher.add_done_callback(left)
    try:
        yield
    except asyncio.CancelledError:
        if not gone:
            raise
        mine.uncancel()
        metrics.disconnects.inc()
    finally:
        turn.done = True
        watcher.cancel()


class _Judge:
    """The grader's worker programs, started by the first policy that compares answers."""

    def __init__(self) -> None:
        self._grader: Any = None

    async def same(self, a: str, b: str, kind: Kind) -> bool:
        if self._grader is None:
            from thinkcap.grading import Grader

            self._grader = Grader()
        found: bool = await self._grader.same(a, b, kind)
        return found

    async def aclose(self) -> None:
        if self._grader is not None:
            await self._grader.aclose()
