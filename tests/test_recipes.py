"""Every recipe of CONTRIBUTING.md, carried out on a copy of the package: what it promises is there afterwards."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package without its weights, which no recipe needs."""
    home = tmp_path / "src" / "thinkcap"
    shutil.copytree(
        ROOT / "src" / "thinkcap", home, ignore=shutil.ignore_patterns("__pycache__", "*.gguf", "pebble")
    )
    return home


def section(title: str) -> str:
    return TEXT.split(f"## {title}")[1].split("\n## ")[0]


def block(title: str, language: str = "python") -> str:
    found = re.search(rf"```{language}\n(.*?)```", section(title), re.DOTALL)
    assert found
    return found[1]


def run(copy: Path, *words: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(copy.parent)}
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, cwd=copy.parents[1], env=env, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_policy_is_one_file(copy: Path) -> None:
    (copy / "policies" / "mine.py").write_text(block("Add a policy: one file"))
    assert "Options: first" in run(copy, "-m", "thinkcap", "policies", "mine")
    program = """
import asyncio
from thinkcap.core.flow import drive
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.policies import policy
from thinkcap.core.types import Question

engine = ScriptedEngine(lambda prompt: "It is 42.")
question = Question("q", ({"role": "user", "content": "?"},), kind="number")
for word in ("mine(first=32)", "mine(first=2)"):
    done = asyncio.run(drive(policy(word)(question, 64), engine, cap=64))
    print(done.answer.stage)
"""
    assert run(copy, "-c", program).split() == ["probe", "think"]


def test_a_task_is_one_file(copy: Path) -> None:
    (copy / "tasks" / "mine.py").write_text(block("Add a task: one file"))
    program = """
from thinkcap.tasks import load
task = load("mine", limit=3)
print(task.name, len(task.questions), task.golds["mine/2"])
"""
    assert run(copy, "-c", program).split() == ["mine", "3", "2"]


def test_a_log_importer_is_one_file(copy: Path) -> None:
    (copy / "logs" / "formats" / "mytool.py").write_text(block("Add a log importer: one file"))
    log = copy.parents[1] / "log.jsonl"
    lines = [
        f'{{"mytool": 1, "q": "{i}", "said": "It is {i}", "want": "{i}", "spent": {9 + i}}}' for i in range(4)
    ]
    log.write_text("\n".join(lines))
    program = """
from pathlib import Path
from thinkcap.logs import read
(arm,) = read([Path("log.jsonl")]).arms
print(arm.n, arm.lengths.sum(), arm.right.sum())
"""
    assert run(copy, "-c", program).split() == ["4", "42", "4"]


def test_a_statistic_with_its_sentence_is_three_files(copy: Path) -> None:
    title = "Add a statistic with its sentence: three files"
    (copy / "statistics" / "vain.py").write_text(block(title))
    touched = apply(block(title, "diff"), copy.parents[1])
    assert len(touched) == 2
    rows = ["id,policy,budget,correct,tokens,ended"]
    rows += [f"{i},{p},64,{int(i % 2 == 0)},{10 + i},1" for p in ("think", "nothink") for i in range(12)]
    (copy.parents[1] / "log.csv").write_text("\n".join(rows))
    said = " ".join(run(copy, "-m", "thinkcap", "diagnose", "log.csv", "--details").split())
    assert "spent 51.6 % of its tokens on answers that were not right" in said


def apply(diff: str, folder: Path) -> set[Path]:
    """A diff without line numbers: each piece must stand in its file just once."""
    touched: set[Path] = set()
    path = folder
    for piece in re.split(r"^---", diff, flags=re.MULTILINE)[1:]:
        name, _, body = piece.partition("\n")
        path = folder / name.strip() if name.strip() else path
        lines = body.splitlines()
        before = "\n".join(line[1:] for line in lines if line[0] in " -")
        after = "\n".join(line[1:] for line in lines if line[0] in " +")
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{path.name} no longer holds: {before}"
        path.write_text(text.replace(before, after), encoding="utf-8")
        touched.add(path)
    return touched
