"""A request seen from outside: its id everywhere, a line of log without a word of it, counts by bounded labels."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from running import Client, app_running, gateway_running
from stub import Stub

from patience import until
from thinkcap.core.errors import EngineUnreachable
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.admission.auth import new_key
from thinkcap.gateway.telemetry.access import AccessLog
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.telemetry.visit import Visit

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
SECRET = "zebra crossing"


def script(prompt: str) -> Any:
    return EngineUnreachable("closed") if "break now" in prompt else "<think>so so</think>It is 42."


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with gateway_running(ScriptedEngine(script)) as (address, _):
        yield Client(address)


def body(text: str = SECRET, **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], "max_tokens": 300, **more}


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/models", "/healthz", "/nowhere"])
def test_an_id_is_made_or_taken_and_returned(client: Client, path: str) -> None:
    def ask(**headers: str) -> str:
        send = client.post if path in (CHAT, MESSAGES) else client.get
        found = send(path, **({"json": body()} if send == client.post else {}), headers=headers)
        return str(found.headers["x-request-id"])

    assert ask(**{"X-Request-Id": "order-66.a:b"}) == "order-66.a:b"
    assert len({ask(), ask()}) == 2
    for strange in ("a" * 200, "two words", "-rf", 'a"b', "mail@host"):
        assert ask(**{"X-Request-Id": strange}) != strange


def test_errors_carry_the_id(client: Client) -> None:
    headers = {"X-Request-Id": "mine"}
    refused = client.post(CHAT, json=body(max_token=3), headers=headers).json()
    assert refused["error"]["request_id"] == "mine"
    assert client.post(MESSAGES, json=body("break now"), headers=headers).json()["request_id"] == "mine"
    asked = {"model": "scripted", "input": "break now", "max_output_tokens": 300}
    assert client.post(RESPONSES, json=asked, headers=headers).json()["error"]["request_id"] == "mine"
    assert client.get("/nowhere", headers=headers).json()["error"]["request_id"] == "mine"


def test_an_error_inside_a_stream_carries_the_id() -> None:
    with app_running(Stub()) as server, gateway_running(f"{server}/v1") as (address, _):
        asked = {**body("fault:reset", model="stub+nothink"), "stream": True}
        reply = Client(address).post(CHAT, json=asked, headers={"X-Request-Id": "mine"})
    last = [line for line in reply.text.splitlines() if line.startswith("data: ")][-1]
    assert json.loads(last[6:])["error"]["request_id"] == "mine"


def output(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Standard output that a thread may write while another reads it; pytest's own loses lines then."""
    found = io.StringIO()
    monkeypatch.setattr(sys, "stdout", found)
    return found


def lines(written: io.StringIO, wanted: int) -> list[str]:
    until(lambda: written.getvalue().count("\n") >= wanted, written.getvalue)
    return written.getvalue().splitlines()


def test_a_line_of_json_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    written = output(monkeypatch)
    key, line = new_key("alice")
    keys = {"alice": line.partition('"')[2].strip('"')}
    with gateway_running(ScriptedEngine(script), access_log="json", keys=keys) as (address, _):
        client = Client(address, Authorization=f"Bearer {key}")
        assert client.post(CHAT, json=body(), headers={"X-Request-Id": "one"}).ok
        assert client.post(CHAT, json={**body("break now"), "stream": True}, headers={"X-Request-Id": "two"}).text
        assert client.get("/healthz").ok
        assert Client(address).get(f"/v1/models?{SECRET}", headers={"X-Request-Id": "three"}).status_code == 401
        assert client.get(f"/authorization: Bearer {key}", headers={"X-Request-Id": "four"}).status_code == 404
        found = lines(written, 4)
    one, two, three, four = [json.loads(line) for line in found]
    assert [line["id"] for line in (one, two, three, four)] == ["one", "two", "three", "four"]
    assert (one["status"], one["model"], one["policy"], one["cap"]) == (200, "scripted", "close", 300)
    assert one["key"] == "alice"
    assert one["tokens"] > one["reasoning_tokens"] > 0
    assert 0 < one["first_s"] <= one["seconds"]
    assert (two["status"], two["code"], two["stream"]) == (502, "upstream_unreachable", True)
    assert (three["status"], three["path"], three["code"]) == (401, "/v1/models", "invalid_api_key")
    assert "model" not in three
    assert four["status"] == 404
    assert key not in written.getvalue()
    assert SECRET not in written.getvalue()


def test_plain_lines_are_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    written = output(monkeypatch)
    with gateway_running(ScriptedEngine(script), access_log="plain") as (address, _):
        client = Client(address)
        assert client.post(CHAT, json=body()).ok
        assert client.get("/%0a2026-01-01%20forged").status_code == 404
        first, second = lines(written, 2)
    assert f" POST {CHAT} 200 seconds=" in first
    assert " policy=close " in first
    assert " GET / 2026-01-01 forged 404 " in second


def test_a_reader_that_does_not_read_stops_nobody() -> None:
    class Stuck(io.StringIO):
        def write(self, _: str) -> int:
            go.wait()
            return 0

    go, lost = threading.Event(), [0]

    def count() -> None:
        lost[0] += 1

    log = AccessLog("json", Stuck(), count)
    visit = Visit("a", "GET", "/", Metrics())
    for _ in range(10_100):
        log.write(visit)
    assert lost[0] >= 99
    go.set()
    log.close()


def test_counts_by_stage_policy_and_upstream() -> None:
    with app_running(Stub()) as server, gateway_running(f"{server}/v1", attempts=1) as (address, _):
        client = Client(address)
        assert client.post(CHAT, json=body(model="stub+split(think=8)")).ok
        assert client.post(CHAT, json={**body(model="stub+nothink"), "stream": True}).ok
        assert client.post(CHAT, json=body("fault:500", model="stub+nothink")).status_code == 502
        text = client.get("/metrics").text
        host = server.removeprefix("http://")
    for name in (
        'thinkcap_tokens_total{model="stub",policy="split",stage="think"} 8.0',
        'thinkcap_stage_tokens_bucket{le="8.0",policy="split",stage="think"} 1.0',
        'thinkcap_stage_seconds_count{policy="split",stage="extract"} 1.0',
        'thinkcap_cap_use_count{policy="nothink"} 1.0',
        'thinkcap_first_token_seconds_count{policy="nothink"} 1.0',
        'thinkcap_requests_total{model="stub",policy="nothink",status="502"} 1.0',
        'thinkcap_upstream_requests_total{model="stub",outcome="ok",upstream="stub"} 3.0',
        'thinkcap_upstream_requests_total{model="stub",outcome="upstream_failed",upstream="stub"} 1.0',
        'thinkcap_upstream_seconds_count{model="stub",upstream="stub"} 4.0',
    ):
        assert name in text, name
    assert host not in text


def test_a_client_that_leaves_is_counted_as_that() -> None:
    with app_running(Stub()) as server, gateway_running(f"{server}/v1") as (address, gateway):
        asked = {**body("fault:stall", model="stub+nothink"), "stream": True}
        with Client(address).post(CHAT, json=asked, stream=True) as reply:
            assert next(reply.iter_content(1))
        until(lambda: b'status="499"' in gateway.metrics.text())
        text = gateway.metrics.text().decode()
    assert 'thinkcap_requests_total{model="stub",policy="nothink",status="499"} 1.0' in text
    assert 'outcome="left"' in text
