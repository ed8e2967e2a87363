"""Where every request comes in and goes out, for whoever looks on from outside: counts, access log, spans.

visits = open_visits(config, metrics)
visit = visits.begin(scope)          # an id, the clock, the client's trace
...
visits.end(visit)                    # counted, logged, its span closed
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.types import Scope

from thinkcap.core.errors import ConfigError
from thinkcap.engines.call_context import CALL_CONTEXT, CallContext
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.telemetry.access import AccessLog
from thinkcap.gateway.telemetry.carried import carried
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.telemetry.visit import Visit

if TYPE_CHECKING:
    from thinkcap.gateway.telemetry.tracing import Tracing


class Visits:
    def __init__(self, metrics: Metrics, access: AccessLog | None = None, tracing: Tracing | None = None) -> None:
        self._metrics = metrics
        self._access = access
        self._tracing = tracing
        self._open: set[Visit] = set()
        metrics.watch(
            "tokens_in_flight",
            "Tokens that the caps of requests in progress allow.",
            lambda: self.tokens_in_flight,
        )

    @property
    def tokens_in_flight(self) -> int:
        return sum(visit.cap * visit.choices for visit in self._open)

    def begin(self, scope: Scope) -> Visit:
        found = carried(scope)
        visit = Visit(found.setdefault("x-request-id", _new_id()), scope["method"], scope["path"], self._metrics)
        if self._tracing is not None:
            visit.trace = self._tracing.begin(visit, found)
        headers: Mapping[str, str] = found if visit.trace is None else {**found, **visit.trace.headers}
        CALL_CONTEXT.set(CallContext(headers, visit.called))
        self._open.add(visit)
        return visit

    def end(self, visit: Visit) -> None:
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
        from thinkcap.gateway.telemetry.tracing import Tracing
    except ModuleNotFoundError as err:
        raise ConfigError(
            f"tracing needs '{err.name}', which is not installed; run: pip install 'thinkcap[otel]'"
        ) from err
    return Tracing(config.otlp, config.otlp_sample)


def _new_id() -> str:
    """Not secret, so no bytes of the system's: asking for them costs more than the rest of the visit."""
    return f"{random.getrandbits(64):016x}"
