"""Settings read again while the gateway runs: whole or not at all, and nobody under way notices."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from running import Client, app_running
from stub import Stub

from patience import PATIENCE_S, comes
from thinkcap.gateway.admission.auth import hashed
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import open_models
from thinkcap.gateway.reload import Reloading
from thinkcap.gateway.telemetry.metrics import Metrics

URL = "/v1/chat/completions"


class Desk:
    """A gateway in this process whose settings are a table that tests change."""

    def __init__(self, app: Reloading, table: dict[str, Any]) -> None:
        self.app, self.table = app, table
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")

    async def ask(self, key: str = "", **more: Any) -> Any:
        said = {"model": "stub", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 20, **more}
        return await self._client.post(URL, json=said, headers={"authorization": f"Bearer {key}"} if key else {})


@asynccontextmanager
async def desk(stub: Stub, **settings: Any) -> AsyncIterator[Desk]:
    with app_running(stub) as upstream:
        table: dict[str, Any] = {"model": f"{upstream}/v1#stub", **settings}
        config, metrics = ServeConfig.from_mapping(table), Metrics()
        gateway = Gateway(config, await open_models(config, metrics), metrics)
        app = Reloading(gateway, lambda: ServeConfig.from_mapping(table), config)
        try:
            yield Desk(app, table)
        finally:
            await app.aclose()


async def test_keys_come_and_go_without_a_restart() -> None:
    async with desk(Stub(), keys={"alice": hashed("a"), "bob": hashed("b")}) as one:
        model = one.app.gateway.service.models.served["stub"]
        assert (await one.ask("b")).status_code == 200
        one.table["keys"] = {"alice": hashed("a2"), "carol": hashed("c")}
        assert await one.app.reload() == "settings reloaded: keys (+carol, -bob, alice)"
        assert [(await one.ask(key)).status_code for key in ("a", "b", "a2", "c")] == [401, 401, 200, 200]
        assert one.app.gateway.service.models.served["stub"].engine is model.engine


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keys": {"alice": "plain"}}, "not a hash"),
        ({"prot": 1}, "did you mean 'port'"),
        ({"port": 1}, "port cannot change"),
        ({"model": "http://127.0.0.1:9/v1#stub"}, "no connection"),
        ({"model": "bundled", "serve_with": "vllm"}, "restart the gateway"),
        ({"redis": "nowhere"}, "redis://host"),
    ],
)
async def test_a_mistake_changes_nothing(change: dict[str, Any], words: str) -> None:
    async with desk(Stub(), keys={"alice": hashed("a")}, threshold=100, attempts=1) as one:
        before = one.app.gateway
        one.table |= {"threshold": 7, **change}
        told = await one.app.reload()
        assert told.startswith("settings not reloaded, the old ones stay: ")
        assert words in told
        assert one.app.gateway is before
        assert (await one.ask("a")).status_code == 200
        assert one.app.config.threshold == 100


async def test_a_model_that_is_not_up_yet_stays_pending_through_a_reload() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    table: dict[str, Any] = {"model": f"http://127.0.0.1:{port}/v1#stub", "attempts": 1}
    config, metrics = ServeConfig.from_mapping(table), Metrics()
    models = await open_models(config, metrics, may_wait=config.models)
    app = Reloading(Gateway(config, models, metrics), lambda: ServeConfig.from_mapping(table), config)
    one = Desk(app, table)
    try:
        assert (await one.ask()).status_code == 503
        (before,) = models.pending
        table["threshold"] = 7
        assert await app.reload() == "settings reloaded: threshold"
        assert (await one.ask()).status_code == 503
        assert before._retrying is not None
        assert before._retrying.cancelled()
        with app_running(Stub(), port):
            await comes(lambda: "stub" in app.gateway.service.models.served)
            assert (await one.ask()).status_code == 200
            table["threshold"] = 8
            engine = app.gateway.service.models.served["stub"].engine
            assert await app.reload() == "settings reloaded: threshold"
            assert app.gateway.service.models.served["stub"].engine is engine
    finally:
        await app.aclose()


async def test_limits_keep_their_counts() -> None:
    async with desk(Stub(), limits={"requests_per_minute": 2}) as one:
        assert [(await one.ask()).status_code for _ in range(2)] == [200, 200]
        one.table["limits"] = {"requests_per_minute": 3}
        assert await one.app.reload() == "settings reloaded: limits"
        assert [(await one.ask()).status_code for _ in range(2)] == [200, 429]


async def test_requests_under_way_finish_with_what_they_began_with() -> None:
    stub = Stub()
    async with desk(stub, keys={"alice": hashed("a")}) as one:
        gate, before = threading.Event(), len(stub.bodies)
        stub.gate = gate
        slow = asyncio.ensure_future(one.ask("a"))
        # Not until something is active: that may still be what the model was asked when it was opened.
        await comes(lambda: len(stub.bodies) > before)
        stub.gate = None
        old = one.app.gateway.service.models.served["stub"].engine
        # Every model is opened anew, and the old one is closed only once nobody uses it.
        one.table |= {"keys": {"carol": hashed("c")}, "attempts": 5}
        assert "attempts" in await one.app.reload()
        assert one.app.gateway.service.models.served["stub"].engine is not old
        assert not slow.done()
        assert (await one.ask("a")).status_code == 401
        gate.set()
        assert (await slow).status_code == 200
        assert not one.app._retired
        assert (await one.ask("c")).status_code == 200


async def test_a_profile_is_read_again(tmp_path: Path) -> None:
    profile = tmp_path / "profile.toml"
    profile.write_text('model = "stub"\n[[cap]]\nat_least = 1\npolicy = "nothink"\n')
    async with desk(Stub(), profile=str(profile)) as one:
        assert (await one.ask()).json()["thinkcap"]["policy"] == "nothink"
        profile.write_text('model = "stub"\n[[cap]]\nat_least = 1\npolicy = "split(think=8)"\n')
        assert await one.app.reload() == "settings reloaded: none has changed"
        assert (await one.ask()).json()["thinkcap"]["policy"].startswith("split")


def test_a_hangup_reads_the_file_of_a_running_gateway(tmp_path: Path) -> None:
    keys, file = tmp_path / "keys.toml", tmp_path / "serve.toml"
    with app_running(Stub()) as upstream:
        keys.write_text(f'alice = "{hashed("a")}"\n')
        file.write_text(f'model = "{upstream}/v1#stub"\nport = 0\nkeys_file = "{keys}"\n')
        with subprocess.Popen(
            [sys.executable, "-m", "thinkcap", "serve", "--config", str(file)], stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                address = _line(process, "serves at").rpartition(" ")[2]
                client = Client(address)
                assert _status(client, "a") == 200
                keys.write_text(f'alice = "{hashed("new")}"\n')
                os.kill(process.pid, signal.SIGHUP)
                assert "keys (alice)" in _line(process, "settings")
                assert (_status(client, "a"), _status(client, "new")) == (401, 200)
                keys.write_text("alice = 5\n")
                os.kill(process.pid, signal.SIGHUP)
                assert "not reloaded" in _line(process, "settings")
                assert _status(client, "new") == 200
            finally:
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE_S) == 0


def _status(client: Client, key: str) -> int:
    said = {"model": "stub", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 20}
    return int(client.post(URL, json=said, headers={"authorization": f"Bearer {key}"}).status_code)


def _line(process: subprocess.Popen[str], words: str) -> str:
    assert process.stderr is not None
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and (line := process.stderr.readline()):
        if words in line:
            return line.strip()
    raise AssertionError(f"no line with '{words}'")
