"""What a room's first page names is all that other rooms import from it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "thinkcap"


@cache
def imports() -> set[tuple[str, str]]:
    """(importing room, imported module) of every import there is."""
    return {
        (path.relative_to(SRC).parts[0], node.module)
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }


def imported(room: str) -> set[tuple[str, str]]:
    """(importing room, module of `room`) of every import from outside."""
    inside = re.compile(rf"thinkcap\.{room}\.(\w+)")
    return {(where, found[1]) for where, module in imports() if where != room and (found := inside.match(module))}


@pytest.mark.parametrize("room", ["diagnose", "verdict", "report"])
def test_other_rooms_import_what_the_face_names(room: str) -> None:
    face = ast.get_docstring(ast.parse((SRC / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    listed = face.partition("Others import:")[2]
    everybody, _, verdict_too = listed.partition(";\n`verdict` alone")
    assert imported(room)
    for where, module in imported(room):
        allowed = everybody + (verdict_too if where == "verdict" else "")
        assert f"`{module}`" in allowed, f"{where} imports {module} of {room}"
