"""The room's own rules: what it may import, and no circle among its files."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOM = Path(__file__).parents[2] / "src" / "thinkcap" / "statistics"
ALLOWED = {"numpy", "thinkcap.core.errors"}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_files_import_one_another_without_a_circle() -> None:
    inside = "thinkcap.statistics."
    graph = {
        p.stem: {i.removeprefix(inside) for i in imports(p) if i.startswith(inside)} for p in ROOM.glob("*.py")
    }
    assert len(graph) > 15
    assert len(list(TopologicalSorter(graph).static_order())) >= len(graph)


def test_nothing_from_other_rooms() -> None:
    for path in ROOM.glob("*.py"):
        for name in imports(path):
            outside = name.startswith("thinkcap.") and not name.startswith("thinkcap.statistics.")
            assert not outside or name in ALLOWED, (path.name, name)
            assert name.split(".")[0] not in {"pathlib", "io", "json", "matplotlib", "pandas"}, (path.name, name)
