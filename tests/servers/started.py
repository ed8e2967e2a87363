"""How each real server is started with the bundled model, and what is known of it before it is asked."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from markups import Markup, gguf_of, hf_of

from thinkcap.model import pebble_gguf, pebble_hf

CONTEXT = 2048
KEY = "the-key-of-the-tests"
READY_S = 600
"""Less than the time a test may take, so that what the server said is seen."""
SERVERS = ("vllm", "llama", "transformers")


@dataclass(frozen=True)
class Server:
    kind: str
    url: str
    """With the model's name, as thinkcap takes it."""
    log: Path


def command(
    kind: str, port: int, folder: Path, markup: Markup | None, python: str = sys.executable
) -> tuple[list[str], str]:
    """What starts it, and the model's name there; `markup`: with the bundled model's tags called otherwise."""
    if kind == "vllm":
        if python == sys.executable and importlib.util.find_spec("vllm") is None:
            pytest.skip("needs vLLM's CPU build; `make test-servers` installs it")
        words = ["-m", "vllm.entrypoints.openai.api_server", "--model", str(_hf(folder, markup))]
        words += ["--served-model-name", "pebble", "--dtype", "float32", "--max-num-seqs", "64"]
        words += ["--max-model-len", str(CONTEXT), "--enforce-eager"]
        words += [] if markup else ["--reasoning-parser", "qwen3"]
        words += ["--distributed-executor-backend", "uni"]
        return [python, *words, "--host", "127.0.0.1", "--port", str(port)], "pebble"
    if kind == "llama":
        weights = gguf_of(folder, markup) if markup else pebble_gguf()
        script = (
            "import signal; from pathlib import Path; from thinkcap.engines.llamacpp import start_server; "
            f"server = start_server(Path({str(weights)!r}), {CONTEXT}, 8, 1, {KEY!r}); "
            "print(server.listening_address, flush=True); signal.pause()"
        )
        return [python, "-c", script], ""
    script = Path(sys.executable).with_name("transformers")
    if not script.exists() and not shutil.which("transformers"):
        pytest.skip("needs transformers; `make test-servers` installs it")
    words = ["serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    return [str(script), *words], str(_hf(folder, markup))


def _hf(folder: Path, markup: Markup | None) -> Path:
    return hf_of(folder, markup) if markup else pebble_hf()


def launch(
    kind: str,
    folder: Path,
    markup: Markup | None = None,
    python: str = sys.executable,
    more: Sequence[str] = (),
) -> tuple[subprocess.Popen[bytes], Server]:
    """In a process group of its own; returns when it answers. `python` is that of another environment."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    words, name = command(kind, port, folder, markup, python)
    log = folder / "server.log"
    env = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    # `transformers serve` lists its cache, and fails where there is none.
    (folder / "hub").mkdir()
    env["HF_HUB_CACHE"] = str(folder / "hub")
    env.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    # vLLM's own worker process is waited for in a busy loop, which takes one of two cores from everyone.
    env.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    with log.open("wb") as out:
        process = subprocess.Popen([*words, *more], stdout=out, stderr=out, env=env, start_new_session=True)
    deadline = time.monotonic() + READY_S
    # llama.cpp's takes any free port and says which.
    while not (base := said_address(log) if kind == "llama" else f"http://127.0.0.1:{port}") or not answers(
        f"{base}/v1/models"
    ):
        if process.poll() is not None or time.monotonic() > deadline:
            stop(process)
            pytest.fail(f"{kind} did not start:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.5)
    return process, Server(kind, f"{base}/v1" + (f"#{name}" if name else ""), log)


def stop(process: subprocess.Popen[Any]) -> None:
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def said_address(log: Path) -> str:
    return next((line for line in log.read_text(errors="replace").splitlines() if line.startswith("http")), "")


def answers(url: str) -> bool:
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {KEY}"})
    try:
        with urllib.request.urlopen(asked, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False
