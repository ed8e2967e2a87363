"""All methods of a study side by side at matched caps: accuracy, cost, stages, and paired tests against two marks.

The marks are `nothink` and `think` at the same cap; `iris` is also tested against `town`, its coupled twin. Holm's
correction runs over all tests of a cap.

    for line in compare(rows, summary["cells"]): ...
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thinkcap.statistics.paired import McNemar, holm, mcnemar
from thinkcap.study.rows import Row

MARKS = ("nothink", "think")
TWINS: Mapping[str, str] = {"iris": "town", "iris_plus": "town_plus"}


@dataclass(frozen=True)
class Comparison:
    """A method against another on the questions both answered."""

    against: str
    test: McNemar
    p_holm: float

    @property
    def text(self) -> str:
        word = "=" if self.p_holm >= 0.05 else "+" if self.test.difference > 0 else "-"
        return f"{word} {self.test.only_first}:{self.test.only_second} p={self.p_holm:.2g}"


@dataclass(frozen=True)
class Line:
    """One method at one cap of one task."""

    task: str
    cap: int
    policy: str
    cell: Mapping[str, Any]
    comparisons: tuple[Comparison, ...]

    def against(self, policy: str) -> Comparison | None:
        return next((c for c in self.comparisons if c.against == policy), None)


def compare(rows: Iterable[Row], cells: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Cells in their order, each with its tests. Rows of one study share questions and golds by construction."""
    right: dict[tuple[str, int, str], dict[tuple[str, int], bool]] = defaultdict(dict)
    for row in rows:
        if not row.failed:
            right[row.task, row.budget, row.policy][row.question, row.seed] = row.verdict == "right"
    lines = [
        Line(
            cell["task"],
            cell["budget"],
            cell["policy"],
            cell,
            tuple(_tests(right, cell["task"], cell["budget"], cell["policy"])),
        )
        for cell in cells
    ]
    corrected: list[Line] = []
    for task, cap in dict.fromkeys((line.task, line.cap) for line in lines):
        mine = [line for line in lines if (line.task, line.cap) == (task, cap)]
        adjusted = holm({_name(line, c): c.test.p for line in mine for c in line.comparisons})
        corrected += [
            replace(line, comparisons=tuple(replace(c, p_holm=adjusted[_name(line, c)]) for c in line.comparisons))
            for line in mine
        ]
    return corrected


def _name(line: Line, comparison: Comparison) -> str:
    return f"{line.policy} against {comparison.against}"


def _tests(
    right: Mapping[tuple[str, int, str], Mapping[tuple[str, int], bool]], task: str, cap: int, policy: str
) -> Iterable[Comparison]:
    mine = right.get((task, cap, policy), {})
    for other in (*MARKS, *([TWINS[policy]] if policy in TWINS else [])):
        theirs = right.get((task, cap, other), {})
        common = sorted(mine.keys() & theirs.keys())
        if other != policy and common:
            test = mcnemar([mine[k] for k in common], [theirs[k] for k in common])
            yield Comparison(other, test, test.p)
