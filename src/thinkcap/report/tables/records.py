"""Shapes over all models and runs: what stopping by itself tells, what was run at all."""

from __future__ import annotations

from collections.abc import Sequence

from thinkcap.logs import Arm
from thinkcap.report.tables.modes import ShownBudgets
from thinkcap.report.tables.select import ModelTask
from thinkcap.report.tables.table import TableRow, columns, not_run
from thinkcap.statistics.arrays import Bools
from thinkcap.statistics.decompose import decompose

ORACLE = columns(
    "model, task, config, criterion, n: count, stopped: count, rate: percent, "
    "right where stopped: percent, right where cut: percent, difference: points"
)


def stopping(every: Sequence[ModelTask], chosen: ShownBudgets = ()) -> list[TableRow]:
    """How good a sign of a right answer it is that a chain ended, by every way of telling that it did."""
    rows = []
    for group in every:
        for mode in ("nothink", "think"):
            for arm in group.series(mode).values():
                for criterion, event in _events(arm).items():
                    parts = decompose(event, arm.right)
                    a, b = parts.alpha_c, parts.alpha_t
                    apart = None if a is None or b is None else a - b
                    cells = (group.model or "not stored", group.task or "not stored", arm.name, criterion, arm.n)
                    key = {"model": group.model, "criterion": criterion, "config": arm.name}
                    rows.append(TableRow((*cells, parts.ended, parts.ended_share, a, b, apart), key, (arm,)))
    return rows or [not_run(ORACLE, "no arm says which answers ended")]


def _events(arm: Arm) -> dict[str, Bools]:
    events: dict[str, Bools] = {}
    if arm.ended is not None:
        events[arm.criterion] = arm.ended
    below, loose = arm.below(), arm.below(0.95)
    if below is not None:
        events.setdefault("tokens < b", below)
    if loose is not None:
        events["tokens < 0.95 b"] = loose
    if arm.flag is not None:
        events[f"stored flag ({arm.flag_rule or 'unknown rule'})"] = arm.flag
    return events


RUN = columns("task, model, method, budgets, n: count, failed: count, unreadable: count, seeds, status, file")


def accounted(every: Sequence[ModelTask], chosen: ShownBudgets = ()) -> list[TableRow]:
    rows = []
    for group in every:
        found: dict[tuple[str, str, str], list[Arm]] = {}
        for arm in group.single:
            found.setdefault((arm.method, arm.file, arm.status), []).append(arm)
        for (policy, file, status), arms in found.items():
            budgets = ", ".join(str(b) for b in sorted({a.budget for a in arms if a.budget is not None}))
            seeds = ", ".join(str(s) for s in sorted({a.seed for a in arms if a.seed is not None}))
            cells = (
                group.task or "not stored",
                group.model or "not stored",
                policy,
                budgets or "not stored",
                max(a.n for a in arms),
                sum(a.failed for a in arms),
                sum(a.unreadable for a in arms),
                seeds or "not stored",
                status,
                file,
            )
            rows.append(TableRow(cells, {"method": policy, "benchmark": group.task}, tuple(arms)))
    return rows
