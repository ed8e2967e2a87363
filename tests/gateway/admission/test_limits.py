"""Who may come in, how many, how large and how slow; and how the gateway leaves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from running import Client, app_running, gateway_running
from stub import ANSWER, Stub

from patience import PATIENCE_S, comes, until
from thinkcap.core.engine import Output
from thinkcap.core.errors import ConfigError
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.admission.auth import hashed, new_key
from thinkcap.gateway.admission.limits import Admission, Slot
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.refusal import Refusal

URL = "/v1/chat/completions"
BODY = {"model": "scripted", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 8}


def engine(delay_s: float = 0.0) -> ScriptedEngine:
    return ScriptedEngine(lambda prompt: "It is 42.", delay_s=delay_s)


class Held(ScriptedEngine):
    """Writes nothing until it is told to."""

    go = False

    async def generate(self, *asked: Any) -> Output:
        while not self.go:  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.01)
        return await super().generate(*asked)


@pytest.fixture(scope="module")
def keyed() -> Iterator[tuple[str, str]]:
    key, line = new_key("alice")
    name, _, value = line.partition(" = ")
    assert key not in line
    with gateway_running(engine(), keys={name: value.strip('"'), "bob": hashed("bobs")}) as (address, _):
        yield address, key


def test_keys_open_and_nothing_else_does(keyed: tuple[str, str]) -> None:
    address, key = keyed
    for good in (key, "bobs"):
        assert Client(address, Authorization=f"Bearer {good}").post(URL, json=BODY).status_code == 200
    for bad in ("", "Bearer", "Bearer x", f"Basic {key}", f"Bearer {key}x", f"Bearer {hashed(key)}"):
        reply = Client(address, Authorization=bad).post(URL, json=BODY)
        assert reply.status_code == 401
        assert reply.json()["error"]["code"] == "invalid_api_key"
        assert Client(address, Authorization=bad).get("/v1/models").status_code == 401
        assert Client(address, Authorization=bad).get("/metrics").status_code == 401
    assert Client(address).get("/healthz").status_code == 200
    assert Client(address).get("/openapi.json").json()["security"]


def test_the_loopback_is_left_only_with_keys_or_on_purpose() -> None:
    assert ServeConfig().host == "127.0.0.1"
    with pytest.raises(ConfigError, match="new-key"):
        ServeConfig.from_mapping({"host": "0.0.0.0"})
    ServeConfig.from_mapping({"host": "0.0.0.0", "anyone": True})
    ServeConfig.from_mapping({"host": "0.0.0.0", "keys": {"a": hashed("k")}})
    with pytest.raises(ConfigError, match="not a hash"):
        ServeConfig.from_mapping({"keys": {"a": "plain"}})


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"prot": 1}, "did you mean 'port'"),
        ({"port": "x"}, "port"),
        ({"forward": ["/v1/models"], "model": "http://h/v1"}, "cannot forward"),
        ({"forward": ["/v1/embeddings"]}, "needs a model server"),
        ({"models": []}, "one or more tables"),
        ({"queue": -1}, "from 0 to 2147483647, saw -1"),
        ({"models": [{"name": "x"}]}, "needs a `model`"),
        ({"reasoning_field": "thoughts"}, "reasoning_field"),
        ({"models": [{"model": "a.gguf"}, {"model": "b.gguf"}], "profile": "p"}, "one model"),
    ],
)
def test_settings_are_checked_by_name(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ServeConfig.from_mapping(table)


def test_a_web_page_of_another_host_is_refused_without_keys() -> None:
    with gateway_running(engine()) as (address, _):
        assert Client(address, Origin="https://evil.example").post(URL, json=BODY).status_code == 403
        assert Client(address, Origin="http://localhost:3000").post(URL, json=BODY).status_code == 200


def test_a_full_queue_says_when_to_come_back() -> None:
    model = Held(lambda prompt: "It is 42.")
    with gateway_running(model, concurrency=1, queue=1) as (address, _):
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(Client(address).post, URL, json=BODY) for _ in range(4)]
            until(lambda: sum(one.done() for one in asked) == 2)
            model.go = True
        replies = [one.result() for one in asked]
        found = sorted(r.status_code for r in replies)
        assert found == [200, 200, 429, 429]
        busy = next(r for r in replies if r.status_code == 429)
        assert int(busy.headers["retry-after"]) >= 1
        assert busy.json()["error"]["code"] == "queue_full"


async def test_places_go_to_who_waits_longest_and_are_never_lost() -> None:
    admission = Admission(2, 10)
    order: list[int] = []
    go = asyncio.Event()

    async def one(number: int) -> None:
        async with Slot(admission):
            order.append(number)
            await go.wait()

    tasks = [asyncio.ensure_future(one(n)) for n in range(8)]
    await comes(lambda: admission.waiting == 6)
    tasks[3].cancel()
    go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [0, 1, 2, 4, 5, 6, 7]
    assert (admission.active, admission.waiting) == (0, 0)


async def test_a_place_given_to_somebody_who_left_goes_on() -> None:
    admission = Admission(1, 10)
    entered = await admission.enter()
    waiting = [asyncio.ensure_future(admission.enter()) for _ in range(2)]
    await asyncio.sleep(0)
    admission.leave(entered)
    waiting[0].cancel()
    await asyncio.gather(waiting[0], return_exceptions=True)
    admission.leave(await asyncio.wait_for(waiting[1], PATIENCE_S))
    assert (admission.active, admission.waiting) == (0, 0)
    full = Admission(1, 0)
    await full.enter()
    with pytest.raises(Refusal):
        await full.enter()


@pytest.fixture(scope="module")
def small() -> Iterator[str]:
    with gateway_running(engine(), body_limit_bytes=2048, header_limit_bytes=2048) as (address, _):
        yield address


def raw(address: str, *parts: bytes) -> bytes:
    host, port = address.removesuffix("/v1").removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as wire:
        for part in parts:
            try:
                wire.sendall(part)
            except ConnectionError:
                break
        found = b""
        try:
            while data := wire.recv(65536):
                found += data
        except (ConnectionError, TimeoutError):
            pass
        return found


def test_large_bodies_and_headers_are_refused(small: str) -> None:
    large = {**BODY, "messages": [{"role": "user", "content": "x" * 5000}]}
    assert Client(small).post(URL, json=large).status_code == 413
    chunks = iter([json.dumps(large).encode()])
    assert Client(small).post(URL, data=chunks).status_code == 413
    head = b"POST " + URL.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + b"y" * 100_000
    found = raw(small, head)
    assert b" 431 " in found
    assert b"headers_too_large" in found
    # A head of ordinary size right before a body larger than the limit on heads is fine.
    fits = {**BODY, "messages": [{"role": "user", "content": "x" * 1900}]}
    assert Client(small).post(URL, json=fits).status_code == 200


def test_slow_heads_and_bodies_are_cut_off() -> None:
    head = (
        b"POST "
        + URL.encode()
        + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 100\r\n\r\n"
    )
    with gateway_running(engine(), arrival_timeout_s=1.0) as (address, _):
        assert b" 408 " in raw(address, b"POST /v1/chat")
        found = raw(address, head, b"{")
    assert b" 408 " in found
    assert b"request_timeout" in found


def test_a_request_that_takes_too_long_is_a_504() -> None:
    with gateway_running(engine(3600.0), request_timeout_s=0.3) as (address, _):
        reply = Client(address).post(URL, json=BODY)
        assert (reply.status_code, reply.json()["error"]["code"]) == (504, "request_timeout")


def test_a_shutdown_lets_streams_finish_and_the_log_stays_silent(tmp_path: Path) -> None:
    stub, gate = Stub(), threading.Event()
    secret = "sk-upstream-secret"
    with app_running(stub) as upstream, (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-m", "thinkcap", "serve", f"{upstream}/v1", "--port", "0"]
        env = {**os.environ, "THINKCAP_API_KEY": secret}
        process = subprocess.Popen(command, stderr=log, stdout=log, env=env)
        try:
            address = _address(tmp_path / "log")
            body = {
                **BODY,
                "model": "stub",
                "stream": True,
                "messages": [{"role": "user", "content": "private words"}],
            }
            box: list[str] = []
            stub.gate = gate
            thread = threading.Thread(target=lambda: box.append(Client(address).post(URL, json=body).text))
            thread.start()
            until(lambda: stub.active or box, lambda: box)
            process.send_signal(signal.SIGTERM)
            until(lambda: not _listens(address))
            assert thread.is_alive()
            gate.set()
            thread.join(PATIENCE_S)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
    assert box[0].count('"content"') >= len(ANSWER)
    assert box[0].rstrip().endswith("data: [DONE]")
    written = (tmp_path / "log").read_text()
    assert "private" not in written
    assert secret not in written
    assert "Traceback" not in written


def _address(log: Path) -> str:
    until(lambda: "serves at " in log.read_text(), log.read_text)
    return log.read_text().split("serves at ")[1].split()[0]


def _listens(address: str) -> bool:
    host, port = address.removesuffix("/v1").removeprefix("http://").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def test_a_model_that_cannot_be_opened_is_one_line_and_no_traceback() -> None:
    command = [sys.executable, "-m", "thinkcap", "serve", "nowhere.gguf", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("thinkcap: ")
    assert len(done.stderr.strip().splitlines()) == 1
