"""A stream that truncates the reasoning and succeeds is no failure of the model server, wherever one looks."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from closing_server import ClosesAfterStreams, DropsEnd
from collector import collecting
from prometheus_client.parser import text_string_to_metric_families
from running import Client, app_running, gateway_running
from stub import Stub
from tool_server import ToolServer

from patience import PATIENCE_S
from thinkcap.gateway.app import Gateway

ALERTS = Path(__file__).parents[3] / "deploy" / "prometheus" / "alerts.yaml"
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "2?"}], "max_tokens": 300},
    "/v1/responses": {"input": "2?", "max_output_tokens": 300},
    "/v1/messages": {"messages": [{"role": "user", "content": "2?"}], "max_tokens": 300},
}
SERVERS: dict[str, Callable[[], Any]] = {
    "llama": lambda: ToolServer("llama"),
    "vllm": lambda: ToolServer("vllm"),
    "chat": lambda: ToolServer("chat"),
    "stub": Stub,
}
CLOSINGS: dict[str, Callable[[Any], Any]] = {
    "closes": ClosesAfterStreams,
    "drops": DropsEnd,
    "keeps": lambda app: app,
}


class Setting:
    """A gateway before servers of one kind: one, or a fleet of two."""

    def __init__(self, stack: ExitStack, kind: str, closing: str, count: int, **settings: Any) -> None:
        self.servers = [CLOSINGS[closing](SERVERS[kind]()) for _ in range(count)]
        bases = [stack.enter_context(app_running(server)) for server in self.servers]
        model = "stub" if kind == "stub" else "m"
        table: dict[str, Any] = {"model": f"{bases[0]}/v1#{model}", "name": "m"}
        if count > 1:
            table = {"model": model, "name": "m", "upstreams": [{"url": f"{base}/v1"} for base in bases]}
        address, self.gateway = stack.enter_context(gateway_running([table], **settings))
        self.client = Client(address)

    def ask_all(self, policy: str = "split(think=8)") -> None:
        """Ask three times over every API, streamed and whole, and expect an answer each time."""
        for path, body in BODIES.items():
            for stream in (True, False) * 3:
                reply = self.client.post(path, json={**body, "model": f"m+{policy}", "stream": stream})
                assert reply.status_code == 200, reply.text
                assert '"error":{' not in reply.text


@pytest.fixture(params=[(k, c, n) for k in SERVERS for c in CLOSINGS for n in (1, 2)], ids=str)
def setting(request: pytest.FixtureRequest) -> Iterator[Setting]:
    with ExitStack() as stack:
        yield Setting(stack, *request.param)


def outcomes(gateway: Gateway) -> set[str]:
    return {sample.labels["outcome"] for sample in samples(gateway, "thinkcap_upstream_requests_total")}


def samples(gateway: Gateway, name: str = "") -> list[Any]:
    families = text_string_to_metric_families(gateway.metrics.text().decode())
    return [sample for family in families for sample in family.samples if sample.name.startswith(name)]


def test_calls_of_truncated_streams_end_well(setting: Setting) -> None:
    fleet = setting.gateway.service.models.served["m"].fleet
    members = fleet.members if fleet else ()
    # Start-up asks for paths that not every server has.
    before = [member.failed for member in members]
    setting.ask_all()
    assert outcomes(setting.gateway) == {"ok"}
    assert [s.value for s in samples(setting.gateway, "thinkcap_retries_total") if s.value] == []
    assert samples(setting.gateway, "thinkcap_upstream_errors_total") == []
    assert [member.failed for member in members] == before
    assert not any(member.pauses for member in members)


@pytest.mark.parametrize("kind", ["llama", "stub"])
def test_a_call_over_a_closed_connection_is_sent_again_once_and_then_avoided(kind: str) -> None:
    with ExitStack() as stack:
        setting = Setting(stack, kind, "closes", 1)
        setting.ask_all()
        # The engine and the short way of one call have connections of their own.
        seen = setting.servers[0].refused
        assert 1 <= seen <= 2
        setting.ask_all()
        assert setting.servers[0].refused == seen


def test_a_relayed_stream_without_its_end_is_whole() -> None:
    with ExitStack() as stack:
        setting = Setting(stack, "stub", "drops", 1)
        setting.ask_all("nothink")
        body = {**BODIES["/v1/chat/completions"], "model": "m+nothink", "stream": True}
        reply = setting.client.post("/v1/chat/completions", json=body)
        assert reply.text.endswith("data: [DONE]\n\n")
        assert outcomes(setting.gateway) == {"ok"}


def test_a_server_that_closes_before_the_end_of_the_answer_still_fails() -> None:
    """What an alert is for stays counted."""
    with ExitStack() as stack:
        setting = Setting(stack, "stub", "keeps", 1)
        body = {**BODIES["/v1/chat/completions"], "model": "m+nothink", "stream": True}
        body["messages"] = [{"role": "user", "content": "fault:reset"}]
        assert '"error"' in setting.client.post("/v1/chat/completions", json=body).text
        assert "upstream_unreachable" in outcomes(setting.gateway)


@pytest.mark.parametrize("closing", ["closes", "drops"])
def test_access_log_and_spans_show_no_error(closing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    with collecting() as collector:
        with ExitStack() as stack:
            settings = {"access_log": "json", "otlp": collector.address}
            Setting(stack, "llama", closing, 1, **settings).ask_all()
        # Two passes and the request, 18 times.
        spans = collector.wait(54)
    assert not [span for span in spans if span.failed or "error.type" in span.about]
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [(line["status"], line.get("code")) for line in lines] == [(200, None)] * 18


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool: apt-get install prometheus")
@pytest.mark.parametrize("closing", CLOSINGS)
def test_the_shipped_alerts_stay_silent(closing: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        setting = Setting(stack, "llama", closing, 2)
        setting.ask_all()
        recorded = [s for s in samples(setting.gateway, "thinkcap_") if not s.name.endswith("_created")]
    assert firing(recorded, tmp_path) == ""
    # The rules do fire on the same traffic with failed calls.
    failed = [s._replace(labels={**s.labels, "outcome": "upstream_unreachable"}) for s in recorded]
    assert "ThinkcapUpstreamFailing" in firing(failed, tmp_path)


def firing(recorded: list[Any], folder: Path) -> str:
    """What promtool reports of alerts that fire while this traffic repeats every minute for two hours."""
    series = []
    for one in recorded:
        labels = {**one.labels, "instance": "gateway", "job": "thinkcap"}
        named = ",".join(f'{name}="{value}"' for name, value in labels.items())
        gauge = one.name in ("thinkcap_in_flight", "thinkcap_queued", "thinkcap_tokens_in_flight")
        values = f"{one.value}x120" if gauge else f"0+{one.value}x120"
        series.append({"series": f"{one.name}{{{named}}}", "values": values})
    rules = [rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    expected = [{"eval_time": "119m", "alertname": name, "exp_alerts": []} for name in rules]
    test = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": expected}],
    }
    (folder / "test.yaml").write_text(yaml.safe_dump(test))
    done = subprocess.run(
        ["promtool", "test", "rules", folder / "test.yaml"], capture_output=True, text=True, timeout=PATIENCE_S
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
