"""Worker programs run nothing but our own code, whatever lies beside the data, and under limits of the kernel."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import thinkcap
from thinkcap.grading.kinds import Decision
from thinkcap.grading.workers import Worker

HARD = ("\\sum_{k=1}^{3} k", "6", "math")
"""Needs the worker, and the algebra system inside it."""
linux = pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="looks into /proc, which only Linux has")


def _trap(folder: Path, *names: str) -> Path:
    """Modules that leave a mark when anybody imports them."""
    mark = folder / "was_run"
    for name in names:
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit('trapped')\n")
    return mark


def _ask() -> Decision:
    worker = Worker()
    try:
        return worker.ask(*HARD)
    finally:
        worker.close()


def test_the_current_folder_is_not_imported_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = _trap(tmp_path, "json", "sitecustomize", "gmpy2", "mpmath")
    monkeypatch.chdir(tmp_path)
    assert _ask() is Decision.SAME
    assert not mark.exists()


def test_the_caller_s_path_is_not_imported_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = _trap(tmp_path, "json", "sitecustomize", "gmpy2")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    assert _ask() is Decision.SAME
    assert not mark.exists()


@linux
def test_a_worker_has_no_secrets_and_hard_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    worker = Worker()
    try:
        assert worker.ask(*HARD) is Decision.SAME
        assert worker._process is not None
        process = Path(f"/proc/{worker._process.pid}")
        assert b"secret" not in (process / "environ").read_bytes()
        assert (process / "cwd").readlink() == Path("/")
        limits = {
            line[:25].strip(): line[25:].split()[:2] for line in (process / "limits").read_text().splitlines()[1:]
        }
    finally:
        worker.close()
    assert limits["Max address space"] == [str(3 * 2**30)] * 2
    assert limits["Max processes"] == ["0", "0"]
    assert limits["Max file size"] == [str(16 * 2**20)] * 2
    assert limits["Max core file size"] == ["0", "0"]
    assert int(limits["Max cpu time"][0]) < 600


def test_the_worker_uses_the_rules_of_its_caller(tmp_path: Path) -> None:
    """As with PYTHONPATH=src beside an installed version: one verdict, one set of rules."""
    copy = tmp_path / "elsewhere" / "thinkcap"
    shutil.copytree(Path(thinkcap.__file__).parent, copy, ignore=shutil.ignore_patterns("model", "__pycache__"))
    rules = copy / "grading" / "symbolic.py"
    rules.write_text(
        rules.read_text().replace("return Decision.SAME if right", "return Decision.SAME if not right")
    )
    code = f"import sys; sys.path.insert(0, sys.argv[1]); from thinkcap import equal; print(equal(*{HARD!r}))"
    command = [sys.executable, "-c", code, str(copy.parent)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
