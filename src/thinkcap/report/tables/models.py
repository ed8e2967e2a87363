"""Shapes over all models and runs: tax by size, what stopping by itself tells, what was run at all."""

from __future__ import annotations

from collections.abc import Sequence

from thinkcap.diagnose.findings import summary
from thinkcap.logs.arms import Arm
from thinkcap.paper.statistics.all import size_of
from thinkcap.report.tables.modes import gap
from thinkcap.report.tables.select import Group, Want
from thinkcap.report.tables.table import NOT_RUN, Column, Row
from thinkcap.statistics.arrays import Bools
from thinkcap.statistics.decompose import decompose

SIZES = (
    Column("model"),
    Column("size"),
    Column("task"),
    Column("budget", "count"),
    Column("n", "count"),
    Column("nothink", "percent"),
    Column("think", "percent"),
    Column("tax", "points"),
    Column("tax 95 %", "interval"),
    Column("ended", "percent"),
)


def sizes(every: Sequence[Group], want: Want) -> list[Row]:
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
            rows.append(Row(cells, key, tuple(a for a in (one, two) if a is not None)))
    return rows


def _billions(model: str) -> float:
    size = size_of(model)
    return float(size[:-1]) if size else 0.0


ORACLE = (
    Column("model"),
    Column("task"),
    Column("config"),
    Column("criterion"),
    Column("n", "count"),
    Column("stopped", "count"),
    Column("rate", "percent"),
    Column("right where stopped", "percent"),
    Column("right where cut", "percent"),
    Column("difference", "points"),
)


def stopping(every: Sequence[Group], want: Want) -> list[Row]:
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
                    rows.append(Row((*cells, parts.ended, parts.ended_share, a, b, apart), key, (arm,)))
    missing = ("no arm tells which answers ended", *[NOT_RUN] * (len(ORACLE) - 1))
    return rows or [Row(missing)]


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


RUN = (
    Column("task"),
    Column("model"),
    Column("method"),
    Column("budgets"),
    Column("n", "count"),
    Column("failed", "count"),
    Column("unreadable", "count"),
    Column("seeds"),
    Column("status"),
    Column("file"),
)


def accounted(every: Sequence[Group], want: Want) -> list[Row]:
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
            rows.append(Row(cells, {"method": policy, "benchmark": group.task}, tuple(arms)))
    return rows
