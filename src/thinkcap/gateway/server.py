"""Runs the gateway: uvicorn with bounded connections, and a shutdown that lets answers finish.

run(ServeConfig.from_mapping({"model": "bundled", "port": 8080}))
"""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, Protocol

import uvicorn

from thinkcap.engines.served import ServeWith, Tell, silent
from thinkcap.engines.served.running import Serving, serving
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.banner import banner
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.connection import bounded
from thinkcap.gateway.models import open_models
from thinkcap.gateway.reload import Reloading
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.watch.watching import Watch


class Desk(Protocol):
    """Whoever runs a gateway's requests."""

    draining: bool

    @property
    def config(self) -> ServeConfig: ...


class Server(uvicorn.Server):
    """Says when it listens, and tells the gateway when it begins to shut down."""

    def __init__(self, config: uvicorn.Config, desk: Desk, tell: Callable[[str], None]) -> None:
        super().__init__(config)
        self._desk = desk
        self._tell = tell

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            self._tell(f"http://{shown}:{port}/v1")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal lets answers finish, a second one does not. uvicorn's own would raise it again at the
        end, and the models would never be closed."""
        self._desk.draining = True
        self.force_exit = self.should_exit
        self.should_exit = True


def make_server(gateway: Gateway | Reloading | Watch, tell: Callable[[str], None] = lambda _: None) -> Server:
    desk: Desk = gateway.service if isinstance(gateway, Gateway) else gateway
    config = desk.config
    if config.log_requests:
        _log_to_stderr()
    return Server(
        uvicorn.Config(
            gateway,
            host=config.host,
            port=config.port,
            http=bounded(config.header_limit_bytes, config.arrival_timeout_s),
            ws="none",
            lifespan="on",
            access_log=False,
            log_level="info" if config.log_requests else "warning",
            server_header=False,
            proxy_headers=False,
            date_header=False,
            backlog=4096,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=max(1, round(config.drain_s)),
        ),
        desk,
        tell,
    )


def _log_to_stderr() -> None:
    """Python drops what is merely informative unless somebody listens."""
    log = logging.getLogger("thinkcap.gateway")
    log.setLevel(logging.INFO)
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)


def run(
    config: ServeConfig,
    tell: Callable[[str], None] = lambda _: None,
    starts: Tell = silent,
    again: Callable[[], ServeConfig] | None = None,
) -> bool:
    """Serves until told to stop; false where it could not start. A model that cannot be opened raises;
    one whose server is down is retried while the others are served.

    `tell` gets the banner once it listens, `starts` how the servers come up that it is to start. With `again`, a
    SIGHUP has the settings read once more.
    """
    if config.cluster:
        from thinkcap.gateway.on_ray import run_on_cluster

        run_on_cluster(config, tell)
        return True
    _allow_connections()
    with asyncio.Runner(loop_factory=_loop()) as runner:
        return runner.run(serve(config, tell, starts, again))


async def serve(
    asked: ServeConfig,
    tell: Callable[[str], None] = lambda _: None,
    starts: Tell = silent,
    again: Callable[[], ServeConfig] | None = None,
) -> bool:
    async with AsyncExitStack() as stack:
        config, servers = await _with_servers(asked, stack, starts)
        if config.watch:
            return await _watch(config, tell, stack)
        metrics = Metrics()
        models = await open_models(config, metrics, may_wait=config.models)
        started = list(zip(asked.models, config.models, strict=True))
        app = Reloading(Gateway(config, models, metrics), again or (lambda: asked), asked, started)
        stack.push_async_callback(app.aclose)
        server = make_server(app, lambda address: tell(banner(address, app.gateway.service, servers)))
        _settled()
        with _on_hangup(app.reload, tell):
            await server.serve()
        return server.started


def _settled() -> None:
    """What has been loaded stays loaded: collections of garbage need not go through it with every few requests."""
    gc.collect()
    gc.freeze()


@contextmanager
def _on_hangup(again: Callable[[], Awaitable[str]], tell: Callable[[str], None]) -> Iterator[None]:
    """What a SIGHUP does, and says."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    async def reload() -> None:
        tell(await again())

    def hang_up() -> None:
        task = asyncio.ensure_future(reload())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        for task in tasks:
            task.cancel()


async def _with_servers(
    config: ServeConfig, stack: AsyncExitStack, starts: Tell
) -> tuple[ServeConfig, list[Serving]]:
    """Starts the servers that models are to be served with; these models are then known by their addresses."""
    models, servers = list(config.models), list[Serving]()
    for place, one in enumerate(models):
        if one.serve_with:
            how = ServeWith(one.serve_with, one.serve_args)
            wanted = one.options.get("concurrency")
            flows = wanted if isinstance(wanted, int) else 0
            server = await stack.enter_async_context(serving(one.model, how, flows=flows, tell=starts))
            servers.append(server)
            models[place] = replace(one, model=server.address)
    return replace(config, models=tuple(models)), servers


async def _watch(config: ServeConfig, tell: Callable[[str], None], stack: AsyncExitStack) -> bool:
    beside = None
    if config.shadow or config.hold:
        metrics = Metrics()
        models = await open_models(config, metrics, may_wait=config.models)
        stack.push_async_callback(models.aclose)
        beside = Gateway(config, models, metrics)
    watch = Watch(config, beside)

    def told(address: str) -> None:
        shares = [f"shadows {config.shadow:.4g}"] * bool(config.shadow) + [f"holds {config.hold:.4g}"] * bool(
            config.hold
        )
        does = f"{' and '.join(shares)} of requests" if shares else "changes nothing"
        root = address.removesuffix("/v1")
        tell(f"thinkcap watches {watch.server} from {root}, {does}, and keeps {watch.journal}")

    async def not_again() -> str:
        return "settings not reloaded: with --watch they are read only at the start"

    try:
        server = make_server(watch, told)
        _settled()
        with _on_hangup(not_again, tell):
            await server.serve()
        return server.started
    finally:
        await watch.aclose()


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed: about a third more requests a second."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    found: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return found


def _allow_connections() -> None:
    """A stream takes two sockets; the usual soft limit of 1,024 open files is too low for a thousand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
