"""Shapes about effort: accuracy by difficulty, the time an answer takes, the least cap that is enough."""

from __future__ import annotations

import numpy as np

from thinkcap.report.tables.modes import MODES, ShownBudgets, budgets, ci
from thinkcap.report.tables.select import ModelTask, same_questions
from thinkcap.report.tables.table import BLANK, TableRow, columns, not_run
from thinkcap.statistics.frontier import frontier

LEVELS = columns("level or group, config, budget: count, n: count, acc: percent, 95 %: interval")


def levels(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Accuracy by difficulty level and by group, whichever the rows carry."""
    rows = []
    for mode in MODES:
        series = group.series(mode)
        for b in [b for b in budgets(chosen, series) if b in series]:
            arm = series[b]
            for name in (n for n in ("level", "group") if n in arm.extra):
                marks = arm.extra[name].astype(str)
                for mark in sorted(set(marks)):
                    found = arm.take(np.asarray(marks == mark)).accuracy
                    key = {"level": mark, "config": f"{mode}@{b}"}
                    rows.append(TableRow((mark, arm.name, b, found.n, found.value, ci(found)), key, (arm,)))
    return rows or [not_run(LEVELS, "level or group is not stored")]


TIME = columns(
    "method, cap: count, n: count, timed: count, seconds: share, median: share, 95th percentile: share, "
    "ms per token: number"
)


def times(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
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
        rows.append(TableRow((*cells, float(seconds.mean()), middle, late, pace), {"method": arm.name}, (arm,)))
    return rows or [not_run(TIME, "no row stores how long it took")]


TIERS = columns("category, least budget, count: count, share: percent, cumulative: percent")


def tiers(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """The smallest budget at which thinking is right, and an oracle's mean cap, unsolved ones charged or not."""
    series = group.series("think")
    kept = [b for b in budgets(chosen, series) if b in series]
    both = same_questions(*(series[b] for b in kept)) if len(kept) > 1 else None
    if both is None:
        return [not_run(TIERS, "think at two or more budgets, on the same questions")]
    found = frontier(kept, np.stack([a.right for a in both], axis=1))
    names = ("easy", "medium", "hard") if len(kept) == 3 else tuple(f"tier {i + 1}" for i in range(len(kept)))
    arms, rows, total = tuple(both), [], 0
    for name, b in zip(names, kept, strict=True):
        count = found.by_budget[b]
        total += count
        rows.append(TableRow((name, str(b), count, count / found.n, total / found.n), {"category": name}, arms))
    none = found.by_budget[0]
    rows.append(TableRow(("impossible", "none", none, none / found.n, BLANK), {"category": "impossible"}, arms))
    charged, skipped = f"{found.cost_charged:.0f}", f"{found.cost_skipped:.0f}"
    solved = found.solved / found.n
    rows.append(
        TableRow(
            (f"oracle: mean cap {charged}, unsolved skipped {skipped}", "", found.solved, solved, solved), {}, arms
        )
    )
    return rows
