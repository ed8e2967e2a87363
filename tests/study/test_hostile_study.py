"""A study against a server that misbehaves: it ends, failures count as failures, a rerun retries only them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from hostile import Hostile, is_canary

from patience import PATIENCE_S
from thinkcap.diagnose.summary import load_summary

MISDEEDS = ("drop", "429", "500", "malformed", "empty", "never")


async def study(url: str, questions: Path, out: Path, timeout_s: float = PATIENCE_S) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "thinkcap", "study", "--model", f"{url}#small", "--task", str(questions)),
        *("--policy", "nothink", "--budgets", "40", "--timeout", str(timeout_s), "--out", str(out)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(os.environ),
    )
    _, said = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    return process.returncode or 0, said.decode()


def asked(body: dict[str, Any]) -> int:
    """Which question a request is about: its number of question marks."""
    return str(body["messages"][-1]["content"]).count("?")


async def test_the_study_ends_and_a_rerun_retries_only_the_failed(questions: Path, tmp_path: Path) -> None:
    wronged: Counter[int] = Counter()

    def plan(number: int, body: dict[str, Any]) -> str:
        if is_canary(body) or asked(body) > len(MISDEEDS):
            return "ok"
        wronged[asked(body)] += 1
        return MISDEEDS[asked(body) - 1]

    async with Hostile(plan, answer=lambda question: "#### 5") as server:
        # As long as who never answers is waited for; the others must have answered by then.
        code, said = await study(server.url, questions, tmp_path / "run", timeout_s=6)
        assert code == 1, said
        assert "Traceback" not in said
        (cell,) = load_summary(tmp_path / "run")["cells"]
        assert (cell["n"], cell["failed"], cell["graded"]) == (12, len(MISDEEDS), 12 - len(MISDEEDS))
        assert set(wronged) == set(range(1, len(MISDEEDS) + 1))

        server.plan = lambda number, body: "ok"
        before = len(server.bodies)
        code, said = await study(server.url, questions, tmp_path / "run")
        assert code == 0, said
        retried = Counter(asked(b) for b in server.bodies[before:] if not is_canary(b))
        assert retried == Counter(range(1, len(MISDEEDS) + 1))


async def test_a_model_swapped_under_the_run_is_noticed(questions: Path, tmp_path: Path) -> None:
    async with Hostile(lambda number, body: "ok" if is_canary(body) else "swap") as server:
        code, said = await study(server.url, questions, tmp_path / "run")
        assert code == 1, said
        rows = (tmp_path / "run" / "rows.jsonl").read_text()
        assert rows.count("ModelChanged") == 12


async def test_no_server_at_all(questions: Path, tmp_path: Path) -> None:
    code, said = await study("http://127.0.0.1:9/v1", questions, tmp_path / "run", timeout_s=1)
    assert code == 1
    assert "127.0.0.1:9" in said
