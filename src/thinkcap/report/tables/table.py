"""A table: columns that know how their values are written, rows that know where they came from.

Table("demo", "A demo", columns("method, acc: percent"), (TableRow(("iris", 0.931)),)).texts()
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from thinkcap.core.types import EMPTY
from thinkcap.logs import Arm

CellKind = Literal["text", "count", "percent", "points", "share", "number", "p", "interval"]


class NotRun:
    """Stands where a number would be if somebody had run it. It is no number, and no None: None is undefined."""

    def __repr__(self) -> str:
        return "not run"


NOT_RUN = NotRun()
BLANK = ""
"""Where a row has no such value: a reference is not compared with itself."""


@dataclass(frozen=True)
class Column:
    name: str
    kind: CellKind = "text"
    """percent and points are kept as shares (0.931) and written times 100; an interval is a pair of shares."""


def columns(declared: str) -> tuple[Column, ...]:
    """`"method, cap: count, acc: percent"`: names with the kind of their values, text where none is given."""
    found = []
    for word in declared.split(", "):
        name, _, kind = word.partition(": ")
        assert kind in ("", *get_args(CellKind)), word
        found.append(Column(name, cast(CellKind, kind or "text")))
    return tuple(found)


@dataclass(frozen=True)
class TableRow:
    cells: tuple[Any, ...]
    key: Mapping[str, Any] = EMPTY
    """What names the row within its table: mode, budget, method, level ..."""
    arms: tuple[Arm, ...] = ()
    """The records it was computed from."""


def not_run(columns: Sequence[Column], *known: Any, key: Mapping[str, Any] = EMPTY) -> TableRow:
    """A row of which only the first cells are known; what is missing was not run."""
    return TableRow((*known, *[NOT_RUN] * (len(columns) - len(known))), key)


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()
    flagged: frozenset[int] = field(default_factory=frozenset)
    """Rows from other hardware than most of the table."""

    def texts(self) -> list[list[str]]:
        return [
            [written(value, column.kind) for value, column in zip(row.cells, self.columns, strict=True)]
            for row in self.rows
        ]

    @property
    def empty(self) -> bool:
        """No row was made from records."""
        return all(not row.arms and any(cell is NOT_RUN for cell in row.cells) for row in self.rows)

    def column(self, name: str) -> list[Any]:
        at = [c.name for c in self.columns].index(name)
        return [row.cells[at] for row in self.rows]


def written(value: Any, kind: CellKind) -> str:
    if value is NOT_RUN:
        return "not run"
    if value is None:
        return "undefined"
    if isinstance(value, str):
        return value
    if kind == "interval":
        low, high = value
        return "undefined" if low is None else f"{_fixed(100 * low, 1)} to {_fixed(100 * high, 1)}"
    if kind in ("percent", "points"):
        return _fixed(100 * value, 1)
    if kind == "share":
        return _fixed(value, 3)
    if kind == "number":
        return f"{value:,.0f}" if abs(value) >= 1000 else _fixed(value, 1).removesuffix(".0")
    if kind == "p":
        return f"{value:.2g}" if value >= 1e-4 else f"{value:.0e}"
    return str(value)


def _fixed(value: float, digits: int) -> str:
    if math.isnan(value):
        return "undefined"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def plain(value: Any, kind: CellKind) -> list[str]:
    """For CSV: full precision, percents as percents, an interval as two values."""
    if value is NOT_RUN:
        return ["not run"] * (2 if kind == "interval" else 1)
    if isinstance(value, str):
        return [value] * (2 if kind == "interval" else 1)
    if kind == "interval":
        low, high = value if value is not None else (None, None)
        return [*plain(low, "percent"), *plain(high, "percent")]
    if value is None:
        return [""]
    if kind in ("percent", "points"):
        return [f"{100 * value:.6f}".rstrip("0").rstrip(".")]
    if isinstance(value, float):
        return [f"{value:.10g}"]
    return [str(value)]
