"""The dashboard and the alerts ask for what the gateway counts: a real Prometheus scrapes one under load."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from running import Client, app_running, gateway_running
from stub import Stub

from patience import PATIENCE_S

DEPLOY = Path(__file__).parents[2] / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = {f"{p['title']} {t['refId']}": t["expr"] for p in PANELS for t in p["targets"]}
RULES = {rule["alert"]: rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]}
CHAT = "/v1/chat/completions"

needs_prometheus = pytest.mark.skipif(
    not shutil.which("prometheus"), reason="needs Prometheus: apt-get install prometheus"
)


class Prometheus:
    """One that scrapes every second."""

    def __init__(self, folder: Path, target: str) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self._address = f"127.0.0.1:{listener.getsockname()[1]}"
        shutil.copy(DEPLOY / "prometheus" / "alerts.yaml", folder / "alerts.yaml")
        settings: dict[str, Any] = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(folder / "alerts.yaml")],
            "scrape_configs": [{"job_name": "thinkcap", "static_configs": [{"targets": [target]}]}],
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
        words = [f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data"]
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            ["prometheus", *words, f"--web.listen-address={self._address}"], stdout=self._log, stderr=self._log
        )

    def get(self, path: str, **params: str) -> Any:
        try:
            found = requests.get(f"http://{self._address}/api/v1/{path}", params=params, timeout=PATIENCE_S)
        except requests.ConnectionError:
            assert self._process.poll() is None, Path(self._log.name).read_text()
            return {}
        # While it starts it says so, in words.
        return {} if found.status_code == 503 else found.json()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(PATIENCE_S)
        self._log.close()


def load(client: Client) -> None:
    """Every kind of request the panels speak of."""

    def ask(text: str, **more: Any) -> int:
        body = {"model": "stub", "messages": [{"role": "user", "content": text}], "max_tokens": 64, **more}
        return client.post(CHAT, json=body).status_code

    assert ask("2?", max_tokens=300) == 200
    assert ask("2?", model="stub+split(think=8)", stream=True) == 200
    assert ask("2?", model="stub+nothink", max_tokens=3) == 200
    assert ask("fault:500", model="stub+nothink") == 502
    assert ask("2?", max_token=3) == 400


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with app_running(Stub()) as server, gateway_running(f"{server}/v1") as (address, _):
        client = Client(address)
        # A count that begins between two scrapes has no rate before the next change.
        load(client)
        found = Prometheus(
            tmp_path_factory.mktemp("prometheus"), address.removeprefix("http://").removesuffix("/v1")
        )
        try:
            deadline = time.monotonic() + PATIENCE_S
            while _scrapes(found) < 3:
                assert time.monotonic() < deadline, "nothing was scraped"
                load(client)
                time.sleep(0.5)
            yield found
        finally:
            found.stop()


def _scrapes(prometheus: Prometheus) -> int:
    said = prometheus.get("query", query="count_over_time(up[1h])")
    result = said.get("data", {}).get("result", [])
    return int(result[0]["value"][1]) if result else 0


@needs_prometheus
@pytest.mark.parametrize("name", QUERIES)
def test_every_panel_shows_something(prometheus: Prometheus, name: str) -> None:
    expr = QUERIES[name].replace("$__rate_interval", "1m").replace("$model", ".*")
    assert "$" not in expr
    said = prometheus.get("query", query=expr)
    assert said["status"] == "success", said
    assert said["data"]["result"], f"no data for {expr}"
    values = [float(one["value"][1]) for one in said["data"]["result"]]
    assert any(value == value for value in values), f"only NaN for {expr}"


@needs_prometheus
@pytest.mark.parametrize("name", RULES)
def test_every_alert_is_evaluated_and_asks_for_what_there_is(prometheus: Prometheus, name: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (rule := _rule(prometheus, name))["health"] == "unknown":
        assert time.monotonic() < deadline, f"'{name}' was never evaluated"
        time.sleep(0.2)
    assert rule["health"] == "ok", rule
    # There may have been nothing of the kind to count, but a name that nobody counts is a mistake.
    metrics = set(re.findall(r"\b(thinkcap_\w+?)(?:_bucket)?(?=[\[{\s)])", RULES[name]))
    assert metrics <= prometheus.get("metadata")["data"].keys()
    assert metrics or name == "ThinkcapDown"


def _rule(prometheus: Prometheus, name: str) -> Any:
    groups = prometheus.get("rules")["data"]["groups"]
    return next(rule for group in groups for rule in group["rules"] if rule["name"] == name)


@needs_prometheus
def test_a_failing_model_server_is_an_alert_in_the_making(prometheus: Prometheus) -> None:
    """One request in four of the load's fails for its caller."""
    deadline = time.monotonic() + PATIENCE_S
    while _rule(prometheus, "ThinkcapFailing")["state"] == "inactive":
        assert time.monotonic() < deadline, _rule(prometheus, "ThinkcapFailing")
        time.sleep(0.2)


def test_panels_have_titles_of_their_own_and_do_not_overlap() -> None:
    assert len({panel["title"] for panel in PANELS}) == len(PANELS)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    taken = [
        (x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])
    ]
    assert len(set(taken)) == len(taken)


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool: apt-get install prometheus")
def test_promtool_takes_the_alerts() -> None:
    done = subprocess.run(
        ["promtool", "check", "rules", DEPLOY / "prometheus" / "alerts.yaml"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
