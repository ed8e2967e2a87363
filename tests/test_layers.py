"""Imports go down only: doors -> work -> domain and outside -> core."""

import ast
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "thinkcap"

FLOOR = {
    "core": 0,
    "model": 0,
    "policies": 1,
    "tasks": 1,
    "diagnose": 1,
    "allocate": 1,
    "engines": 1,
    "traces": 1,
    "study": 2,
    "report": 3,
    "gateway": 4,
    "cli": 5,
}
OUTSIDE = {"engines", "traces"}
DOMAIN = {"policies", "tasks", "diagnose", "allocate"}


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "thinkcap":
                names = [f"thinkcap.{alias.name}" for alias in node.names]
        rooms |= {n.split(".")[1] for n in names if n.startswith("thinkcap.")}
    return rooms & FLOOR.keys()


def test_imports_go_down_only() -> None:
    wrong = []
    for path in SRC.rglob("*.py"):
        parts = path.relative_to(SRC).parts
        if len(parts) == 1:
            continue
        room = parts[0]
        for other in imported_rooms(path) - {room}:
            upward = FLOOR[other] > FLOOR[room]
            across = {room, other} & OUTSIDE and {room, other} & DOMAIN
            sideways = FLOOR[other] == FLOOR[room] and across
            if upward or sideways:
                wrong.append(f"{'/'.join(parts)} imports {other}")
    assert wrong == []


def test_core_needs_only_the_standard_library() -> None:
    import sys

    wrong = []
    for path in (SRC / "core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                name = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                top = (name or "").split(".")[0]
                if top not in sys.stdlib_module_names and top != "thinkcap":
                    wrong.append(f"{path.name}: {name}")
    assert wrong == []
