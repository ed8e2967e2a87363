"""The room of grading: three names at its door, nothing of ours behind it but errors, no cycles."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import thinkcap.grading

ROOM = Path(thinkcap.grading.__file__).parent
SRC = ROOM.parent


def _imports(path: Path) -> set[str]:
    """Every module a file imports, late ones and those for type checkers included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.startswith("thinkcap.")}


def test_grading_needs_nothing_of_ours_but_errors() -> None:
    outside = {
        f"{path.name}: {name}"
        for path in ROOM.glob("*.py")
        for name in _imports(path)
        if not name.startswith(("thinkcap.grading", "thinkcap.core.errors"))
    }
    assert outside == set()


def test_no_module_of_grading_needs_itself() -> None:
    needs = {
        p.stem: {n.split(".")[2] for n in _imports(p) if n.startswith("thinkcap.grading.")}
        for p in ROOM.glob("*.py")
    }
    done: set[str] = set()
    while ready := {name for name, wanted in needs.items() if name not in done and wanted & needs.keys() <= done}:
        done |= ready
    assert set(needs) - done == set()


def test_other_rooms_use_the_door() -> None:
    types_only = {"thinkcap.grading.extraction", "thinkcap.grading.extraction.Extracted"}
    door = {"thinkcap.grading", *(f"thinkcap.grading.{name}" for name in thinkcap.grading.__all__)}
    around = {
        f"{path.relative_to(SRC)}: {name}"
        for path in SRC.rglob("*.py")
        if path.parent != ROOM
        for name in _imports(path)
        if name.startswith("thinkcap.grading") and name not in door | types_only
    }
    assert around == set()


def test_the_door_has_three_names_and_opens_late() -> None:
    assert thinkcap.grading.__all__ == ["Grader", "equal", "extract"]
    code = "import sys, thinkcap.grading; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert not [name for name in loaded if name.startswith(("thinkcap.grading.", "mpmath", "sympy"))]
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        thinkcap.grading.nope  # noqa: B018
