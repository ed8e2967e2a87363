"""How each real server is started with the bundled model, and what is known of it before it is asked."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from thinkcap.model import pebble_gguf, pebble_hf

CONTEXT = 2048
KEY = "the-key-of-the-tests"
READY_S = 900
SERVERS = ("vllm", "llama", "transformers")


@dataclass(frozen=True)
class Server:
    kind: str
    url: str
    """With the model's name, as thinkcap takes it."""
    log: Path


def command(kind: str, port: int) -> tuple[list[str], str]:
    """What starts it, and the model's name there."""
    if kind == "vllm":
        if importlib.util.find_spec("vllm") is None:
            pytest.skip("needs vLLM's CPU build; `make test-servers` installs it")
        words = ["-m", "vllm.entrypoints.openai.api_server", "--model", str(pebble_hf())]
        words += ["--served-model-name", "pebble", "--dtype", "float32", "--max-num-seqs", "64"]
        words += ["--max-model-len", str(CONTEXT), "--reasoning-parser", "qwen3", "--enforce-eager"]
        return [sys.executable, *words, "--host", "127.0.0.1", "--port", str(port)], "pebble"
    if kind == "llama":
        script = (
            "import signal; from pathlib import Path; from thinkcap.engines.llamacpp import start_server; "
            f"server = start_server(Path({str(pebble_gguf())!r}), {CONTEXT}, 8, 1, {KEY!r}); "
            "print(server.listening_address, flush=True); signal.pause()"
        )
        return [sys.executable, "-c", script], ""
    script = Path(sys.executable).with_name("transformers")
    if not script.exists() and not shutil.which("transformers"):
        pytest.skip("needs transformers; `make test-servers` installs it")
    words = ["serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    return [str(script), *words], str(pebble_hf())


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
