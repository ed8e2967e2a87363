"""Thinking with a forced answer, whose tokens stand beside the cap."""

from __future__ import annotations

import numpy as np

from thinkcap.logs import Arm
from thinkcap.report.tables.modes import ShownBudgets, budgets, ci
from thinkcap.report.tables.select import ModelTask
from thinkcap.report.tables.table import NOT_RUN, TableRow, columns, not_run
from thinkcap.statistics.precision import proportion

PROJECTED = columns(
    "config, budget: count, n: count, acc: percent, 95 %: interval, tokens: number, "
    "tokens with projection: number, ended: percent, projected: percent"
)


def projected(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Thinking with a forced answer where the chain was cut; files of one model and task are pooled."""
    arms = [a for a in group.arms if "projected" in a.extra]
    arms = arms or [a for a in group.arms if a.policy == "think[projection]"]
    arms = arms or list(group.series("think").values())
    rows = []
    for b in budgets(chosen, {chain_budget(a): a for a in arms}):
        mine = [a for a in arms if chain_budget(a) == b]
        key = {"budget": b, "config": f"think@{b}"}
        if not mine:
            rows.append(not_run(PROJECTED, f"think@{b}", b, key=key))
            continue
        n, right = sum(a.n for a in mine), sum(int(a.right.sum()) for a in mine)
        found = proportion(right, n)
        tokens = np.concatenate([a.lengths for a in mine]) if all(a.tokens is not None for a in mine) else None
        extra = [a.extra.get("projection_tokens") for a in mine]
        forced = [_projected(a) for a in mine]
        none = any(f is None for f in forced)
        sent = NOT_RUN if none else sum(int(f.sum()) for f in forced if f is not None) / n
        spent = None if tokens is None else float(tokens.mean())
        total = spent
        if tokens is not None and all(e is not None for e in extra):
            total = float((tokens + np.concatenate([e for e in extra if e is not None])).mean())
        ended = sum(int(a.ends.sum()) for a in mine) / n if all(a.ended is not None for a in mine) else None
        apart = "not stored" if sent is not NOT_RUN and any(e is None for e in extra) else spent
        cells = (mine[0].name, b, n, found.value, ci(found), apart, total, ended, sent)
        rows.append(TableRow(cells, key, tuple(mine)))
    return rows


def chain_budget(arm: Arm) -> int:
    """The chain's own: a run that sets the forced tokens beside it has a larger cap."""
    return arm.stages.think or arm.budget or 0


def _projected(arm: Arm) -> np.ndarray | None:
    if "projected" in arm.extra:
        return np.asarray(arm.extra["projected"], dtype=np.bool_)
    if arm.policy == "think[projection]" and "stage" in arm.extra:
        return np.asarray(arm.extra["stage"].astype(str) == "project")
    return None
