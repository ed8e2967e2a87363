"""What the paths of one gateway share: settings, models, keys, the queue, counts, and whether it is closing.

service = Service(config, models, metrics)
service.authorise(scope["headers"])
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

from starlette.types import Receive, Scope

from thinkcap.core.types import Kind
from thinkcap.engines.deadlines import Deadlines
from thinkcap.gateway.admission.auth import Keys
from thinkcap.gateway.admission.limits import LOOPBACK, Admission, Headers, check_host, check_origin, read_body
from thinkcap.gateway.admission.quota import Holder, LocalQuota, Quota
from thinkcap.gateway.admission.shared_quota import SharedQuota
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import Models, is_ready
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.telemetry.visits import open_visits

ModelState = Literal["ready", "down", "pending"]
"""`pending`: its server has not answered since the start."""
_FRESH_S = 1.0
"""How long it is remembered whether the models can be asked."""


class Service:
    """The models come opened and are closed by whoever opened them."""

    def __init__(self, config: ServeConfig, models: Models, metrics: Metrics, quota: Quota | None = None) -> None:
        self.config = config
        self.models = models
        self.metrics = metrics
        self.visits = open_visits(config, metrics)
        self.keys = Keys(config.keys, config.limits)
        self.quota: Quota = quota or open_quota(config.redis)
        self.draining = False
        self.judge = LateGrader()
        self.readiness = Readiness(models)
        self.deadlines = Deadlines()
        self.watched = Deadlines()
        """Apart: these are short, and would have the timer of the long ones ring all the time."""
        self.admission = Admission(config.concurrency or models.concurrency, config.queue)
        self._hosts = _hosts(config)
        self._own = LOOPBACK | {config.host.lower()} | {host.lower() for host in config.hosts}
        metrics.watch("in_flight", "Calls under way.", lambda: self.admission.active)
        metrics.watch("queued", "Requests waiting for their turn.", lambda: self.admission.waiting)

    def check_host(self, headers: Headers) -> None:
        if self._hosts:
            check_host(headers, self._hosts)

    def authorise(self, headers: Headers) -> Holder:
        """Who asks."""
        holder = self.keys.check(headers)
        if not self.keys:
            check_origin(headers, self.config.origins, self._own)
        return holder

    async def body(self, scope: Scope, receive: Receive) -> bytes:
        """Whole, and not too large; a client that takes too long to send it is refused."""
        limit_s = self.config.arrival_timeout_s
        try:
            with self.deadlines.within(limit_s):
                return await read_body(scope, receive, self.config.body_limit_bytes)
        except TimeoutError:
            raise Refusal(
                f"the body did not arrive within {limit_s:g} s", status=408, code="request_timeout"
            ) from None


def open_quota(redis: str | None) -> Quota:
    return SharedQuota(redis) if redis else LocalQuota()


def _hosts(config: ServeConfig) -> frozenset[str]:
    """Names this gateway answers to; empty means any. With keys, or open to anyone, only what is named counts."""
    named = frozenset(host.lower() for host in config.hosts)
    if named or config.keys or config.anyone:
        return named | LOOPBACK if named else named
    return LOOPBACK | {config.host.lower()}


class Readiness:
    """The state of each model, found out at most once a second however many ask: anybody may."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._seen: dict[str, ModelState] = {}
        self._at = float("-inf")
        self._pending = -1
        self._lock = asyncio.Lock()

    async def now(self) -> dict[str, ModelState]:
        async with self._lock:
            pending = len(self._models.pending)
            if time.monotonic() - self._at > _FRESH_S or pending != self._pending:
                self._pending = pending
                self._seen = await self._look()
                self._at = time.monotonic()
        return self._seen

    async def _look(self) -> dict[str, ModelState]:
        # All at once: a probe must not wait for every server that is silent.
        served = dict(self._models.served)
        ready = await asyncio.gather(*map(is_ready, served.values()))
        found: dict[str, ModelState] = {
            name: "ready" if up else "down" for name, up in zip(served, ready, strict=True)
        }
        return found | {one.name: "pending" for one in self._models.pending if one.name not in found}


class LateGrader:
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
