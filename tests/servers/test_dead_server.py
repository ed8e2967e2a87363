"""A real server is killed under a study and comes back elsewhere: what was done stays, the rest is asked again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from started import launch, stop

QUESTIONS = 12


def study(url: str, out: Path) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "-m",
        "thinkcap",
        "study",
        "--model",
        url,
        "--limit",
        str(QUESTIONS),
        "--policy",
        "think",
    ]
    words += ["--budgets", "128,512", "--concurrency", "8", "--timeout", "60", "--out", str(out)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rows(out: Path) -> list[dict[str, Any]]:
    journal = out / "rows.jsonl"
    return [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []


def test_a_dead_server_and_its_return(tmp_path: Path) -> None:
    out = tmp_path / "run"
    server, found = launch("llama", tmp_path / "first")
    try:
        run = study(found.url, out)
        while len(rows(out)) < 4:
            assert run.poll() is None, run.communicate()
            time.sleep(0.05)
        before = (out / "rows.jsonl").read_bytes()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    _, said = run.communicate(timeout=300)
    assert run.returncode == 1, said
    assert "Traceback" not in said
    lost = [row for row in rows(out) if row["failed"]]
    assert lost
    assert all(row["verdict"] is None for row in lost), "a failure is not a wrong answer"
    assert found.url.removesuffix("/v1") in str(lost[0]), "the error names the server"

    server, again = launch("llama", tmp_path / "second")
    try:
        run = study(again.url, out)
        _, said = run.communicate(timeout=300)
    finally:
        stop(server)
    assert run.returncode == 0, said
    assert (out / "rows.jsonl").read_bytes().startswith(before), "rows finished before the kill stay"
    done = [row for row in rows(out) if not row["failed"]]
    assert len(done) == 2 * QUESTIONS, "each once"
