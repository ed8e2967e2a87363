"""Real servers with the bundled model, each started once: vLLM on the CPU, llama.cpp's, `transformers serve`."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from started import KEY, READY_S, SERVERS, Server, answers, command, free_port, said_address


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.servers)


@pytest.fixture(scope="session", params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    kind = request.param
    port = free_port()
    words, name = command(kind, port)
    log = tmp_path_factory.mktemp(kind) / "server.log"
    env = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    # `transformers serve` lists its cache, and fails where there is none.
    (log.parent / "hub").mkdir()
    env["HF_HUB_CACHE"] = str(log.parent / "hub")
    env.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env=env, start_new_session=True)
    try:
        deadline = time.monotonic() + READY_S
        # llama.cpp's takes any free port and says which.
        while not (base := said_address(log) if kind == "llama" else f"http://127.0.0.1:{port}") or not answers(
            f"{base}/v1/models"
        ):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{kind} did not start:\n{log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.5)
        yield Server(kind, f"{base}/v1" + (f"#{name}" if name else ""), log)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKCAP_API_KEY", KEY)
