"""A gateway whose settings are read again while it runs: whole, or not at all.

    app = Reloading(gateway, read=lambda: ServeConfig.from_file(path), asked=config)
    await app.reload()          # "settings reloaded: keys (+carol, -bob), threshold"

Requests under way finish under the settings they began with. Models whose settings did not change stay open, with
all that is known of their servers; counts of limits and metrics go on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace

from starlette.types import Receive, Scope, Send

from thinkcap.core.errors import ConfigError, ThinkcapError
from thinkcap.gateway.admission.quota import Quota
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ModelConfig, ServeConfig
from thinkcap.gateway.models import Models, Served, close, open_models
from thinkcap.gateway.service import open_quota

FIXED = ("host", "port", "header_limit_bytes", "arrival_timeout_s", "drain_s", "log_requests", "watch")
"""Settings of the process and its door, which a running one cannot change."""
_OF_CLIENTS = ("request_timeout_s", "stall_timeout_s", "connect_timeout_s", "attempts", "temperature")
"""Settings that are built into the way to every model."""

Started = Sequence[tuple[ModelConfig, ModelConfig]]
"""Models whose servers were started here: as they were asked for, and as they are known since."""


@dataclass(eq=False)
class _Edition:
    """A gateway, and what is closed once its last request is over."""

    gateway: Gateway
    asked: ServeConfig
    """The settings as they were read, before servers were started."""
    under_way: int = 0
    models: Sequence[Served] = ()
    quota: Quota | None = None

    async def aclose(self) -> None:
        await self.gateway.aclose()
        if self.quota is not None:
            await self.quota.aclose()
        for served in self.models:
            await close(served)


class Reloading:
    """An ASGI application around a gateway that another may replace. It closes gateways and their models."""

    def __init__(
        self, gateway: Gateway, read: Callable[[], ServeConfig], asked: ServeConfig, started: Started = ()
    ) -> None:
        self._now = _Edition(gateway, asked)
        self._retired: deque[_Edition] = deque()
        self._read = read
        self._started = started
        self._lock = asyncio.Lock()

    @property
    def gateway(self) -> Gateway:
        return self._now.gateway

    @property
    def config(self) -> ServeConfig:
        return self.gateway.service.config

    @property
    def draining(self) -> bool:
        return self.gateway.service.draining

    @draining.setter
    def draining(self, value: bool) -> None:
        self.gateway.service.draining = value

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _life(receive, send)
            return
        edition = self._now
        edition.under_way += 1
        try:
            await edition.gateway(scope, receive, send)
        finally:
            edition.under_way -= 1
            if self._retired:
                await self._sweep()

    async def reload(self) -> str:
        """One line: what changed, or why nothing did."""
        async with self._lock:
            before = self._now.asked
            try:
                asked = self._read()
                changed = [f.name for f in fields(asked) if getattr(asked, f.name) != getattr(before, f.name)]
                if fixed := [name for name in FIXED if name in changed]:
                    raise ConfigError(f"{', '.join(fixed)} cannot change while the gateway runs; restart it")
                await self._replace(asked)
            except ThinkcapError as err:
                return f"settings not reloaded, the old ones stay: {err}"
            told = ", ".join(f"keys ({_names(before, asked)})" if name == "keys" else name for name in changed)
            return f"settings reloaded: {told or 'none has changed'}"

    async def aclose(self) -> None:
        service = self.gateway.service
        await service.models.stop_pending()
        self._retire(service.models.served.values(), service.quota)
        for edition in self._retired:
            await edition.aclose()
        self._retired.clear()

    async def _replace(self, asked: ServeConfig) -> None:
        config = replace(asked, models=tuple(map(self._running, asked.models)))
        old = self.gateway.service
        same = all(getattr(config, name) == getattr(old.config, name) for name in _OF_CLIENTS)
        kept = old.models.opened if same else []
        models = await open_models(config, old.metrics, kept, may_wait=tuple(old.models.pending.values()))
        shared = config.redis == old.config.redis
        try:
            gateway = Gateway(config, models, old.metrics, old.quota if shared else open_quota(config.redis))
        except ThinkcapError:
            await self._close_new(models)
            raise
        await old.models.stop_pending()
        still = {id(served.engine) for served in models.served.values()}
        gone = [served for served in old.models.served.values() if id(served.engine) not in still]
        self._retire(gone, None if shared else old.quota)
        self._now = _Edition(gateway, asked)
        await self._sweep()

    def _running(self, one: ModelConfig) -> ModelConfig:
        """A model whose server was started here, under its address."""
        if not one.serve_with:
            return one
        for asked, known in self._started:
            if asked == one:
                return known
        raise ConfigError(f"a server for '{one.model}' is started only with the gateway; restart the gateway")

    async def _close_new(self, models: Models) -> None:
        await models.stop_pending()
        old = {id(served.engine) for served in self.gateway.service.models.served.values()}
        for served in models.served.values():
            if id(served.engine) not in old:
                await close(served)

    def _retire(self, models: Iterable[Served], quota: Quota | None) -> None:
        self._now.models, self._now.quota = tuple(models), quota
        self._retired.append(self._now)

    async def _sweep(self) -> None:
        """Closes what nobody uses any more, the oldest first: it may use models of a later one."""
        while self._retired and not self._retired[0].under_way:
            await self._retired.popleft().aclose()


def _names(before: ServeConfig, after: ServeConfig) -> str:
    new, old = after.keys, before.keys
    added = [f"+{name}" for name in new if name not in old]
    gone = [f"-{name}" for name in old if name not in new]
    other = [name for name in new if name in old and new[name] != old[name]]
    return ", ".join((*added, *gone, *other))


async def _life(receive: Receive, send: Send) -> None:
    """Gateways come opened; whoever runs this closes it."""
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return
