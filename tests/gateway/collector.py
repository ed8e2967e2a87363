"""An OpenTelemetry collector as the protocol has it: OTLP over HTTP in protobuf, kept in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from patience import PATIENCE_S


@dataclass(frozen=True)
class SeenSpan:
    name: str
    trace: str
    id: str
    parent: str
    kind: int
    failed: bool
    about: dict[str, Any]
    service: str


class Collector:
    def __init__(self) -> None:
        self._spans: list[SeenSpan] = []
        self.raw = b""
        self._lock = threading.Lock()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                assert self.path == "/v1/traces"
                collector.take(body)
                reply = ExportTraceServiceResponse().SerializeToString()
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def take(self, body: bytes) -> None:
        with self._lock:
            self.raw += body
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                service = _values(resource.resource.attributes)["service.name"]
                for scope in resource.scope_spans:
                    self._spans += [_seen(span, service) for span in scope.spans]

    def wait(self, number: int) -> list[SeenSpan]:
        """So many spans at least; parents end after their children and so come behind them."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with self._lock:
                if len(self._spans) >= number:
                    return list(self._spans)
            time.sleep(0.02)
        raise AssertionError(f"{number} spans wanted, {self._spans} came")


def _seen(span: Span, service: str) -> SeenSpan:
    return SeenSpan(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        span.status.code == 2,
        _values(span.attributes),
        service,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        thread.join()
