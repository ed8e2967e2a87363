"""`make` finds a Python that will do by running it, whatever it is called."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

FIND = Path(__file__).parents[1] / ".ci" / "find-python"


def find(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (path / "sort").symlink_to(shutil.which("sort") or "")
    return subprocess.run(
        ["/bin/sh", FIND, *words],
        env={"PATH": str(path), "HOME": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)


def test_a_shim_that_does_not_run_and_an_old_python_are_passed_over(tmp_path: Path) -> None:
    program(tmp_path / "python3.11", "echo 'python3.11: command not found' >&2; exit 127")
    program(tmp_path / "python3.12", "exit 1")
    program(tmp_path / "python3", f'exec "{sys.executable}" "$@"')
    done = find(tmp_path)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).samefile(sys.executable)


def test_the_newest_is_the_newest_by_its_own_word(tmp_path: Path) -> None:
    program(tmp_path / "python3.11", "echo 11 /old/python")
    program(tmp_path / "python3.12", "echo 12 /new/python with a blank")
    program(tmp_path / "python3", "echo 11 /other/python")
    assert find(tmp_path, "newest").stdout == "/new/python with a blank\n"


def test_where_there_is_none_it_says_what_to_do(tmp_path: Path) -> None:
    done = find(tmp_path)
    assert done.returncode == 1
    assert "make PYTHON=/path/to/python3 setup" in done.stderr
