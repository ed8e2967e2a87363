"""Shapes about effort: accuracy by difficulty, the time an answer takes, the least cap that is enough."""

from __future__ import annotations

import numpy as np

from thinkcap.report.tables.modes import MODES, Budgets, budgets, ci, missing
from thinkcap.report.tables.select import Group, same_questions
from thinkcap.report.tables.table import BLANK, Column, Row
from thinkcap.statistics.frontier import frontier
from thinkcap.statistics.precision import proportion

LEVELS = (
    Column("level"),
    Column("config"),
    Column("budget", "count"),
    Column("n", "count"),
    Column("acc", "percent"),
    Column("95 %", "interval"),
)


def levels(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Accuracy by difficulty level, or by group where no level is stored."""
    rows = []
    for mode in MODES:
        series = group.series(mode)
        for b in [b for b in budgets(chosen, series) if b in series]:
            arm = series[b]
            name = next((k for k in ("level", "group") if k in arm.extra), None)
            if name is None:
                continue
            marks = arm.extra[name].astype(str)
            for mark in sorted(set(marks)):
                here = marks == mark
                found = proportion(int(arm.right[here].sum()), int(here.sum()))
                key = {"level": mark, "config": f"{mode}@{b}"}
                rows.append(Row((mark, arm.name, b, found.n, found.value, ci(found)), key, (arm,)))
    return rows or [missing(("level or group is not stored",), LEVELS, {})]


TIME = (
    Column("method"),
    Column("cap", "count"),
    Column("n", "count"),
    Column("timed", "count"),
    Column("seconds", "share"),
    Column("median", "share"),
    Column("95 of 100 within", "share"),
    Column("ms per token", "number"),
)


def times(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Seconds an answer took, its calls together, waiting included; a cut chain counts by its share of tokens."""
    rows = []
    for arm in group.arms:
        if "wall_s" not in arm.extra:
            continue
        every = arm.extra["wall_s"].astype(np.float64)
        known = np.isfinite(every)
        if not known.any():
            continue
        seconds = every[known]
        spent = float(arm.tokens[known].sum()) if arm.tokens is not None else 0.0
        pace = 1000 * float(seconds.sum()) / spent if spent else "not stored"
        middle, late = (float(q) for q in np.quantile(seconds, (0.5, 0.95)))
        cells = (arm.name, "not stored" if arm.budget is None else arm.budget, arm.n, len(seconds))
        rows.append(Row((*cells, float(seconds.mean()), middle, late, pace), {"method": arm.name}, (arm,)))
    return rows or [missing(("no row stores how long it took",), TIME, {})]


TIERS = (
    Column("category"),
    Column("least budget"),
    Column("count", "count"),
    Column("share", "percent"),
    Column("cumulative", "percent"),
)


def tiers(group: Group, chosen: Budgets = ()) -> list[Row]:
    """The least budget at which thinking is right, and the oracle's mean cap, unsolved ones charged or skipped."""
    series = group.series("think")
    kept = [b for b in budgets(chosen, series) if b in series]
    both = same_questions(*(series[b] for b in kept)) if len(kept) > 1 else None
    if both is None:
        return [missing(("think at two budgets or more, on the same questions",), TIERS, {})]
    found = frontier(kept, np.stack([a.right for a in both], axis=1))
    names = ("easy", "medium", "hard") if len(kept) == 3 else tuple(f"tier {i + 1}" for i in range(len(kept)))
    arms, rows, total = tuple(both), [], 0
    for name, b in zip(names, kept, strict=True):
        count = found.by_budget[b]
        total += count
        rows.append(Row((name, str(b), count, count / found.n, total / found.n), {"category": name}, arms))
    none = found.by_budget[0]
    rows.append(Row(("impossible", "none", none, none / found.n, BLANK), {"category": "impossible"}, arms))
    charged, skipped = f"{found.cost_charged:.0f}", f"{found.cost_skipped:.0f}"
    solved = found.solved / found.n
    rows.append(
        Row(
            (f"oracle: mean cap {charged}, unsolved skipped {skipped}", "", found.solved, solved, solved), {}, arms
        )
    )
    return rows
