"""docs/python.md is one program: all its examples run in order and print what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    program = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    (tmp_path / "page.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "page.py"], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"^ *print\(.*\)  # (.+)$", program, re.MULTILINE)
    assert len(promised) == 2
    for line in promised:
        assert line in done.stdout
    assert "families on pebble, 4 questions: right answers in %, with 95 % interval" in done.stdout
    assert "<study 'runs/mine': 24 rows, 0 failed>" in done.stdout
    assert "token cap" in done.stdout
