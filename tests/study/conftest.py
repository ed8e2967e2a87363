"""A small task on disk, and studies run as a person would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def write_questions(path: Path, count: int) -> Path:
    lines = [
        {"id": f"q{i}", "question": "?" * (i + 1), "answer": str(i + 1), "kind": "number"} for i in range(count)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "questions.jsonl", 12)


@pytest.fixture
def many_questions(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "questions.jsonl", 60)


@pytest.fixture
def thinkcap() -> Callable[..., subprocess.Popen[str]]:
    """Starts the command line; `tests/study` is importable there, so that `slow_engine:factory` is a model."""

    def start(*words: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "thinkcap", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(HERE)},
        )

    return start
