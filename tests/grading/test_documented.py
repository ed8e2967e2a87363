"""The documentation of grading is true: its examples hold, and its generated page is current."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from thinkcap import equal

ROOT = Path(__file__).parents[2]


def _examples() -> list[tuple[str, str, bool]]:
    text = (ROOT / "docs/grading.md").read_text(encoding="utf-8")
    table = text.partition("### Kind `math`")[2].partition("## Where suites")[0]
    out = []
    for line in table.splitlines():
        cells = re.split(r"(?<!\\) \| ", line.strip("| "))
        if line.startswith("| ") and len(cells) >= 3:
            for cell, expected in zip(cells[2:4], (True, False), strict=False):
                codes = re.findall(r"`([^`]+)`", cell)
                out += [(gold, answer, expected) for gold, answer in zip(codes[::2], codes[1::2], strict=True)]
    return out


def test_there_are_examples() -> None:
    assert len(_examples()) > 30


@pytest.mark.parametrize(("gold", "answer", "expected"), _examples())
def test_examples_hold(gold: str, answer: str, expected: bool) -> None:
    assert equal(gold, answer, "math") == expected


def test_the_list_of_disagreements_is_current(shared: Path) -> None:
    page = runpy.run_path(str(ROOT / "bench/grading_disagreements.py"))["page"]
    written = (ROOT / "docs/grading-disagreements.md").read_text(encoding="utf-8")
    assert page(shared / "data").strip() == written.strip()
