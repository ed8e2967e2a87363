"""Every derivable figure of the paper recomputed by the product, and the page of disagreements up to date."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "thinkcap", "paper", "--audit", "--published", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def figures(shared: Path) -> dict[str, dict[str, Any]]:
    entries = json.loads(run(shared / "paper" / "published.json", "--json"))
    return {entry["name"]: entry for entry in entries}


def _same(got: Any, wanted: Any, within: float) -> bool:
    if isinstance(wanted, dict):
        return (
            isinstance(got, dict)
            and got.keys() == wanted.keys()
            and all(_same(got[k], wanted[k], within) for k in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(got, list)
            and len(got) == len(wanted)
            and all(map(lambda g, w: _same(g, w, within), got, wanted))
        )
    if isinstance(wanted, int | float) and isinstance(got, int | float):
        return abs(got - wanted) <= max(within, 1e-3 * abs(wanted))
    return bool(got == wanted)


def test_every_figure_is_recomputed(shared: Path, figures: dict[str, dict[str, Any]]) -> None:
    reference = json.loads((shared / "paper" / "recomputed.json").read_text())
    assert len(reference) == len(figures) == 263
    status = {"derived-only": "derived"}
    wrong = []
    for entry in reference:
        ours = figures[entry["id"]]
        # Two bootstraps with different draws differ by one step of 0.2 points.
        within = 0.21 if entry["id"].startswith("ci-bootstrap") else 1e-9
        if not _same(ours["recomputed"], entry["recomputed"], within):
            wrong.append((entry["id"], entry["recomputed"], ours["recomputed"]))
        if ours["status"] != status.get(entry["status"], entry["status"]):
            wrong.append((entry["id"], entry["status"], ours["status"]))
        if not _same(ours["published"], entry["published"], 1e-12):
            wrong.append((entry["id"], "published", ours["published"]))
    assert wrong == []


def test_disagreements_give_a_reason(figures: dict[str, dict[str, Any]]) -> None:
    assert all(e["why"] for e in figures.values() if e["status"] in ("disagrees", "rounding"))


def test_the_page_is_up_to_date(shared: Path) -> None:
    page = run(shared / "paper" / "published.json", shared / "data" / "authors")
    assert page.rstrip("\n") == (ROOT / "docs" / "paper-audit.md").read_text().rstrip("\n")
