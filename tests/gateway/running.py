"""A gateway and a stub model server, each on a loopback port of its own in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import requests
import uvicorn

from patience import PATIENCE_S
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import Models, Served, open_models
from thinkcap.gateway.server import make_server
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.watch.watching import Watch

QUESTION = "Tom has 12 apples and buys 7 more. How many apples does he have?\nSolve it, then end with: #### number"
"""One that the bundled model gets right."""


class Client:
    """Plain HTTP with one connection kept."""

    def __init__(self, address: str, **headers: str) -> None:
        self.base = address.removesuffix("/v1")
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers.update(headers)

    def get(self, path: str, **more: Any) -> requests.Response:
        return self._session.get(self.base + path, timeout=300, **more)

    def post(self, path: str, **more: Any) -> requests.Response:
        return self._session.post(self.base + path, timeout=300, **more)


class Thread:
    """Runs an async main in a thread with a loop of its own, until told to stop."""

    def __init__(self, main: Callable[[Callable[[Any], None], asyncio.Event], Awaitable[None]]) -> None:
        self._ready = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None
        self._main = main
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> Any:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S), "did not start"
        if self._error:
            raise self._error
        return self._value

    def stop(self) -> None:
        if self._loop and self._stop:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "did not stop"

    def _run(self) -> None:
        async def body() -> None:
            self._loop = asyncio.get_running_loop()
            self._stop = asyncio.Event()
            await self._main(self._told, self._stop)

        try:
            asyncio.run(body())
        except BaseException as err:  # handed to the test's own thread
            self._error = err
            self._ready.set()

    def _told(self, value: Any) -> None:
        self._value = value
        self._ready.set()


@contextmanager
def in_thread(opening: Callable[[], AbstractAsyncContextManager[Any]]) -> Iterator[Any]:
    """What an asynchronous context manager gives, held open in a thread with a loop of its own."""

    async def main(tell: Callable[[Any], None], stop: asyncio.Event) -> None:
        async with opening() as value:
            tell(value)
            await stop.wait()

    thread = Thread(main)
    value = thread.start()
    try:
        yield value
    finally:
        thread.stop()


@asynccontextmanager
async def serving(server: uvicorn.Server) -> AsyncIterator[str]:
    """The address of a server, while it runs."""
    task = asyncio.ensure_future(server.serve())
    while not server.started and not task.done():  # noqa: ASYNC110 - uvicorn offers no event
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@contextmanager
def app_running(app: Any, port: int = 0) -> Iterator[str]:
    """Any ASGI application; gives its address."""
    config = uvicorn.Config(
        app,
        port=port,
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
        # A connection kept by a slow test must not be gone when it is used again.
        timeout_keep_alive=int(PATIENCE_S),
    )
    with in_thread(lambda: serving(uvicorn.Server(config))) as address:
        yield address


@contextmanager
def gateway_running(models: Any = None, waits: bool = False, **settings: Any) -> Iterator[tuple[str, Gateway]]:
    """`models` is a ScriptedEngine, opened Models, a model's name, or tables of the configuration.

    With `waits` it starts without models whose servers are down, as `thinkcap serve` does.
    """

    @asynccontextmanager
    async def opening() -> AsyncIterator[tuple[str, Gateway]]:
        named: dict[str, Any] = {"model": models} if isinstance(models, str) else {}
        if isinstance(models, list):
            named = {"models": models}
        config = ServeConfig.from_mapping(
            {"port": 0, "ping_s": 5, "connect_timeout_s": PATIENCE_S, **named, **settings}
        )
        metrics = Metrics()
        if isinstance(models, ScriptedEngine):
            opened = Models([Served("scripted", models)])
        elif isinstance(models, Models):
            opened = models
        else:
            opened = await open_models(config, metrics, may_wait=config.models if waits else ())
        gateway = Gateway(config, opened, metrics)
        async with serving(make_server(gateway)) as address:
            yield f"{address}/v1", gateway
        await opened.aclose()

    with in_thread(opening) as found:
        yield found


@contextmanager
def gateway_before(server: Any) -> Iterator[str]:
    """The address of a gateway in front of a stub server that is asked for its model."""
    with app_running(server) as upstream, gateway_running([{"model": f"{upstream}/v1"}]) as (address, _):
        yield address


@contextmanager
def watch_running(model: str, folder: Path, **settings: Any) -> Iterator[tuple[Client, Watch]]:
    """Watch mode in front of a server, with a gateway beside it where a policy answers some requests."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[tuple[Client, Watch]]:
        table = {"model": model, "port": 0, "watch": True, "watch_journal": str(folder), **settings}
        config, metrics = ServeConfig.from_mapping(table), Metrics()
        beside = config.hold or config.shadow
        opened = await open_models(config, metrics) if beside else Models([])
        watch = Watch(config, Gateway(config, opened, metrics) if beside else None)
        async with serving(make_server(watch)) as address:
            yield Client(address), watch
        await watch.aclose()
        await opened.aclose()

    with in_thread(opening) as found:
        yield found


@contextmanager
def hurried(gateway: Gateway, **limits: float) -> Iterator[None]:
    """Limits for one test, of a gateway that was opened and serves the others without hurry."""
    service = gateway.service
    before, service.config = service.config, replace(service.config, **limits)  # type: ignore[arg-type]
    try:
        yield
    finally:
        service.config = before
