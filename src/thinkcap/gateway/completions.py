"""OpenAI's older completions, passed on to a model server under the cap: a raw prompt, no policy, no switch.

response = await answered(request, service)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from thinkcap.core.errors import ThinkcapError
from thinkcap.engines.fleet import Route, routed
from thinkcap.gateway.admission.limits import Slot
from thinkcap.gateway.admission.quota import Holder, Reserved
from thinkcap.gateway.answering.job import too_long
from thinkcap.gateway.budget import bound_tokens, estimate_room
from thinkcap.gateway.models import Served
from thinkcap.gateway.refusal import UPSTREAM, Refusal, late, refusal_of
from thinkcap.gateway.replies import DONE, encode
from thinkcap.gateway.service import Service
from thinkcap.gateway.wires.chat import Count
from thinkcap.gateway.wires.reading import converted, decoded

PATH = "/v1/completions"
_LAST_WORDS_S = 5.0
_SILENT_BYTES = 2**18
_ALIKE = 1024
"""Characters at the beginning of a prompt that make it the same conversation."""
_SPECIAL_TOKENS = 8
"""More than a server adds around a raw prompt."""
_Choices = Annotated[int, Meta(ge=1, le=64)]


class CompletionRequest(Struct):
    """What has to be known to hold the cap; every other field is the server's business."""

    model: str
    prompt: str | list[str | int | list[int]]
    max_tokens: Count | None = None
    n: _Choices | None = None
    best_of: _Choices | None = None
    stream: bool | None = None

    @property
    def prompts(self) -> Sequence[str | Sequence[int]]:
        """Texts, or their token ids."""
        if isinstance(self.prompt, str):
            return (self.prompt,)
        if not self.prompt or isinstance(self.prompt[0], int):
            return ([one for one in self.prompt if isinstance(one, int)],)
        return [[one] if isinstance(one, int) else one for one in self.prompt]

    @property
    def answers(self) -> int:
        """How many texts are written for it."""
        return max(self.n or 1, self.best_of or 1) * len(self.prompts)


async def answered(request: Request, service: Service, holder: Holder) -> Response:
    config = service.config
    raw = decoded(await service.body(request.scope, request.receive))
    asked = converted(CompletionRequest, raw)
    served, forced = service.models.find(asked.model)
    if served.relay is None or forced is not None:
        why = "a raw prompt cannot use a policy" if forced is not None else "it takes conversations only"
        raise Refusal(f"no completions of model '{asked.model[:80]}': {why}", code="unsupported", param="model")
    cap = bound_tokens(asked.max_tokens, config, holder.limits, asked.answers, served.engine.card.context)
    if asked.answers * cap > config.tokens_limit or asked.answers > config.calls_limit:
        raise Refusal(
            f"{asked.answers} completions of {cap} tokens; one request may ask for {config.calls_limit} calls and "
            f"{config.tokens_limit} tokens",
            code="too_many_tokens",
            param="max_tokens",
        )
    counts = _Counts()
    async with AsyncExitStack() as kept:
        reserved = Reserved(service.quota, holder, asked.answers * cap)
        await kept.enter_async_context(reserved)
        await kept.enter_async_context(Slot(service.admission, asked.answers))
        reserved.begin(counts)
        body = dict(raw)
        # A quota needs to know what a stream has written, which servers tell on request only.
        hides_usage = bool(holder.limits) and bool(asked.stream) and _add_usage(body)
        try:
            async with asyncio.timeout(config.request_timeout_s):
                with routed(Route(str(asked.prompt)[:_ALIKE].encode("utf-8", "replace"), asked.answers * cap)):
                    if asked.max_tokens is None:
                        cap = await _fit(asked, served, cap)
                    body["max_tokens"] = cap
                    if not asked.stream:
                        reply = await served.relay.completed(body)
                        told, counts.written = _counted(reply)
                        if (counts.written or 0) > asked.answers * cap:
                            raise _over(counts.written or 0, asked.answers * cap)
                        return Response(told, media_type="application/json")
                    events = served.relay.completing(body)
                    first = await anext(events, b"")
        except TimeoutError:
            # The server may have written all of it.
            counts.written = asked.answers * cap
            raise late(config.request_timeout_s) from None
        kept.push_async_callback(events.aclose)
        until = asyncio.get_running_loop().time() + config.request_timeout_s
        counts.started = True
        within = _Within(events, asked.answers * cap, until, config.request_timeout_s, counts, hides_usage)
        return _Streaming(within.all(first), until, kept.pop_all())


