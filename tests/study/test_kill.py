"""kill -9 at any moment: what was finished stays, byte for byte, and the run goes on to the same end."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE_S

Start = Callable[..., "subprocess.Popen[str]"]
OPTIONS = ("--policy", "nothink,think,close", "--budgets", "8:64:4", "--model", "slow_engine:factory")


def whole_lines(path: Path) -> bytes:
    if not path.exists():
        return b""
    data = path.read_bytes()
    return data[: data.rfind(b"\n") + 1]


@pytest.mark.parametrize(("most", "questions"), [(3, 16), pytest.param(30, 60, marks=pytest.mark.campaign)])
def test_kills(thinkcap: Start, tmp_path: Path, asked_of: Any, campaign: Any, most: int, questions: int) -> None:
    most = max(3, campaign.of(most))
    asked = asked_of(questions)

    def study(out: Path) -> "subprocess.Popen[str]":
        return thinkcap("study", "--task", asked, *OPTIONS, "--concurrency", "1", "--out", out)

    rng = random.Random(7)
    rows = tmp_path / "killed" / "rows.jsonl"
    kills = 0
    while kills < most:
        before = whole_lines(rows)
        run = study(tmp_path / "killed")
        # From before the first import to well into the work.
        wait = rng.uniform(0.05, 1.4)
        try:
            run.communicate(timeout=wait)
            break
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
        kills += 1
        assert whole_lines(rows).startswith(before)
    assert kills > most // 2

    for out in ("killed", "calm"):
        run = study(tmp_path / out)
        _, said = run.communicate(timeout=2 * PATIENCE_S)
        assert run.returncode == 0, said
    assert rows.read_bytes() == (tmp_path / "calm" / "rows.jsonl").read_bytes()
    campaign.says(f"study killed {kills} times: no finished row lost, and the same bytes as an undisturbed run")
