"""A full disk and a store in use: one clear line, nothing lost, and the same command goes on."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patience import PATIENCE_S
from thinkcap.cli import main

Start = Callable[..., "subprocess.Popen[str]"]
OPTIONS = ("--policy", "nothink,think,close", "--budgets", "8:64:4", "--model", "slow_engine:factory")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=320k", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def ended(words: list[str]) -> object:
    """The exit code of a command run here."""
    try:
        return main(words)
    except SystemExit as end:
        return end.code


def test_a_full_disk(
    questions: Path, small_disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def study(out: Path) -> tuple[object, str]:
        code = ended(["study", "--task", str(questions), *OPTIONS, "--concurrency", "1", "--out", str(out)])
        return code, capsys.readouterr().err

    out = small_disk / "run"
    code, said = study(out)
    assert code == 2, said
    assert "Traceback" not in said
    assert "space" in said
    rows = out / "rows.jsonl"
    before = rows.read_bytes()
    before = before[: before.rfind(b"\n") + 1]
    assert before.count(b"\n") > 10

    code, said = study(out)
    assert code == 2, "still full"
    assert "Traceback" not in said

    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    code, said = study(out)
    assert code == 0, said
    assert rows.read_bytes().startswith(before)
    code, said = study(tmp_path / "calm")
    assert code == 0, said
    assert rows.read_bytes() == (tmp_path / "calm" / "rows.jsonl").read_bytes()


def test_a_store_in_use_by_another_run(
    thinkcap: Start,
    questions: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HELD_UNTIL", str(tmp_path / "go"))
    options = ("--policy", "nothink", "--budgets", "8", "--model", "slow_engine:held", "--concurrency", "1")
    words = ["study", "--task", str(questions), *options, "--out", str(tmp_path / "run")]
    first = thinkcap(*words)
    # Written when rows and traces are locked and their files made.
    while not (tmp_path / "run" / "study.toml").exists():
        assert first.poll() is None
        time.sleep(0.01)
    code = ended(words)
    (tmp_path / "go").touch()
    said = capsys.readouterr().err
    assert code == 2
    assert f"in use by another run (process {first.pid})" in said
    assert "Traceback" not in said
    _, said = first.communicate(timeout=2 * PATIENCE_S)
    assert first.returncode == 0, said
