"""Spans by OpenTelemetry's conventions for generative AI: one per request, and inside it one per pass.

    tracing = Tracing("http://localhost:4318", sample=1.0)        # needs thinkcap[otel]
    visit.trace = tracing.begin(visit, carried)

A client's W3C trace context is the parent of a request's span, and a pass's span is the parent of whatever its
model server reports. Names, numbers and codes only: no question, thought or answer is ever put into a span.

What calls carry is an id and whether the trace is kept, so these are drawn at once. The spans themselves are made
when the request is over and its client has the answer: making one takes longer than checking a request.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    NoOpTracer,
    Span,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from thinkcap.core.complete import complete
from thinkcap.core.engine import Emit, Engine
from thinkcap.core.types import Completion, Request
from thinkcap.engines.call_context import CALL_CONTEXT, CallContext
from thinkcap.gateway.telemetry.metrics import SpentPass
from thinkcap.gateway.telemetry.visit import Visit

FROM_ENVIRONMENT = "env"
"""Instead of an address: as OTEL_EXPORTER_OTLP_ENDPOINT and its kin say."""
_TRACES = "/v1/traces"
_LAST_SPANS_S = 3.0
_OPERATIONS = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "chat",
    "/v1/messages": "chat",
    "/v1/completions": "text_completion",
    "/v1/embeddings": "embeddings",
}
_PROPAGATOR = TraceContextTextMapPropagator()
_NO_PARENT = Context()
_RANDOM = RandomIdGenerator()
_OTHER = "_OTHER"
"""The conventions' word for an error that has no name."""


class _GivenIds(IdGenerator):
    """Spans get the ids that calls have carried already."""

    trace = 0
    span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


@dataclass(slots=True, eq=False)
class _Passing:
    """A pass whose span is yet to be made."""

    id: int
    began: int
    about: dict[str, Any]
    ended: int = 0
    failed: bool = False


class Tracing:
    """A tracer provider of this gateway's own, so that several can live in one process."""

    def __init__(self, otlp: str, sample: float = 1.0) -> None:
        self._ids = _GivenIds()
        self._provider = _provider(otlp, sample, self._ids)
        self._tracer = self._provider.get_tracer("thinkcap")
        self._off = isinstance(self._tracer, NoOpTracer)

    def begin(self, visit: Visit, carried: Mapping[str, str]) -> RequestSpans | None:
        """The spans of a request that asks for an answer; others have none."""
        operation = _OPERATIONS.get(visit.path) if visit.method == "POST" and not self._off else None
        return RequestSpans(self, operation, visit, carried) if operation else None

    def keeps(self, parent: Context, trace: int, name: str) -> bool:
        found = self._provider.sampler.should_sample(parent, trace, name, SpanKind.SERVER)
        return found.decision is Decision.RECORD_AND_SAMPLE

    def span(
        self, trace: int, span: int, name: str, parent: Context, kind: SpanKind, about: dict[str, Any], began: int
    ) -> Span:
        self._ids.trace, self._ids.span = trace, span
        return self._tracer.start_span(name, parent, kind, about, start_time=began)

    def close(self) -> None:
        """The last spans go out; a collector that does not answer is not waited for."""
        last = threading.Thread(target=self._provider.shutdown, daemon=True)
        last.start()
        last.join(_LAST_SPANS_S)


def _provider(otlp: str, sample: float, ids: IdGenerator) -> TracerProvider:
    resource = Resource.create() if _named_by_environment() else Resource.create({"service.name": "thinkcap"})
    sampler = ParentBased(TraceIdRatioBased(sample)) if sample < 1 else None
    provider = TracerProvider(sampler, resource=resource, shutdown_on_exit=False, id_generator=ids)
    if otlp == FROM_ENVIRONMENT:
        exporter = OTLPSpanExporter()
    else:
        exporter = OTLPSpanExporter(endpoint=otlp if otlp.endswith(_TRACES) else otlp.rstrip("/") + _TRACES)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _named_by_environment() -> bool:
    return "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")


