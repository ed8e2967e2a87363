"""Imports go down only: doors -> work -> domain and outside -> core."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "thinkcap"

FLOOR = {
    "core": 0,
    "model": 0,
    "settings": 1,
    "dialects": 1,
    "grading": 1,
    "statistics": 1,
    "engines": 2,
    "traces": 2,
    "tasks": 2,
    "policies": 2,
    "allocate": 2,
    "doctor": 3,
    "study": 3,
    "logs": 4,
    "diagnose": 5,
    "verdict": 6,
    "calibrate": 6,
    "report": 7,
    "gateway": 8,
    "view": 8,
    "paper": 9,
    "cli": 10,
}
OUTSIDE = {"engines", "traces"}
DOMAIN = {"policies", "tasks", "statistics", "allocate", "grading"}


@cache
def read(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(read(path)):
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
        room = parts[0].removesuffix(".py")
        if room not in FLOOR:
            continue
        for other in imported_rooms(path) - {room}:
            upward = FLOOR[other] > FLOOR[room]
            across = {room, other} & OUTSIDE and {room, other} & DOMAIN
            sideways = FLOOR[other] == FLOOR[room] and across
            if upward or sideways:
                wrong.append(f"{'/'.join(parts)} imports {other}")
    assert wrong == []


def imported_modules(path: Path, known: set[str]) -> set[str]:
    """Modules of ours that a file imports anywhere: at its head, inside a function, or for type checking only."""
    found = set()
    for node in ast.walk(read(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from room import module` names a module; `from room.module import name` does not.
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {n for n in names if n in known} or {node.module}
    return found & known


def circles(graph: dict[str, set[str]]) -> set[str]:
    """Every set of modules that reach each other, as one line."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        todo = list(graph[start])
        while todo:
            module = todo.pop()
            if module not in seen:
                seen.add(module)
                todo += graph.get(module, ())
        reach[start] = seen
    groups = {frozenset(m for m in reach[n] if n in reach[m]) for n in graph if n in reach[n]}
    return {" <-> ".join(sorted(m.removeprefix("thinkcap.") for m in group)) for group in groups}


@cache
def modules() -> dict[str, set[str]]:
    """Every module of ours, and those of ours that it imports."""

    def name(path: Path) -> str:
        return ".".join(("thinkcap", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__")

    files = {name(path): path for path in SRC.rglob("*.py")}
    return {module: imported_modules(path, set(files)) - {module} for module, path in files.items()}


def test_no_room_has_a_circle_inside() -> None:
    assert circles(modules()) == set()


INNER = ("gateway", "engines")
"""Rooms with rooms inside: there, two folders may not import each other either, not even by different files."""


def inner_room(module: str) -> str:
    """`gateway.watch` for `gateway.watch.guard`; a file beside the folders stands for itself."""
    return ".".join(module.split(".")[1:3])


def test_rooms_inside_a_room_do_not_import_each_other() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for module, others in modules().items():
        if module.split(".")[1:2] and module.split(".")[1] in INNER:
            graph[inner_room(module)] |= {inner_room(other) for other in others} - {inner_room(module)}
    assert any("." in room for room in graph)
    assert circles(graph) == set()


def test_every_room_says_what_lives_there() -> None:
    """In its `__init__`: a sentence, an empty line, and what may be imported."""
    inside = [path for room in INNER for path in (SRC / room).glob("*/__init__.py")]
    mute = [
        str(path.relative_to(SRC).parent)
        for path in [*SRC.glob("*/__init__.py"), *inside]
        if len((ast.get_docstring(read(path)) or "").splitlines()) < 3
    ]
    assert mute == []


def test_a_circle_would_be_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == {"b <-> c"}


def types_by_name() -> dict[str, list[str]]:
    """Where every public class and type alias is defined."""
    found = defaultdict(list)
    for path in sorted(SRC.rglob("*.py")):
        for node in read(path).body:
            match node:
                case ast.ClassDef(name=name):
                    pass
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    # An alias is spelt like a class; a constant is not.
                    if not name[0].isupper() or name.isupper():
                        continue
                case _:
                    continue
            if not name.startswith("_"):
                found[name].append("/".join(path.relative_to(SRC).parts))
    return found


def test_no_public_type_name_stands_twice() -> None:
    twice = {name: where for name, where in types_by_name().items() if len(where) > 1}
    assert twice == {}


def test_core_needs_only_the_standard_library_and_msgspec() -> None:
    import sys

    wrong = []
    for path in (SRC / "core").rglob("*.py"):
        for node in ast.walk(read(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                name = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                top = (name or "").split(".")[0]
                if top not in sys.stdlib_module_names and top not in ("thinkcap", "msgspec"):
                    wrong.append(f"{path.name}: {name}")
    assert wrong == []
