"""A model whose server is down: the gateway starts, refuses its requests with a 503, and serves it later."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from running import Client, app_running, gateway_running
from stub import ANSWER, Stub
from tool_server import ToolServer

from patience import PATIENCE_S
from thinkcap.core.errors import ConfigError, EngineError
from thinkcap.gateway.banner import banner

CHAT = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "2?"}]
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": MESSAGES, "max_tokens": 64},
    "/v1/responses": {"input": "2?", "max_output_tokens": 64},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 64},
    "/v1/completions": {"prompt": "a", "max_tokens": 3},
}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thinkcap.gateway.pending.FIRST_PAUSE_S", 0.1)
    monkeypatch.setattr("thinkcap.gateway.pending.LONGEST_PAUSE_S", 0.2)


@pytest.fixture
def port() -> int:
    """One that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "still not so"
        time.sleep(0.05)


def status_of(client: Client, model: str, path: str = CHAT, **more: Any) -> int:
    return client.post(path, json={**BODIES[path], "model": model, **more}).status_code


def states(client: Client) -> tuple[int, Any]:
    reply = client.get("/readyz")
    return reply.status_code, reply.json()["models"]


@contextmanager
def two_models(port: int, **settings: Any) -> Iterator[tuple[Client, Any]]:
    """One model that is up, and one at `port`."""
    with app_running(Stub()) as base:
        tables = [
            {"model": f"http://127.0.0.1:{port}/v1#stub", "name": "late"},
            {"model": f"{base}/v1#stub", "name": "up"},
        ]
        with gateway_running(tables, waits=True, **settings) as (address, gateway):
            yield Client(address), gateway


def test_a_model_is_served_once_its_server_comes_up_and_after_its_server_restarts(port: int) -> None:
    with two_models(port) as (client, gateway):
        assert states(client) == (200, {"up": "ready", "late": "pending"})
        assert status_of(client, "up") == 200
        assert status_of(client, "late") == 503
        for _ in range(2):
            with app_running(Stub(), port):
                until(lambda: states(client) == (200, {"up": "ready", "late": "ready"}))
                reply = client.post(CHAT, json={**BODIES[CHAT], "model": "late+nothink"})
                assert reply.json()["choices"][0]["message"]["content"] == " ".join(ANSWER)
            until(lambda: states(client) == (200, {"up": "ready", "late": "down"}))
            assert status_of(client, "late") == 502
            assert status_of(client, "up") == 200
        assert not gateway.service.models.pending


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("model", ["late", "late+split(think=8)"])
def test_a_request_for_a_model_that_is_not_up_gets_a_503_of_its_api(
    port: int, path: str, stream: bool, model: str
) -> None:
    with two_models(port) as (client, _):
        reply = client.post(path, json={**BODIES[path], "model": model, "stream": stream})
        assert reply.status_code == 503
        assert int(reply.headers["retry-after"]) >= 1
        body = reply.json()
        assert "'late' is not ready" in body["error"]["message"]
        assert "127.0.0.1" not in reply.text
        if path == "/v1/messages":
            assert body["type"] == "error"
            assert body["error"]["type"] in ("api_error", "overloaded_error")
        else:
            assert body["error"]["code"] == "model_not_ready"


def test_failed_requests_of_a_model_that_is_not_up_are_counted_as_its_own(port: int) -> None:
    with two_models(port) as (client, _):
        assert status_of(client, "late") == 503
        counts = client.get("/metrics").text
        assert 'thinkcap_requests_total{model="late",policy="none",status="503"} 1' in counts
        assert 'thinkcap_upstream_errors_total{code="model_not_ready",model="late"} 1' in counts


def test_other_paths_wait_for_the_model_too(port: int) -> None:
    url = f"http://127.0.0.1:{port}/v1"
    with gateway_running(url, waits=True, forward=["/v1/embeddings"]) as (address, _):
        client = Client(address)
        assert client.post("/v1/embeddings", json={"input": "x"}).status_code == 503
        counted = client.post("/v1/messages/count_tokens", json={"model": "m", "messages": MESSAGES})
        assert (counted.status_code, counted.json()["type"]) == (503, "error")
        assert client.get("/v1/models").json()["data"] == []
        with app_running(Stub(), port):
            until(lambda: client.post("/v1/embeddings", json={"input": "x"}).status_code == 200)


def test_a_model_that_only_its_server_can_name_is_found_under_that_name(port: int) -> None:
    with gateway_running(f"http://127.0.0.1:{port}/v1", waits=True) as (address, _):
        client = Client(address)
        assert status_of(client, "stub") == 503
        assert states(client) == (503, {"model-1": "pending"})
        with app_running(Stub(), port):
            until(lambda: status_of(client, "stub") == 200)
            assert states(client) == (200, {"stub": "ready"})
            assert status_of(client, "another") == 404


def test_what_the_start_finds_out_is_found_out_later(port: int) -> None:
    """How the server is asked, how long its context is, whether tools reach the model."""
    tables = [{"model": f"http://127.0.0.1:{port}/v1#m", "name": "late"}]
    with gateway_running(tables, waits=True) as (address, gateway):
        client = Client(address)
        assert status_of(client, "late") == 503
        with app_running(ToolServer("vllm", context=4321), port):
            until(lambda: status_of(client, "late") == 200)
            (entry,) = client.get("/v1/models").json()["data"]
            assert entry["max_model_len"] == 4321
            served = gateway.service.models.served["late"]
            assert served.engine.card.transport == "ids"
            assert "late: policy" in banner("http://127.0.0.1:1/v1", gateway.service)