class RequestSpans:
    """One request's span, and the spans of its passes inside it."""

    def __init__(self, tracing: Tracing, operation: str, visit: Visit, carried: Mapping[str, str]) -> None:
        self._tracing = tracing
        self._operation = operation
        self._visit = visit
        self._began = time.time_ns()
        self._parent = _PROPAGATOR.extract(carried) if "traceparent" in carried else _NO_PARENT
        parent = get_current_span(self._parent).get_span_context()
        self._trace = parent.trace_id if parent.is_valid else _RANDOM.generate_trace_id()
        self._span = _RANDOM.generate_span_id()
        self._kept = tracing.keeps(self._parent, self._trace, operation)
        self._flags = (parent.trace_flags & ~TraceFlags.SAMPLED) | (TraceFlags.SAMPLED if self._kept else 0)
        self._state = parent.trace_state.to_header() if parent.trace_state else ""
        self._passes: list[_Passing] = []
        self._pass: _Passing | None = None
        self.id = f"{self._trace:032x}"
        self.headers: Mapping[str, str] = self._headers(self._span)

    def spent(self, one: SpentPass) -> None:
        if self._pass is not None:
            self._pass.about |= _of_pass(one)

    async def complete(self, engine: Engine, request: Request, emit: Emit | None = None) -> Completion:
        with self.passing(request.stage, request.budget) as one:
            done = await complete(engine, request, emit)
            one.about |= {
                **_usage(done.charged, done.think_tokens, done.prompt_tokens),
                "gen_ai.response.finish_reasons": [done.finish],
                "thinkcap.forced_tokens": done.forced,
                "thinkcap.ended": done.ended,
                "thinkcap.sample": request.sample,
            }
            return done

    @contextmanager
    def passing(self, stage: str, budget: int) -> Iterator[_Passing]:
        visit = self._visit
        one = _Passing(
            _RANDOM.generate_span_id(),
            time.time_ns(),
            {
                "gen_ai.operation.name": self._operation,
                "gen_ai.request.model": visit.upstream_model or visit.model,
                "gen_ai.request.max_tokens": budget,
                "thinkcap.stage": stage,
                "thinkcap.policy": visit.policy,
            },
        )
        self._pass = one
        context = CALL_CONTEXT.get()
        token = None
        if context is not None:
            carried = {**context.headers, **self._headers(one.id)}
            token = CALL_CONTEXT.set(CallContext(carried, context.told))
        try:
            yield one
        except BaseException as err:
            one.about["error.type"] = type(err).__name__ if isinstance(err, Exception) else _OTHER
            one.failed = True
            raise
        finally:
            if token is not None:
                CALL_CONTEXT.reset(token)
            one.ended = time.time_ns()
            self._passes.append(one)

    def end(self, visit: Visit) -> None:
        if not self._kept:
            return
        about = _of_request(visit, self._operation)
        if visit.code or visit.status >= 400:
            about["error.type"] = visit.code or str(visit.status)
        name = f"{self._operation} {visit.model}".rstrip()
        request = self._made(self._span, name, self._parent, SpanKind.SERVER, about, self._began)
        inside, name = set_span_in_context(request), f"{self._operation} {visit.upstream_model or visit.model}"
        for one in self._passes:
            span = self._made(one.id, name, inside, SpanKind.CLIENT, one.about, one.began)
            if one.failed:
                span.set_status(Status(StatusCode.ERROR))
            span.end(one.ended)
        if visit.status >= 500:
            # A server's span fails by its own fault only: what the caller did wrong is not our error.
            request.set_status(Status(StatusCode.ERROR, visit.code))
        request.end(self._began + int(1e9 * visit.seconds))

    def _made(
        self, span: int, name: str, parent: Context, kind: SpanKind, about: dict[str, Any], began: int
    ) -> Span:
        return self._tracing.span(self._trace, span, name, parent, kind, about, began)

    def _headers(self, span: int) -> dict[str, str]:
        """W3C's trace context, as the propagator would write it of a span."""
        found = {"traceparent": f"00-{self.id}-{span:016x}-{self._flags:02x}"}
        if self._state:
            found["tracestate"] = self._state
        return found


def _of_request(visit: Visit, operation: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "thinkcap",
        "http.request.method": visit.method,
        "url.path": visit.path,
        "http.response.status_code": visit.status,
        "thinkcap.request_id": visit.id,
    }
    if not visit.model:
        return found
    found |= {
        "gen_ai.request.model": visit.model,
        "gen_ai.request.stream": visit.stream,
        "thinkcap.policy": visit.policy,
        "thinkcap.chosen_by": visit.chosen_by,
        "thinkcap.passes": visit.passes,
        "thinkcap.fallback": visit.fallback,
        **_usage(visit.tokens, visit.reasoning_tokens, visit.prompt_tokens),
    }
    if visit.cap:
        found |= {"gen_ai.request.max_tokens": visit.cap, "thinkcap.cap": visit.cap}
    if visit.choices > 1:
        found["gen_ai.request.choice.count"] = visit.choices
    if visit.upstream_model:
        found["gen_ai.response.model"] = visit.upstream_model
    if visit.finishes:
        found["gen_ai.response.finish_reasons"] = visit.finishes
    if visit.first is not None:
        found["gen_ai.response.time_to_first_chunk"] = visit.first - visit.arrived
    return found


def _of_pass(one: SpentPass) -> dict[str, Any]:
    return {
        **_usage(one.tokens, one.reasoning, one.prompt),
        "thinkcap.forced_tokens": one.forced,
        "thinkcap.ended": one.ended,
    }


def _usage(output: int, reasoning: int, prompt: int) -> dict[str, Any]:
    return {
        "gen_ai.usage.input_tokens": prompt,
        "gen_ai.usage.output_tokens": output,
        "gen_ai.usage.reasoning.output_tokens": reasoning,
    }
