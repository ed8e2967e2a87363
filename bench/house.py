"""The house in numbers: rooms by size, circles, type names defined twice, functions on the way to the model.

python bench/house.py
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "thinkcap"
sys.path.insert(0, str(ROOT / "tests"))

from frames import main as frames  # noqa: E402
from test_layers import INNER, circles, modules, types_by_name  # noqa: E402

ANALYSIS = ("logs", "statistics", "diagnose", "verdict", "calibrate", "study", "report")
"""Successors of the first house's study/, diagnose/ and report/, without paper/."""
BEFORE, MOST = 12_339, 10_000
LATER = {
    "traffic without golds: journals, batches, spans, labels, shadows, other caps": (
        *("logs/answered", "logs/ungraded", "logs/labels", "logs/sampling", "logs/formats/batch"),
        *("logs/formats/journal", "logs/formats/litellm_logs", "logs/formats/otel_spans", "statistics/capped"),
        *("statistics/stratified", "diagnose/traffic", "diagnose/labelled", "diagnose/shadow"),
        *("diagnose/simulating", "verdict/traffic", "verdict/labelled", "verdict/shadow", "calibrate/foresee"),
    ),
    "studies of a million rows: columns in batches, time left, a page that follows": (
        *("study/columns", "study/pace", "study/progress", "report/explorer/shell"),
    ),
    "own questions, runs by name, rivals": ("study/starter", "study/folders", "study/listing", "study/rivals"),
    "strangers: marks of any model, bounded memory, no scipy": (
        *("logs/thoughts", "logs/memory", "statistics/distributions"),
    ),
}
"""Modules of those rooms for what the first house did not do; the rest does what it did, and more of it."""


def rooms() -> dict[str, tuple[int, int]]:
    """Lines and files of every room, and of the rooms inside it; modules beside them count as one."""
    found: dict[str, list[int]] = defaultdict(list)
    for path in SRC.rglob("*.py"):
        parts = path.relative_to(SRC).parts
        lines = lines_of(path)
        found[parts[0] if len(parts) > 1 else "(top)"].append(lines)
        if parts[0] in INNER:
            found[f"{parts[0]}/{parts[1] if len(parts) > 2 else ''}"].append(lines)
    return {room: (sum(lines), len(lines)) for room, lines in found.items()}


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def twice() -> dict[str, int]:
    """Public classes and type aliases that several modules define."""
    return {name: len(where) for name, where in sorted(types_by_name().items()) if len(where) > 1}


FIRST = "the first house: study/ the largest room with 7,000 lines in 49 files, 4 circles, 23 type names twice"


def main() -> None:
    found = rooms()
    print(FIRST)
    outer = {room: size for room, size in found.items() if "/" not in room}
    print(f"now: {sum(n for n, _ in outer.values()):,} lines in {sum(k for _, k in outer.values())} files")
    for room in sorted(outer, key=lambda room: -outer[room][0]):
        for one in (room, *sorted(inner for inner in found if inner.startswith(room + "/"))):
            lines, files = found[one]
            print(f"{'  ' * ('/' in one) + one:<22}{lines:>7,} lines {files:>4} files")
    undivided = {room: size for room, size in found.items() if room not in INNER}
    largest = max(undivided, key=lambda room: undivided[room][0])
    print(f"largest room: {largest}, {found[largest][0]:,} lines in {found[largest][1]} files")
    print(f"circles: {', '.join(sorted(circles(modules()))) or 'none'}")
    doubled = twice()
    print(
        f"public type names defined twice: {len(doubled)}", *(f"  {n} x{k}" for n, k in doubled.items()), sep="\n"
    )
    total = sum(found[room][0] for room in ANALYSIS if room in found)
    frames()
    print(f"analysis ({', '.join(ANALYSIS)}): {total:,} lines; before {BEFORE:,}, wanted at most {MOST:,}")
    for what, later in LATER.items():
        lines = sum(lines_of(SRC / f"{module}.py") for module in later)
        total -= lines
        print(f"  {lines:>6,} for {what}")
    print(f"  {total:>6,} without these")


if __name__ == "__main__":
    main()
