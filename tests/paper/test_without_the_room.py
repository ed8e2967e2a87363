"""The paper is a guest: a copy of the product without its room works, and says what is not there in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import thinkcap

SCRIPTED = """
import pkgutil, importlib, sys
import thinkcap
heavy = ("engines.vllm", "engines.hf", "engines.ray", "engines.hf_batch", "engines.hf_words", "engines.ray_pool")
for found in pkgutil.walk_packages(thinkcap.__path__, "thinkcap."):
    name = found.name.removeprefix("thinkcap.")
    if name not in heavy and name != "__main__":
        importlib.import_module(found.name)
assert not [m for m in sys.modules if m.startswith("thinkcap.paper")]
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from chains import study
study(Path(sys.argv[2]), limit=6)
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed package without `paper/`."""
    folder = tmp_path_factory.mktemp("installed")
    source = Path(thinkcap.__file__).parent
    shutil.copytree(source, folder / "thinkcap", ignore=shutil.ignore_patterns("__pycache__", "paper", "*.gguf"))
    for model in source.rglob("*.gguf"):
        (folder / "thinkcap" / model.relative_to(source)).symlink_to(model)
    assert not (folder / "thinkcap" / "paper").exists()
    return folder


def run(copied: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copied), "NO_COLOR": "1"}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, cwd=copied)


def test_the_rest_works(copied: Path, tmp_path: Path) -> None:
    chains = Path(__file__).parents[1] / "report"
    study = run(copied, "-c", SCRIPTED, str(chains), str(tmp_path / "run"))
    assert study.returncode == 0, study.stderr
    for words in (["diagnose", "--json"], ["report", "--table", "both-modes"]):
        done = run(copied, "-m", "thinkcap", words[0], str(tmp_path / "run"), *words[1:])
        assert done.returncode == 0, done.stderr
        assert "think@64" in done.stdout
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": 1, "correct": 1, "tokens": 5, "mode": "think", "budget": 16}\n')
    assert run(copied, "-m", "thinkcap", "diagnose", str(log)).returncode == 0


@pytest.mark.parametrize("words", [["paper", "runs/x"], ["paper", "--list"], ["study", "--preset", "gsm8k"]])
def test_what_is_missing_is_said_in_one_line(copied: Path, words: list[str]) -> None:
    done = run(copied, "-m", "thinkcap", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "not installed here" in done.stderr
