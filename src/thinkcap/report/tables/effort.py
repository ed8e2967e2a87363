"""Shapes about effort: accuracy by difficulty, how much of a cap is used, the least cap that is enough."""

from __future__ import annotations

import numpy as np

from thinkcap.diagnose.findings import summary
from thinkcap.report.tables.modes import MODES, budgets, ci, missing
from thinkcap.report.tables.select import Group, Want, same_questions
from thinkcap.report.tables.table import BLANK, Column, Row
from thinkcap.statistics.cost import utilisation
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


def levels(group: Group, want: Want) -> list[Row]:
    """Accuracy by difficulty level, or by group where no level is stored."""
    rows = []
    for mode in MODES:
        series = group.series(mode)
        for b in [b for b in budgets(want, series) if b in series]:
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


USED = (
    Column("config"),
    Column("budget", "count"),
    Column("n", "count"),
    Column("tokens", "number"),
    Column("used", "percent"),
    Column("ended", "percent"),
)


def used(group: Group, want: Want) -> list[Row]:
    rows = []
    for mode in ("think", "nothink"):
        for b, arm in group.series(mode).items():
            found = summary(arm)
            ended = found.parts.ended_share if found.parts else None
            part = None if found.mean_tokens is None else utilisation(found.mean_tokens, b)
            key = {"budget": b, "mode": mode}
            rows.append(Row((arm.name, b, arm.n, found.mean_tokens, part, ended), key, (arm,)))
    return rows or [missing(("think",), USED, {})]


TIERS = (
    Column("category"),
    Column("least budget"),
    Column("count", "count"),
    Column("share", "percent"),
    Column("cumulative", "percent"),
)


def tiers(group: Group, want: Want) -> list[Row]:
    """The least budget at which thinking is right, and the oracle's mean cap, unsolved ones charged or skipped."""
    series = group.series("think")
    chosen = [b for b in budgets(want, series) if b in series]
    both = same_questions(*(series[b] for b in chosen)) if len(chosen) > 1 else None
    if both is None:
        return [missing(("think at two budgets or more, on the same questions",), TIERS, {})]
    found = frontier(chosen, np.stack([a.right for a in both], axis=1))
    names = ("easy", "medium", "hard") if len(chosen) == 3 else tuple(f"tier {i + 1}" for i in range(len(chosen)))
    arms, rows, total = tuple(both), [], 0
    for name, b in zip(names, chosen, strict=True):
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