def test_a_server_that_comes_up_with_another_model_is_told_and_waited_for(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "thinkcap.gateway"), two_models(port) as (client, _):
        with app_running(ToolServer("vllm"), port):
            until(lambda: "does not serve 'stub'" in caplog.text)
            assert status_of(client, "late") == 503
        with app_running(Stub(), port):
            until(lambda: status_of(client, "late") == 200)


def test_a_fleet_without_a_server_waits_for_the_first(port: int) -> None:
    dead = f"http://127.0.0.1:{port}/v1"
    with ExitStack() as stack:
        tables = [{"model": "stub", "upstreams": [{"url": dead}, {"url": "http://127.0.0.1:9/v1"}]}]
        address, gateway = stack.enter_context(gateway_running(tables, waits=True))
        client = Client(address)
        assert "stub: not ready" in banner("http://127.0.0.1:1/v1", gateway.service)
        assert status_of(client, "stub") == 503
        with app_running(Stub(), port):
            until(lambda: status_of(client, "stub") == 200)


@pytest.mark.parametrize("fault", ["503", "silent"])
def test_a_server_that_loads_its_model_is_waited_for(
    port: int, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llama.cpp's server says 503 meanwhile; others take the connection and say nothing."""
    monkeypatch.setattr("thinkcap.gateway.pending.FIRST_TRY_S", 0.5)
    server = Loading(fault)
    with app_running(server) as base, gateway_running(f"{base}/v1#stub", waits=True) as (address, _):
        client = Client(address)
        assert status_of(client, "stub") == 503
        server.loaded = True
        until(lambda: status_of(client, "stub") == 200)


class Loading(Stub):
    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        self.loaded = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.stalled = self.fault == "silent" and not self.loaded
        if self.loaded or self.stalled or scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b'{"error": {"message": "Loading model"}}'})


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"model": "htp://127.0.0.1:9/v1"}, "cannot tell what model"),
        ({"model": "missing.gguf"}, "missing.gguf"),
        ({"model": "http://127.0.0.1:9/v1#m", "options": {"concurency": 3}}, "did you mean 'concurrency'"),
        ({"model": "http://127.0.0.1:9/v1#m", "options": {"transport": "smoke"}}, "unknown transport"),
        ({"model": "http://127.0.0.1:9/v1#m", "profile": "missing.toml"}, "missing.toml"),
        ({"model": "http://:9/v1#m"}, "names no host"),
    ],
)
def test_a_mistake_in_the_settings_still_stops_the_start(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)), gateway_running([table], waits=True):
        pass


@pytest.mark.parametrize("status", [401, 404])
def test_a_server_that_refuses_the_gateway_stops_the_start(status: int) -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"no"})

    with (
        app_running(refuse) as base,
        pytest.raises(EngineError, match=str(status)),
        gateway_running(f"{base}/v1#m", waits=True),
    ):
        pass


def test_two_pending_models_with_one_name_stop_the_start() -> None:
    tables = [{"model": f"http://127.0.0.1:{port}/v1#m"} for port in (9, 11)]
    with pytest.raises(ConfigError, match="same name"), gateway_running(tables, waits=True):
        pass


def test_readiness_of_one_model(port: int) -> None:
    with two_models(port) as (client, _):
        assert client.get("/readyz?model=up").json() == {"status": "ready", "models": {"up": "ready"}}
        late = client.get("/readyz?model=late")
        assert (late.status_code, late.json()["models"]) == (503, {"late": "pending"})
        unknown = client.get("/readyz?model=other")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")


def test_a_gateway_without_any_model_up_is_not_ready() -> None:
    leaving = ExitStack()
    first, second = (leaving.enter_context(app_running(Stub())) for _ in range(2))
    tables = [{"model": f"{base}/v1#stub", "name": name} for base, name in ((first, "a"), (second, "b"))]
    with gateway_running(tables) as (address, _):
        client = Client(address)
        assert states(client) == (200, {"a": "ready", "b": "ready"})
        leaving.close()
        until(lambda: states(client) == (503, {"a": "down", "b": "down"}))
        assert client.get("/healthz").status_code == 200


def test_the_log_says_once_that_the_gateway_retries(port: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "thinkcap.gateway")
    with two_models(port) as (client, _), app_running(Stub(), port):
        until(lambda: status_of(client, "late") == 200)
    said = [record.getMessage() for record in caplog.records if "'late'" in record.getMessage()]
    assert "no connection" in said[0]
    assert "retries" in said[0]
    assert said[-1] == "model 'late' is ready"
    assert sum("no connection" in line for line in said) == 1


def test_thinkcap_serve_starts_before_its_model_server(port: int, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "thinkcap", "serve", f"http://127.0.0.1:{port}/v1#stub", "--port", "0"]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        until(lambda: "serves at" in log.read_text() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        found = re.search(r"http://\S+/v1$", log.read_text(), re.MULTILINE)
        assert found
        assert "retries every" in log.read_text()
        client = Client(found[0])
        assert client.get("/healthz").status_code == 200
        assert states(client) == (503, {"stub": "pending"})
        assert status_of(client, "stub") == 503
        with app_running(Stub(), port):
            until(lambda: status_of(client, "stub") == 200)
            assert states(client) == (200, {"stub": "ready"})
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait(PATIENCE_S)
