"""What the README shows, run as it stands: a policy of one's own in `study` and `ask`, and the Python example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from thinkcap.study.config import StudyConfig

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run(*words: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=cwd, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_policy_of_ones_own_in_study_and_ask(tmp_path: Path) -> None:
    (own,) = [block for block in BLOCKS if "def careful" in block]
    (tmp_path / "my_policy.py").write_text(own)
    words = (
        "-m",
        "thinkcap",
        "study",
        "--policy",
        "nothink,my_policy:careful",
        "--limit",
        "3",
        "--budgets",
        "48,96",
    )
    assert "my_policy:careful" in run(*words, cwd=tmp_path)
    assert (tmp_path / "runs/study/report.html").exists()
    asked = run(
        "-m", "thinkcap", "ask", "What is 4 + 5?", "--policy", "my_policy:careful", "--cap", "512", cwd=tmp_path
    )
    assert asked.strip()


def test_the_python_example(tmp_path: Path) -> None:
    (example,) = [block for block in BLOCKS if "import thinkcap" in block]
    (tmp_path / "example.py").write_text(example.replace("limit=20", "limit=2").replace("64:512:64", "64,128"))
    said = run("example.py", cwd=tmp_path).splitlines()
    assert len(said) == 1 + 4 * 2
    (shown,) = re.findall(r"print\(reply.*# (.*)", example)
    assert said[0] == shown
    assert (tmp_path / "runs/mine/report.html").exists()


def test_the_folder_it_shows_is_the_default_one() -> None:
    assert f"report: {StudyConfig().folder}/report.html" in README


def test_the_files_it_points_to_exist() -> None:
    links = re.findall(r"\]\((?!http)([^)]+)\)", README)
    assert links
    missing = [link for link in links if not (Path(__file__).parents[1] / link).exists()]
    assert missing == []
