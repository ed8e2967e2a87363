"""The gateway as an ASGI application: the wires by the shortest way, everything else by Starlette.

metrics = Metrics()
app = Gateway(config, await open_models(config, metrics), metrics)      # any ASGI server runs it
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from thinkcap.core.errors import ThinkcapError
from thinkcap.engines.fleet import routed
from thinkcap.gateway import replies
from thinkcap.gateway.admission.limits import Slot
from thinkcap.gateway.admission.quota import NO_LIMITS, Holder, Limits, Quota, Reserved
from thinkcap.gateway.answering import job
from thinkcap.gateway.answering.json_answers import check_forced_call, held
from thinkcap.gateway.answering.relay import stage_of
from thinkcap.gateway.answering.streaming import streamed
from thinkcap.gateway.budget import bound_tokens
from thinkcap.gateway.call import Call
from thinkcap.gateway.choose import Choice, calls_at_once, choose
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.media import check_media
from thinkcap.gateway.models import Models, Served
from thinkcap.gateway.pages.routes import HANDLERS, routes
from thinkcap.gateway.pending import NotReady
from thinkcap.gateway.refusal import UPSTREAM, Refusal, late, refusal_of
from thinkcap.gateway.response import Response, cancel_on_disconnect, noted
from thinkcap.gateway.service import Service
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.telemetry.visit import LEFT, Visit, pass_of
from thinkcap.gateway.upstreams import route_of
from thinkcap.gateway.wires import WIRES, Wire, canonical
from thinkcap.gateway.wires.retold import retold, retold_stream

log = logging.getLogger("thinkcap.gateway")


class Gateway:
    """The models come opened and are closed by whoever opened them."""

    def __init__(self, config: ServeConfig, models: Models, metrics: Metrics, quota: Quota | None = None) -> None:
        self.service = Service(config, models, metrics, quota)
        self.metrics = metrics
        self._door: ASGIApp = self._enter
        if config.origins:
            self._door = CORSMiddleware(
                self._enter,
                allow_origins=config.origins,
                allow_methods=("GET", "POST"),
                allow_headers=("*",),
                expose_headers=("x-thinkcap", "x-request-id", "retry-after"),
            )
        self._pages = Starlette(routes=routes(self.service), exception_handlers=HANDLERS, lifespan=self._life)

    @asynccontextmanager
    async def _life(self, _: Starlette) -> AsyncIterator[None]:
        yield
        await self.aclose()
        await self.service.quota.aclose()

    async def aclose(self) -> None:
        """All but the counts of limits, which a gateway that takes its place goes on with."""
        await self.service.judge.aclose()
        await self.service.visits.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._door(scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return
        scope["path"] = canonical(scope["path"])
        visit = self.service.visits.begin(scope)
        wire = WIRES.get(scope["path"])
        try:
            self.service.check_host(scope["headers"])
            if wire is not None and scope["method"] == "POST":
                await self._serve(wire, visit, scope, receive, send)
            else:
                scope["thinkcap.visit"] = visit
                await self._pages(scope, receive, noted(visit, send))
        except Refusal as err:
            self.metrics.refused(err.code)
            await Response(send, visit, wire or WIRES["/v1/chat/completions"]).refuse(err)
        finally:
            visit.status = visit.status or LEFT
            visit.ended = time.perf_counter()
            # By now the last bytes are on their way.
            self.service.visits.end(visit)

    async def _serve(self, wire: Wire, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        service, config = self.service, self.service.config
        response = Response(send, visit, wire)
        try:
            holder = service.authorise(scope["headers"])
            visit.key = holder.name
            body = await service.body(scope, receive)
            call = wire.read(body, config.forward_unknown)
            served, forced = service.models.find(call.model)
            self._check(call, served, self._bound(call, served, holder.limits))
        except NotReady as err:
            visit.model = err.model
            self.metrics.upstream_error(err.model, err.code)
            await response.refuse(err)
            return
        except Refusal as err:
            self.metrics.refused(err.code)
            await response.refuse(err)
            return
        visit.model, visit.upstream_model = served.name, served.engine.card.model
        visit.stream, visit.choices = call.stream, call.n
        with cancel_on_disconnect(receive, response, service):
            await self._guarded(call, served, forced, holder, response)

    def takes(self, path: str, body: bytes) -> bool:
        """Whether a request would be answered and not refused, as far as can be told without asking anybody."""
        wire = WIRES.get(canonical(path))
        if wire is None:
            return False
        config = self.service.config
        try:
            call = wire.read(body, config.forward_unknown)
            served, forced = self.service.models.find(call.model)
            bound = self._bound(call, served, NO_LIMITS)
            self._check(call, served, bound)
            choice = self._choice(call, served, forced, bound)
            if not served.short_way(call, choice):
                job.question_of(call, served.engine)
        except (Refusal, ThinkcapError):
            return False
        return True

    def _bound(self, call: Call, served: Served, limits: Limits) -> int:
        return bound_tokens(call.cap, self.service.config, limits, call.n, served.engine.card.context)

    def _check(self, call: Call, served: Served, cap: int) -> None:
        config = self.service.config
        if call.media and served.passes_media:
            check_media(call.messages, config.media_hosts)
        if call.n * cap > config.tokens_limit:
            raise Refusal(
                f"n of {call.n} times max_tokens of {cap} is {call.n * cap} tokens; one request may ask for "
                f"{config.tokens_limit}",
                code="too_many_tokens",
                param="max_tokens",
            )

    async def _guarded(
        self, call: Call, served: Served, forced: str | None, holder: Holder, response: Response
    ) -> None:
        config = self.service.config
        cap = self._bound(call, served, holder.limits)
        try:
            choice = self._choice(call, served, forced, cap)
            response.visit.decided(choice, cap)
            calls = call.n * calls_at_once(choice.spec)
            if calls > config.calls_limit:
                raise Refusal(
                    f"n of {call.n} with policy '{choice.label[:80]}' is {calls} calls at once; one request may "
                    f"make {config.calls_limit}",
                    code="too_many_calls",
                    param="n",
                )
            async with (
                Reserved(self.service.quota, holder, call.n * cap) as reserved,
                Slot(self.service.admission, calls),
            ):
                reserved.begin(response)
                with self.service.deadlines.within(config.request_timeout_s):
                    if served.fleet is None:
                        await self._answer(call, served, forced, choice, cap, response)
                    else:
                        with routed(route_of(call, cap)):
                            await self._answer(call, served, forced, choice, cap, response)
        except TimeoutError:
            await response.refuse(late(config.request_timeout_s))
        except Exception as err:
            await response.refuse(self._told(err, response.visit))
        if config.log_requests:
            visit = response.visit
            about = {"id": visit.id, "request": call.raw, "status": visit.status, "policy": visit.policy}
            log.info("%s", replies.encode(about).decode())

    def _told(self, err: Exception, visit: Visit) -> Refusal:
        """What the caller is told of a failure, once the operator has been."""
        refusal = refusal_of(err)
        if refusal.status == 500:
            # The place, not the words: they may hold what somebody asked.
            words = repr(err) if self.service.config.log_requests else type(err).__name__
            log.error("failed at %s: %s (request %s)", _place(err), words, visit.id)
        elif refusal.kind == UPSTREAM or refusal.code == "upstream_busy":
            self.metrics.upstream_error(visit.model, refusal.code)
            log.warning("%s: %s (request %s)", visit.model, refusal.code, visit.id)
        else:
            self.metrics.refused(refusal.code)
        # What a failed flow had spent is spent all the same.
        for step in getattr(err, "steps", ()):
            visit.spent(pass_of(step))
        return refusal

    def _choice(self, call: Call, served: Served, forced: str | None, cap: int) -> Choice:
        if call.tools and not served.tools:
            raise Refusal(f"model '{served.name}' cannot call tools here", code="unsupported", param="tools")
        card, threshold = served.engine.card, self.service.config.threshold
        return choose(call, forced, cap, card, served.profile, threshold, served.budget_field)

    async def _answer(
        self, call: Call, served: Served, forced: str | None, choice: Choice, bound: int, response: Response
    ) -> None:
        config, visit = self.service.config, response.visit
        wanted = call.wishes.reasoning_field or config.reasoning_field
        names = () if call.hides_thought else _names(wanted, served.reasoning_field)
        if served.relay is not None and served.short_way(call, choice):
            cap = choice.limit_cap(await job.fits(call, served.engine, bound))
            visit.decided(choice, cap)
            as_it_is = response.wire.servers_own and not call.hides_thought
            fields = _names(wanted, "") if as_it_is and wanted != "upstream" else ()
            if call.stream:
                if response.wire.counts_first and served.engine.card.transport == "ids":
                    call = await job.counted(call, served.engine)
                events = served.relay.streamed(call, choice, cap, fields, visit)
                if not as_it_is:
                    events = retold_stream(events, call, response.wire.encoder(call, names))
                with visit.passing(stage_of(choice), cap):
                    await response.stream(events, choice, cap)
                return
            with visit.passing(stage_of(choice), cap):
                body, about = await served.relay.whole(call, choice, cap, fields, visit)
            if as_it_is:
                body = replies.told(body, about)
            else:
                body = retold(body, about, call, response.wire.encoder(call, names))
            await response.whole(body, replies.header(about))
            return
        question = job.question_of(call, served.engine)
        await check_forced_call(question, served.engine)
        cap, room = await job.fitted(question, served.engine, call.cap, bound)
        if cap != bound:
            choice = self._choice(call, served, forced, cap)
        cap = choice.limit_cap(cap)
        visit.decided(choice, cap)
        if room is not None:
            call = replace(call, prompt_tokens=served.engine.card.context - room)
        one = job.Job(
            call,
            served.engine,
            visit,
            question,
            choice,
            cap,
            response.wire.encoder(call, names),
            self.service.judge.same,
            config.temperature,
            config.ping_s,
            room,
            await held(question, served.engine, call.wishes.json),
            max(1, config.calls_limit // call.n),
        )
        if call.stream:
            await response.stream(streamed(one), choice, cap)
        else:
            await response.whole(*await job.whole(one))


def _names(wanted: str, upstream: str) -> tuple[str, ...]:
    return (
        ("reasoning_content", "reasoning") if wanted == "both" else (upstream if wanted == "upstream" else wanted,)
    )


def _place(err: BaseException) -> str:
    trace = err.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
