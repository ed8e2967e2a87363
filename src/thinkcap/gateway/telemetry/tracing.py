"""Spans by OpenTelemetry's conventions for generative AI: one a request, and inside it one a pass.

    tracing = Tracing("http://localhost:4318", sample=1.0)        # needs thinkcap[otel]
    visit.trace = tracing.begin(visit, carried)

A client's W3C trace context is the parent of a request's span, and a pass's span is the parent of whatever its
model server reports. Names, numbers and codes only: no question, thought or answer is ever put into a span.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from thinkcap.core.complete import complete
from thinkcap.core.engine import Emit, Engine
from thinkcap.core.types import Completion, Request
from thinkcap.engines.call_context import CALL_CONTEXT
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
_OTHER = "_OTHER"
"""The conventions' word for an error that has no name."""


class Tracing:
    """A tracer provider of this gateway's own, so that several can live in one process."""

    def __init__(self, otlp: str, sample: float = 1.0) -> None:
        self._provider = _provider(otlp, sample)
        self._tracer = self._provider.get_tracer("thinkcap")

    def begin(self, visit: Visit, carried: Mapping[str, str]) -> RequestSpans | None:
        """The spans of a request that asks for an answer; others have none."""
        operation = _OPERATIONS.get(visit.path) if visit.method == "POST" else None
        return RequestSpans(self._tracer, operation, visit, carried) if operation else None

    def close(self) -> None:
        """The last spans go out; a collector that does not answer is not waited for."""
        last = threading.Thread(target=self._provider.shutdown, daemon=True)
        last.start()
        last.join(_LAST_SPANS_S)


def _provider(otlp: str, sample: float) -> TracerProvider:
    resource = Resource.create() if _named_by_environment() else Resource.create({"service.name": "thinkcap"})
    sampler = ParentBased(TraceIdRatioBased(sample)) if sample < 1 else None
    provider = TracerProvider(sampler, resource=resource, shutdown_on_exit=False)
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

    def __init__(self, tracer: Tracer, operation: str, visit: Visit, carried: Mapping[str, str]) -> None:
        self._tracer = tracer
        self._operation = operation
        self._visit = visit
        parent = _PROPAGATOR.extract(carried) if "traceparent" in carried else _NO_PARENT
        self._span = tracer.start_span(operation, parent, SpanKind.SERVER)
        self._inside: Context = set_span_in_context(self._span)
        self._pass: Span | None = None
        self.id = format(self._span.get_span_context().trace_id, "032x")
        self.headers: Mapping[str, str] = _headers(self._span)

    def spent(self, one: SpentPass) -> None:
        if self._pass is not None:
            self._pass.set_attributes(_of_pass(one))

    async def complete(self, engine: Engine, request: Request, emit: Emit | None = None) -> Completion:
        with self.passing(request.stage, request.budget) as span:
            done = await complete(engine, request, emit)
            span.set_attributes(
                {
                    **_usage(done.charged, done.think_tokens, done.prompt_tokens),
                    "gen_ai.response.finish_reasons": [done.finish],
                    "thinkcap.forced_tokens": done.forced,
                    "thinkcap.ended": done.ended,
                    "thinkcap.sample": request.sample,
                }
            )
            return done

    def end(self, visit: Visit) -> None:
        span = self._span
        if not span.is_recording():
            return
        span.update_name(f"{self._operation} {visit.model}".rstrip())
        span.set_attributes(_of_request(visit, self._operation))
        if visit.code or visit.status >= 400:
            span.set_attribute("error.type", visit.code or str(visit.status))
        if visit.status >= 500:
            # A server's span fails by its own fault only: what the caller did wrong is no error of ours.
            span.set_status(Status(StatusCode.ERROR, visit.code))
        span.end()

    @contextmanager
    def passing(self, stage: str, budget: int) -> Iterator[Span]:
        if not self._span.is_recording():
            # Nobody keeps it, and what the calls carry says so already.
            yield self._span
            return
        visit = self._visit
        span = self._tracer.start_span(
            f"{self._operation} {visit.upstream_model or visit.model}",
            self._inside,
            SpanKind.CLIENT,
            {
                "gen_ai.operation.name": self._operation,
                "gen_ai.request.model": visit.upstream_model or visit.model,
                "gen_ai.request.max_tokens": budget,
                "thinkcap.stage": stage,
                "thinkcap.policy": visit.policy,
            },
        )
        self._pass = span
        context = CALL_CONTEXT.get()
        token = None
        if context is not None:
            token = CALL_CONTEXT.set(replace(context, headers={**context.headers, **_headers(span)}))
        try:
            yield span
        except BaseException as err:
            span.set_attribute("error.type", type(err).__name__ if isinstance(err, Exception) else _OTHER)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            if token is not None:
                CALL_CONTEXT.reset(token)
            span.end()


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


def _headers(span: Span) -> dict[str, str]:
    """W3C's trace context, as the propagator writes it; that one would look for the span anew in every context."""
    of = span.get_span_context()
    found = {"traceparent": f"00-{of.trace_id:032x}-{of.span_id:016x}-{of.trace_flags:02x}"}
    if of.trace_state:
        found["tracestate"] = of.trace_state.to_header()
    return found
