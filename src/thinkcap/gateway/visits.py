"""Where every request comes in and goes out, for whoever looks on from outside: counts, access log, spans.

visits = open_visits(config, metrics)
visit = visits.begin(scope)          # an id, the clock, the client's trace
...
visits.end(visit)                    # counted, logged, its span closed
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.types import Scope

from thinkcap.core.errors import ConfigError
from thinkcap.engines.call_context import CALL_CONTEXT, CallContext
from thinkcap.gateway.access import AccessLog
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.metrics import Metrics
from thinkcap.gateway.visit import Visit

if TYPE_CHECKING:
    from thinkcap.gateway.tracing import Tracing

_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")
_PARENT = re.compile(rb"(?!ff)[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_STATE = re.compile(rb"[\x20-\x7e]{1,512}")
_PASSED_ON = {b"x-request-id": _ID, b"traceparent": _PARENT, b"tracestate": _STATE}
"""What is handed on of a client's headers, and what each must look like; anything else counts as not sent."""


class Visits:
    def __init__(self, metrics: Metrics, access: AccessLog | None = None, tracing: Tracing | None = None) -> None:
        self._metrics = metrics
        self._access = access
        self._tracing = tracing
        self._open: set[Visit] = set()
        metrics.watch(
            "tokens_in_flight", "Tokens that the caps of requests under way allow.", lambda: self.tokens_in_flight
        )

    @property
    def tokens_in_flight(self) -> int:
        return sum(visit.cap * visit.choices for visit in self._open)

    def begin(self, scope: Scope) -> Visit:
        carried = _carried(scope)
        visit = Visit(
            carried.setdefault("x-request-id", secrets.token_hex(8)), scope["method"], scope["path"], self._metrics
        )
        if self._tracing is not None:
            visit.trace = self._tracing.begin(visit, carried)
        headers: Mapping[str, str] = carried if visit.trace is None else {**carried, **visit.trace.headers}
        CALL_CONTEXT.set(CallContext(headers, visit.called))
        self._open.add(visit)
        return visit

    def end(self, visit: Visit) -> None:
        visit.ended = time.perf_counter()
        self._open.discard(visit)
        if visit.model:
            visit.counted()
        if visit.trace is not None:
            visit.trace.end(visit)
        if self._access is not None:
            self._access.write(visit)

    async def aclose(self) -> None:
        """The last lines and spans go out, within a few seconds."""
        if self._access is not None:
            await asyncio.to_thread(self._access.close)
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.close)


def open_visits(config: ServeConfig, metrics: Metrics) -> Visits:
    access = None if config.access_log == "off" else AccessLog(config.access_log, lost=metrics.access_lost.inc)
    return Visits(metrics, access, _tracing(config) if config.otlp else None)


def _tracing(config: ServeConfig) -> Tracing:
    try:
        from thinkcap.gateway.tracing import Tracing
    except ModuleNotFoundError as err:
        raise ConfigError(
            f"tracing needs '{err.name}', which is not installed; run: pip install 'thinkcap[otel]'"
        ) from err
    return Tracing(config.otlp, config.otlp_sample)


def _carried(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        wanted = _PASSED_ON.get(name)
        if wanted is not None and wanted.fullmatch(value):
            found[name.decode()] = value.decode()
    if "traceparent" not in found:
        found.pop("tracestate", None)
    return found