async def _fit(asked: CompletionRequest, served: Served, bound: int) -> int:
    """The rest of the context, which several prompts share by the longest of them."""
    context = served.engine.card.context
    if not context:
        return bound
    prompts = asked.prompts
    longest = max(map(len, (p.encode("utf-8", "replace") if isinstance(p, str) else p for p in prompts)))
    if longest + bound + _SPECIAL_TOKENS <= context:
        return bound
    if served.relay is None or served.engine.card.transport != "ids":
        return min(bound, min(estimate_room(context, p) for p in prompts))
    counts = [await served.relay.count_tokens(p) if isinstance(p, str) else len(p) for p in prompts]
    room = context - max(counts) - _SPECIAL_TOKENS
    if room < 1:
        raise too_long(f"{max(counts)} prompt tokens and room for an answer", context)
    return min(bound, room)


def _add_usage(body: dict[str, Any]) -> bool:
    """Ask a stream for what it has written; false if the client asks for it, or sends no such options at all."""
    options = body.get("stream_options") or {}
    if not isinstance(options, Mapping) or options.get("include_usage"):
        return False
    body["stream_options"] = {**options, "include_usage": True}
    return True


@dataclass
class _Counts:
    """What the quota is charged for."""

    written: int | None = None
    started: bool = False


class _Streaming(StreamingResponse):
    """Gives its place back however it ends, also where the client left before the first event."""

    def __init__(self, events: AsyncIterator[bytes], until: float, kept: AsyncExitStack) -> None:
        super().__init__(events, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        self._until = until
        self._kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A client that does not read is not waited for longer than the model server; its connection is cut.
        async with self._kept:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._until + _LAST_WORDS_S):
                    await super().__call__(scope, receive, send)


@dataclass
class _Within:
    """Events on their way, within the cap and the time of the request."""

    events: AsyncIterator[bytes]
    most: int
    until: float
    timeout_s: float
    counts: _Counts
    hides_usage: bool = False
    """The client did not ask for the event that says what was written."""
    _written: int = 0
    _silent: int = 0

    async def all(self, first: bytes) -> AsyncIterator[bytes]:
        try:
            event = first
            while event:
                if shown := self._count(event):
                    yield shown
                async with asyncio.timeout_at(self.until):
                    event = await anext(self.events, b"")
            yield DONE
        except TimeoutError:
            yield late(self.timeout_s).event()
        except (Refusal, ThinkcapError) as err:
            yield refusal_of(err).event()

    def _count(self, event: bytes) -> bytes:
        """An event with text holds a token at least; what a server counts itself is taken at its word too.

        What the client shall see comes back.
        """
        shown = []
        for data in event.split(b"\n\n"):
            told = _told(data.removeprefix(b"data: "))
            if data and not (self.hides_usage and told.usage is not None and not told.choices):
                shown.append(data + b"\n\n")
            shows = any(choice.text for choice in told.choices)
            self._written += shows
            self._silent = 0 if shows else self._silent + len(data)
            if self._silent > _SILENT_BYTES:
                raise Refusal(
                    "the model server sent events that show nothing",
                    status=502,
                    kind=UPSTREAM,
                    code="upstream_garbled",
                )
            counted = (told.usage or {}).get("completion_tokens")
            if isinstance(counted, int):
                self.counts.written = max(self._written, counted)
            if (tokens := max(self._written, counted if isinstance(counted, int) else 0)) > self.most:
                raise _over(tokens, self.most)
        return b"".join(shown)


class _Choice(Struct):
    text: str | None = None


class _Event(Struct):
    choices: list[_Choice] = []
    usage: dict[str, Any] | None = None


def _told(data: bytes) -> _Event:
    try:
        return msgspec.json.decode(data, type=_Event) if data else _Event()
    except (ValueError, RecursionError):
        # Whatever else a server says is passed on as it is, and counts for nothing.
        return _Event()


def _counted(reply: bytes) -> tuple[bytes, int | None]:
    """The answer as it came, and its tokens if the server says how many there are."""
    told: Any = msgspec.json.decode(reply)
    usage = told.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return encode(told), tokens if isinstance(tokens, int) else None


def _over(tokens: int, most: int) -> Refusal:
    return Refusal(
        f"the model server wrote {tokens} tokens where {most} were allowed",
        status=502,
        kind=UPSTREAM,
        code="cap_not_held",
    )


__all__ = ["PATH", "CompletionRequest", "answered"]
