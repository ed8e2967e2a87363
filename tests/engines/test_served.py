"""A server of our own: every way it can fail is one line, and nothing of it is left whatever happens to us."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from fake_server import in_process_table, install, wait_for

from patience import PATIENCE_S, until
from thinkcap.core.complete import complete
from thinkcap.core.errors import ConfigError, ServerFailed
from thinkcap.core.types import Question, Request
from thinkcap.engines.retry import key_for
from thinkcap.engines.served import ServeWith, commands, running, state_log
from thinkcap.engines.served.commands import BACKENDS, ServerWish
from thinkcap.engines.served.running import opened, serving
from thinkcap.model import pebble_gguf, pebble_hf

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at the process table in /proc")
STARTED = 4
"""The fake server with those it starts."""


@pytest.fixture
def model(tmp_path: Path) -> str:
    """The bundled model under a path of its own, by which all that serve it are found."""
    path = tmp_path / "mine.gguf"
    path.symlink_to(pebble_gguf())
    return str(path)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("PATH", install(tmp_path / "bin"))
    monkeypatch.setattr(running, "_GRACE_S", 0.5)
    return monkeypatch


def study(model: str, out: Path, *more: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "thinkcap", "study", "--serve-with", "llama-server", "--model", model]
    words += ["--limit", "2", "--policy", "nothink", "--budgets", "32", "--out", str(out), *more]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def test_one_that_works_is_asked_and_gone_afterwards(model: str, tmp_path: Path) -> None:
    told: list[str] = []
    how = ServeWith("llama-server", "--threads 1", tmp_path / "run" / "server.log")
    question = Question("q", ({"role": "user", "content": "What is 3 + 4?"},))
    async with opened(model, {"concurrency": 2}, how, lambda line, _: told.append(line)) as engine:
        assert engine.card.transport == "ids"
        assert (engine.card.model, engine.card.concurrency) == ("mine", 2)
        assert (await complete(engine, Request(question, "nothink", 16, stage="t"))).tokens > 0
        assert len(in_process_table(model)) == 2, "the guard and the server"
    assert wait_for(0, model) == []
    assert how.log
    assert str(how.log) in told[-1]
    assert how.log.read_text().startswith("# ")
    assert how.log.stat().st_mode & 0o077 == 0


async def test_the_key_is_random_and_known_only_while_it_runs(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKCAP_API_KEY", "of-somebody-else")
    monkeypatch.setenv("XDG_STATE_HOME", str(Path(model).parent / "state"))
    port = running._free_port(0)
    async with serving(model, ServeWith("llama-server", f"--port={port}")) as server:
        assert server.base == f"http://127.0.0.1:{port}", "as the caller wished"
        key = key_for(server.address)
        assert key not in (None, "of-somebody-else")
        assert not any(str(key) in words for words in in_process_table(model))
        assert server.log == state_log("llama-server", "mine")
    assert key_for(server.address) == "of-somebody-else"


async def test_one_that_dies_shows_its_own_last_lines(
    model: str, fake: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    log.write_text("of an earlier day\n")
    fake.setenv("FAKE_SERVER", "dies")
    with pytest.raises(ServerFailed, match=r"status 3 and never answered.*server\.log") as failed:
        async with serving(model, ServeWith("llama-server", log=log)):
            pytest.fail("it never answered")
    assert failed.value.said == ("loading weights", "error: out of memory")
    assert log.read_text().startswith("of an earlier day\n# ")
    assert wait_for(0, model) == []


@pytest.mark.parametrize("wanted", ["never", "stubborn"])
async def test_one_that_never_answers_is_ended_with_all_it_started(
    wanted: str, model: str, fake: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake.setenv("FAKE_SERVER", wanted)
    how = ServeWith("llama-server", log=tmp_path / "server.log", patience_s=2.0)
    with pytest.raises(ServerFailed, match="did not answer within 2 s"):
        async with serving(model, how):
            pytest.fail("it never answered")
    assert wait_for(0, model) == []


def test_a_death_in_the_terminal(model: str, fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake.setenv("FAKE_SERVER", "dies")
    run = study(model, tmp_path / "run")
    _, said = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 1
    assert "\n  loading weights\n  error: out of memory\nthinkcap: llama-server ended" in said
    assert said.splitlines()[-1].count("thinkcap:") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_while_it_starts(number: int, model: str, fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake.setenv("FAKE_SERVER", "never")
    run = study(model, tmp_path / "run")
    assert len(wait_for(STARTED + 2, model)) == STARTED + 2, run.communicate()
    run.send_signal(number)
    run.communicate(timeout=PATIENCE_S)
    assert wait_for(0, model) == []


def test_a_killed_guard_takes_the_server_with_it(model: str, fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake.setenv("FAKE_SERVER", "never")
    run = study(model, tmp_path / "run")
    try:
        guard = next(words for words in wait_for(STARTED + 2, model) if "guard.py" in words)
        server = next(words for words in in_process_table(model) if "fake_server.py" in words and words != guard)
        os.kill(int(guard.split()[0]), signal.SIGKILL)
        _, said = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 1
        assert "llama-server ended" in said
        until(lambda: server not in in_process_table(model))
    finally:
        for words in in_process_table(model):
            os.kill(int(words.split()[0]), signal.SIGKILL)


async def test_a_port_that_is_taken(model: str) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}: Address already in use; name another --port"):
            async with serving(model, ServeWith("llama-server", f"--port {port}")):
                pytest.fail("somebody else listens there")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("--host 0.0.0.0", "--host, which thinkcap sets itself"),
        ("--api-key=mine", "--api-key, which thinkcap sets itself"),
        ("--port", "--port ''; wanted a number"),
        ("--port 70000", "--port '70000'; wanted a number"),
        ("'--threads", "cannot be read as a command line"),
    ],
)
def test_words_that_cannot_be_passed_on(args: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ServeWith("vllm", args).words()


async def test_a_server_cannot_be_served(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a server already; leave --serve-with out"):
        async with serving("http://localhost:8000/v1", ServeWith("vllm")):
            pytest.fail("it is one already")


def test_words_without_a_server_are_refused() -> None:
    with pytest.raises(ConfigError, match="name it, as --serve-with vllm"):
        ServeWith.wished(None, "--threads 2")


WISH = ServerWish("bundled", 8090, "the-key")


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match=r"vLLM is not installed .*; run: pip install vllm"):
        BACKENDS["vllm"].launch(WISH)
    with pytest.raises(ConfigError, match=r"SGLang is not installed .*; run: pip install"):
        BACKENDS["sglang"].launch(WISH)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    for name in ("OMP_NUM_THREADS", "VLLM_CPU_KVCACHE_SPACE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_missing_gpu(installed: pytest.MonkeyPatch) -> None:
    installed.setattr(commands, "_vllm_build", lambda: "0.32.0")
    installed.setattr(commands, "_has_gpu", lambda: False)
    with pytest.raises(ConfigError, match=r"vLLM 0\.32\.0 needs a GPU and none was found"):
        BACKENDS["vllm"].launch(WISH)


def test_vllm_on_a_gpu(installed: pytest.MonkeyPatch) -> None:
    installed.setattr(commands, "_vllm_build", lambda: "0.32.0")
    installed.setattr(commands, "_has_gpu", lambda: True)
    launch = BACKENDS["vllm"].launch(ServerWish("Qwen/Qwen3-8B", 8090, "the-key", more=("--max-num-seqs", "8")))
    line = " ".join(launch.words)
    assert "--model Qwen/Qwen3-8B --served-model-name Qwen/Qwen3-8B" in line
    assert "--enable-prefix-caching --max-num-seqs 256" in line
    assert line.endswith("--max-num-seqs 8"), "the caller's words come last"
    assert "--enforce-eager" not in line
    assert launch.environment["VLLM_API_KEY"] == "the-key"
    assert "the-key" not in line, "a command line is seen by every process"


def test_vllm_on_the_cpu(installed: pytest.MonkeyPatch) -> None:
    installed.setattr(commands, "_vllm_build", lambda: "0.32.0+cpu")
    installed.setenv("VLLM_CPU_KVCACHE_SPACE", "7")
    launch = BACKENDS["vllm"].launch(WISH)
    assert launch.words[launch.words.index("--model") + 1] == str(pebble_hf())
    assert "--enforce-eager" in launch.words
    assert "VLLM_CPU_KVCACHE_SPACE" not in launch.environment, "the caller's own stands"
    assert launch.environment["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"


def test_sglang_says_that_it_is_untested(installed: pytest.MonkeyPatch) -> None:
    launch = BACKENDS["sglang"].launch(ServerWish("Qwen/Qwen3-8B", 8090, "the-key", flows=32))
    assert "untested" in launch.note
    assert "--model-path Qwen/Qwen3-8B" in " ".join(launch.words)
    assert "--max-running-requests 32" in " ".join(launch.words)


def test_a_model_of_the_wrong_kind(installed: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed.setattr(commands, "_vllm_build", lambda: "0.32.0+cpu")
    for model in ("model.gguf", str(tmp_path), "./missing", "a/b/c"):
        with pytest.raises(ConfigError, match="vLLM cannot serve"):
            BACKENDS["vllm"].launch(ServerWish(model, 8090, "the-key"))
    with pytest.raises(ConfigError, match=r"llama-server cannot serve .*wanted a file that ends in \.gguf"):
        BACKENDS["llama-server"].launch(ServerWish(str(pebble_hf()), 8090, "the-key"))


def test_a_name_on_the_hub_for_llama_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="a name on the hub needs a `llama-server` program"):
        BACKENDS["llama-server"].launch(ServerWish("Qwen/Qwen3-8B-GGUF", 8090, "the-key"))
    monkeypatch.setenv("PATH", install(tmp_path / "bin"))
    launch = BACKENDS["llama-server"].launch(ServerWish("Qwen/Qwen3-8B-GGUF:Q8_0", 8090, "the-key"))
    assert launch.words[1:3] == ("-hf", "Qwen/Qwen3-8B-GGUF:Q8_0")
    assert "the-key" not in launch.words
