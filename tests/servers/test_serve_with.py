"""`--serve-with` and real servers: started, studied, put behind a gateway, stopped; killed at bad moments."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from started import READY_S

from thinkcap.model import pebble_gguf, pebble_hf

Run = subprocess.Popen[str]


@pytest.fixture(params=["vllm", "llama-server"])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "vllm" and importlib.util.find_spec("vllm") is None:
        pytest.skip("needs vLLM's CPU build; `make test-servers` installs it")
    return str(request.param)


@pytest.fixture
def words(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The model under a name of its own, and where it is served from."""
    model = tmp_path / ("mine" if backend == "vllm" else "mine.gguf")
    model.symlink_to(pebble_hf() if backend == "vllm" else pebble_gguf())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    return [str(model), "--serve-with", backend]


@pytest.fixture
def begin() -> Iterator[list[Run]]:
    """Runs that a failed test has left are ended, and their servers with them."""
    begun: list[Run] = []
    yield begun
    for run in begun:
        run.kill()
        run.communicate()


def started(begun: list[Run], *words: str) -> Run:
    run = subprocess.Popen(
        [sys.executable, "-m", "thinkcap", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    begun.append(run)
    return run


def study(words: list[str], out: Path, *more: str) -> list[str]:
    return ["study", "--model", *words, "--policy", "nothink,think", "--out", str(out), *more]


def below(root: int) -> dict[int, str]:
    """All processes that come from this one, each with the moment of its start: numbers are used again."""
    parents: dict[int, int] = {}
    begun: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)], begun[int(entry.name)] = int(fields[1]), fields[19]
    found: set[int] = set()
    while fresh := {pid for pid, parent in parents.items() if parent in found | {root}} - found:
        found |= fresh
    return {pid: begun[pid] for pid in found}


def left(known: dict[int, str]) -> dict[int, str]:
    """Those that are still there half a minute later; less where they go sooner."""
    deadline = time.monotonic() + 30
    while True:
        alive = {}
        for pid, begun in known.items():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z" and fields[19] == begun:
                alive[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.1)


def until(run: Run, happens: Path, text: str) -> None:
    """Waits for this text in this file."""
    deadline = time.monotonic() + READY_S
    while not (happens.exists() and text in happens.read_text(errors="replace")):
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline, happens
        time.sleep(0.05)


def test_started_studied_stopped(words: list[str], backend: str, begin: list[Run], tmp_path: Path) -> None:
    run = started(begin, *study(words, tmp_path / "run", "--limit", "4", "--budgets", "64,256"))
    until(run, tmp_path / "run" / "rows.jsonl", "\n")
    known = below(run.pid)
    assert len(known) >= 2
    _, said = run.communicate(timeout=READY_S)
    assert run.returncode == 0, said
    assert f"{backend} answers after" in said
    rows = [json.loads(line) for line in (tmp_path / "run" / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 16
    assert not any(row["failed"] for row in rows)
    assert sum(row["verdict"] == "right" for row in rows) >= 4
    assert (tmp_path / "run" / "server.log").read_text().startswith("# ")
    assert left(known) == {}


def test_killed_in_the_middle_of_a_study(words: list[str], begin: list[Run], tmp_path: Path) -> None:
    more = ("--limit", "200", "--budgets", "64:1024:64")
    run = started(begin, *study(words, tmp_path / "run", *more))
    until(run, tmp_path / "run" / "rows.jsonl", "\n")
    known = below(run.pid)
    assert len(known) >= 2
    run.kill()
    run.communicate()
    assert left(known) == {}


def test_killed_in_the_middle_of_its_start(
    words: list[str], backend: str, begin: list[Run], tmp_path: Path
) -> None:
    run = started(begin, *study(words, tmp_path / "run", "--limit", "4", "--budgets", "64"))
    # vLLM by then has a process of its own for the engine, or is about to.
    until(run, tmp_path / "run" / "server.log", "EngineCore" if backend == "vllm" else "# ")
    known = below(run.pid)
    assert known
    run.kill()
    run.communicate()
    assert left(known) == {}


# vLLM takes half a minute and more to start, and behind a gateway it is looked at by the tests beside it too.
@pytest.mark.parametrize(
    "backend", ["llama-server", pytest.param("vllm", marks=pytest.mark.campaign)], indirect=True
)
def test_a_gateway_in_front(words: list[str], backend: str, begin: list[Run], tmp_path: Path) -> None:
    run = started(begin, "serve", *words, "--port", "0")
    assert run.stderr
    said: list[str] = []
    for line in run.stderr:
        said.append(line)
        if line.startswith("  limits"):
            break
    else:
        pytest.fail("".join(said))
    known = below(run.pid)
    banner = "".join(said)
    assert str(tmp_path / "state" / "thinkcap" / f"{backend}-mine.log") in banner
    address = banner.partition("serves at ")[2].split()[0]
    body = {"model": "mine", "messages": [{"role": "user", "content": "What is 3 + 4?"}], "max_tokens": 64}
    request = urllib.request.Request(
        f"{address}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        assert json.load(reply)["choices"][0]["message"]["content"].strip()
    os.kill(run.pid, signal.SIGTERM)
    run.communicate(timeout=60)
    assert run.returncode == 0
    assert left(known) == {}
