"""The tax by the size of the model, and how much of the cap is used."""

from __future__ import annotations

from collections.abc import Sequence

from thinkcap.diagnose.findings import summary
from thinkcap.paper.statistics.all import size_of
from thinkcap.report.tables.modes import ShownBudgets, gap
from thinkcap.report.tables.select import ModelTask
from thinkcap.report.tables.table import NOT_RUN, TableRow, columns, not_run

SIZES = columns(
    "model, size, task, budget: count, n: count, nothink: percent, think: percent, tax: points, "
    "tax 95 %: interval, ended: percent"
)


def sizes(every: Sequence[ModelTask], chosen: ShownBudgets = ()) -> list[TableRow]:
    """Both modes of every model, smallest first; a mode that was not run is said to be so."""
    rows = []
    for group in sorted(every, key=lambda g: (g.task, _billions(g.model), g.model)):
        direct, thought = group.series("nothink"), group.series("think")
        for b in sorted(set(direct) | set(thought)):
            one, two = direct.get(b), thought.get(b)
            found = gap(group, one, two) if one is not None and two is not None else None
            parts = summary(two).parts if two is not None else None
            cells = (
                group.model or "not stored",
                size_of(group.model) or "unknown",
                group.task or "not stored",
                b,
                found[1].n if found else max(a.n for a in (one, two) if a is not None),
                float((found[0][0] if found else one).right.mean()) if one is not None else NOT_RUN,
                float((found[0][1] if found else two).right.mean()) if two is not None else NOT_RUN,
                found[1].difference if found else NOT_RUN,
                (found[1].result.low, found[1].result.high) if found else NOT_RUN,
                parts.ended_share if parts is not None else (NOT_RUN if two is None else None),
            )
            key = {"model": group.model, "budget": b}
            rows.append(TableRow(cells, key, tuple(a for a in (one, two) if a is not None)))
    return rows


def _billions(model: str) -> float:
    size = size_of(model)
    return float(size[:-1]) if size else 0.0


USED = columns("config, budget: count, n: count, tokens: number, used: percent, ended: percent")


def used(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    rows = []
    for mode in ("think", "nothink"):
        for b, arm in group.series(mode).items():
            found = summary(arm)
            ended = found.parts.ended_share if found.parts else None
            part = None if found.mean_tokens is None else found.mean_tokens / b
            key = {"budget": b, "mode": mode}
            rows.append(TableRow((arm.name, b, arm.n, found.mean_tokens, part, ended), key, (arm,)))
    return rows or [not_run(USED, "think")]
