"""kill -9 at any moment: what was finished stays, byte for byte, and the run goes on to the same end."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

Start = Callable[..., "subprocess.Popen[str]"]
OPTIONS = ("--policy", "nothink,think,close", "--budgets", "8:64:4", "--model", "slow_engine:factory")


def whole_lines(path: Path) -> bytes:
    if not path.exists():
        return b""
    data = path.read_bytes()
    return data[: data.rfind(b"\n") + 1]


def test_thirty_kills(thinkcap: Start, many_questions: Path, tmp_path: Path) -> None:
    def study(out: Path) -> "subprocess.Popen[str]":
        return thinkcap("study", "--task", many_questions, *OPTIONS, "--concurrency", "1", "--out", out)

    rng = random.Random(7)
    rows = tmp_path / "killed" / "rows.jsonl"
    kills = 0
    while kills < 30:
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
    assert kills > 20

    for out in ("killed", "calm"):
        run = study(tmp_path / out)
        _, said = run.communicate(timeout=240)
        assert run.returncode == 0, said
    assert rows.read_bytes() == (tmp_path / "calm" / "rows.jsonl").read_bytes()
