"""Hostile schemas at a real gateway process: each is a quick 400, and nobody else notices."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from running import QUESTION, Client, app_running
from schemas import ENDLESS, TOO_LARGE, branching
from tool_server import ToolServer

from patience import PATIENCE_S, until

URL = "/v1/chat/completions"
STREAMS, TIMES = 20, 10
LONGEST_S = 0.5
"""The requirement on `/healthz` while hostile schemas arrive."""
MOST_MEMORY_MB = 50
"""The requirement on what a process may keep afterwards."""
HOSTILE = {**{f"endless: {name}": one for name, one in ENDLESS.items()}, **TOO_LARGE}


def as_format(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}


def as_tool(schema: Any) -> dict[str, Any]:
    tool = {"type": "function", "function": {"name": "look_up", "parameters": schema}}
    return {"tools": [tool], "tool_choice": "required"}


@contextmanager
def gateway_process(model: str, log: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with log.open("wb") as file:
        command = [sys.executable, "-m", "thinkcap", "serve", model, "--port", "0"]
        process = subprocess.Popen(command, stderr=file, stdout=file)
    try:
        until(lambda: "serves at " in log.read_text() or process.poll() is not None, log.read_text)
        yield log.read_text().split("serves at ")[1].split()[0], process
    finally:
        process.kill()
        process.wait()


def memory_mb(process: subprocess.Popen[bytes]) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


class Load:
    """Healthy streams, one after the other in each of several threads, and a look at `/healthz` all the while."""

    def __init__(self, address: str, name: str) -> None:
        self.address, self.name = address, name
        self.ended: list[str] = []
        self.waits: list[float] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._stream) for _ in range(STREAMS)]
        self._threads.append(threading.Thread(target=self._look))

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        assert not any(thread.is_alive() for thread in self._threads)

    def _stream(self) -> None:
        client = Client(self.address)
        messages = [{"role": "user", "content": QUESTION}]
        while not self._over.is_set():
            body = {"model": self.name, "messages": messages, "max_tokens": 200, "stream": True}
            self.ended.append(client.post(URL, json=body).text[-200:])

    def _look(self) -> None:
        client = Client(self.address)
        while not self._over.wait(0.05):
            began = time.monotonic()
            assert client.get("/healthz").status_code == 200
            self.waits.append(time.monotonic() - began)


@contextmanager
def upstream(kind: str) -> Iterator[str]:
    if kind == "bundled":
        yield kind
        return
    with app_running(ToolServer("llama", thought="so")) as address:
        yield f"{address}/v1"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads a process's memory from /proc")
@pytest.mark.parametrize(("kind", "field"), [("bundled", as_format), ("tools", as_tool)], ids=["format", "tools"])
def test_hostile_schemas_disturb_nobody(tmp_path: Path, kind: str, field: Any) -> None:
    with upstream(kind) as model, gateway_process(model, tmp_path / "log") as (address, process):
        client = Client(address)
        name = client.get("/v1/models").json()["data"][0]["id"]
        body = {"model": name, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 100}
        with Load(address, name) as load:
            until(lambda: len(load.ended) >= STREAMS)
        before = memory_mb(process)
        slowest: dict[str, float] = {}
        with Load(address, name) as load:
            for _ in range(TIMES):
                for label, schema in HOSTILE.items():
                    began = time.monotonic()
                    reply = client.post(URL, json={**body, **field(schema)})
                    slowest[label] = max(slowest.get(label, 0), time.monotonic() - began)
                    assert reply.status_code == 400, (label, reply.text[:300])
                    assert reply.json()["error"]["message"]
                reply = client.post(URL, json={**body, **field(branching(10))})
                assert reply.status_code == 200, reply.text[:300]
            until(lambda: len(load.ended) >= STREAMS)
        print(sorted(slowest.items(), key=lambda one: -one[1])[:4], max(load.waits), before, memory_mb(process))
        assert all(text.rstrip().endswith("data: [DONE]") for text in load.ended)
        assert not any('"error"' in text for text in load.ended)
        assert max(load.waits) < LONGEST_S
        until(lambda: memory_mb(process) < before + MOST_MEMORY_MB, lambda: (before, memory_mb(process)))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
