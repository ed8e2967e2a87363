"""Spans as a collector gets them: one a request, one a pass, parents and tokens right, no word of anybody's."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from collector import Collector, SeenSpan, collecting
from running import Client, app_running, gateway_running
from stub import Stub

from thinkcap.core.errors import ConfigError
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.telemetry.visits import open_visits

URL = "/v1/chat/completions"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CONTEXT = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1"}
SECRET = "zebra crossing"


class Heard:
    """The stub model server, and the headers of what it was asked since the last look."""

    def __init__(self) -> None:
        self.stub = Stub()
        self._headers: list[dict[str, str]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self._headers.append({k.decode(): v.decode() for k, v in scope["headers"]})
        await self.stub(scope, receive, send)

    def headers(self) -> list[dict[str, str]]:
        found, self._headers = self._headers, []
        return found


def body(**more: Any) -> dict[str, Any]:
    return {"model": "stub", "messages": [{"role": "user", "content": SECRET}], "max_tokens": 64, **more}


def asked(
    collector: Collector, heard: Heard, spans: int, **more: Any
) -> tuple[list[SeenSpan], SeenSpan, list[Any]]:
    """The passes' spans, the request's, and the headers that came upstream."""
    with (
        app_running(heard) as server,
        gateway_running(f"{server}/v1#stub", otlp=collector.address) as (address, _),
    ):
        heard.headers()
        reply = Client(address).post(URL, json=body(**more), headers=CONTEXT)
        found = heard.headers()
        if not more.get("stream") and reply.ok:
            assert reply.json()["usage"]["completion_tokens"] > 0
    *passes, request = collector.wait(spans)
    return passes, request, found


@pytest.mark.parametrize("stream", [False, True])
def test_a_split_request_is_a_span_with_one_child_a_pass(stream: bool) -> None:
    heard = Heard()
    with collecting() as collector:
        passes, request, upstream = asked(collector, heard, 3, model="stub+split(think=8)", stream=stream)
    assert request.trace == TRACE
    assert request.parent == PARENT
    assert request.kind == 2
    assert request.service == "thinkcap"
    assert request.name == "chat stub"
    assert [one.parent for one in passes] == [request.id] * 2
    assert [one.about["thinkcap.stage"] for one in passes] == ["think", "extract"]
    assert [one.about["gen_ai.request.max_tokens"] for one in passes] == [8, 32]
    spent = [one.about["gen_ai.usage.output_tokens"] for one in passes]
    assert spent[0] == 8
    assert spent[1] > 0
    about = request.about
    assert about["gen_ai.operation.name"] == "chat"
    assert about["gen_ai.request.model"] == "stub"
    assert about["gen_ai.request.max_tokens"] == about["thinkcap.cap"] == 64
    assert about["gen_ai.usage.output_tokens"] == sum(spent)
    assert about["gen_ai.usage.input_tokens"] == sum(one.about["gen_ai.usage.input_tokens"] for one in passes)
    assert about["gen_ai.response.finish_reasons"] == ["stop"]
    assert about["gen_ai.request.stream"] is stream
    assert about["thinkcap.policy"] == "split"
    # Each call to the model server is a child of its own pass.
    assert [one["traceparent"] for one in upstream] == [f"00-{TRACE}-{one.id}-01" for one in passes]
    assert {one["x-request-id"] for one in upstream} == {about["thinkcap.request_id"]}
    assert SECRET.encode() not in collector.raw
    assert b"thought0" not in collector.raw


@pytest.mark.parametrize("stream", [False, True])
def test_the_short_way_has_one_pass(stream: bool) -> None:
    heard = Heard()
    with collecting() as collector:
        (one,), request, (upstream,) = asked(collector, heard, 2, model="stub+nothink", stream=stream)
    assert one.parent == request.id
    assert one.kind == 3
    assert one.about["thinkcap.stage"] == "answer"
    assert one.about["gen_ai.usage.output_tokens"] == request.about["gen_ai.usage.output_tokens"] == 6
    assert upstream["traceparent"] == f"00-{TRACE}-{one.id}-01"
    assert upstream["tracestate"] == "vendor=1"


def test_samples_side_by_side_have_a_span_each() -> None:
    heard = Heard()
    wishes = {"policy": "vote", "kind": "number", "options": {"samples": 3}}
    with collecting() as collector:
        passes, request, upstream = asked(collector, heard, 4, thinkcap=wishes, max_tokens=90)
    assert {one.parent for one in passes} == {request.id}
    assert sorted(one.about["thinkcap.sample"] for one in passes) == [0, 1, 2]
    assert {one["traceparent"].split("-")[2] for one in upstream} == {one.id for one in passes}


@pytest.mark.parametrize("stream", [False, True])
def test_a_failing_server_is_an_error_of_its_pass_and_of_the_request(stream: bool) -> None:
    heard = Heard()
    messages = [{"role": "user", "content": "fault:500"}]
    with collecting() as collector:
        passes, request, _ = asked(collector, heard, 2, model="stub+nothink", messages=messages, stream=stream)
    (one,) = passes
    assert one.failed
    assert one.about["error.type"] == "EngineRefused"
    assert request.failed
    assert request.about["error.type"] == "upstream_failed"
    assert request.about["http.response.status_code"] == 502


def test_a_refused_request_is_a_span_that_has_not_failed() -> None:
    heard = Heard()
    with collecting() as collector:
        passes, request, upstream = asked(collector, heard, 1, model=SECRET)
    assert passes == upstream == []
    assert not request.failed
    assert request.about["error.type"] == "model_not_found"
    assert SECRET.encode() not in collector.raw


def test_a_client_that_keeps_no_trace_gets_none_and_its_context_goes_on() -> None:
    heard = Heard()
    context = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
    with collecting() as collector, app_running(heard) as server:
        with gateway_running(f"{server}/v1#stub", otlp=collector.address) as (address, _):
            heard.headers()
            assert Client(address).post(URL, json=body(), headers=context).ok
            (upstream,) = heard.headers()
        assert collector.raw == b""
    assert upstream["traceparent"].startswith(f"00-{TRACE}-")
    assert upstream["traceparent"].endswith("-00")


def test_without_tracing_a_context_passes_through_untouched_and_nonsense_does_not() -> None:
    heard = Heard()
    with app_running(heard) as server, gateway_running(f"{server}/v1#stub") as (address, _):
        heard.headers()
        client = Client(address)
        assert client.post(URL, json=body(), headers=CONTEXT).ok
        (upstream,) = heard.headers()
        assert {name: upstream[name] for name in CONTEXT} == CONTEXT
        bad = {"traceparent": "00-nonsense", "tracestate": "vendor=1", "x-request-id": "two words"}
        reply = client.post(URL, json=body(), headers=bad)
        (upstream,) = heard.headers()
    assert "traceparent" not in upstream
    assert "tracestate" not in upstream
    assert upstream["x-request-id"] == reply.headers["x-request-id"] != "two words"


def test_the_environment_names_the_collector_and_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "front")
        with gateway_running(ScriptedEngine(lambda prompt: "It is 42."), otlp="env") as (address, _):
            assert Client(address).post(URL, json=body(model="scripted")).ok
        *_, request = collector.wait(2)
    assert request.service == "front"
    assert request.parent == ""


def test_a_collector_that_is_gone_costs_nobody_an_answer() -> None:
    with gateway_running(ScriptedEngine(lambda prompt: "It is 42."), otlp="http://127.0.0.1:9") as (address, _):
        reply = Client(address).post(URL, json=body(model="scripted"))
        assert json.loads(reply.text)["choices"][0]["message"]["content"] == "It is 42."


def test_an_sdk_that_is_switched_off_makes_no_span_and_a_context_passes_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    heard = Heard()
    with collecting() as collector, app_running(heard) as server:
        with gateway_running(f"{server}/v1#stub", otlp=collector.address) as (address, _):
            heard.headers()
            assert Client(address).post(URL, json=body(), headers=CONTEXT).ok
            (upstream,) = heard.headers()
        assert collector.raw == b""
    assert upstream["traceparent"] == CONTEXT["traceparent"]


@pytest.mark.parametrize("address", ["collector:4318", "grpc://collector:4317", "http://"])
def test_what_is_no_collectors_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="wanted http://host:4318"):
        ServeConfig.from_mapping({"otlp": address})


async def test_without_its_packages_the_line_to_install_them_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "thinkcap.gateway.telemetry.tracing", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ConfigError, match=r"pip install 'thinkcap\[otel\]'"):
        open_visits(ServeConfig.from_mapping({"otlp": "env"}), Metrics())
