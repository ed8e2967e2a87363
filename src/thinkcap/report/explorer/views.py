"""The numbers behind the charts, for the whole task and for every group in it, by the functions of diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.findings import Findings
from thinkcap.diagnose.pairs import matched
from thinkcap.logs import Arm
from thinkcap.report.tables.select import ModelTask, same_questions
from thinkcap.statistics.arrays import Bools
from thinkcap.statistics.decompose import tax
from thinkcap.statistics.frontier import frontier
from thinkcap.statistics.hazard import FEW
from thinkcap.statistics.paired import difference
from thinkcap.statistics.precision import Proportion
from thinkcap.statistics.survival import survival

_MOST_STEPS = 240
_MOST_GROUPS = 24


def views(
    group: ModelTask, found: Findings | None, budgets: Sequence[int], policies: Sequence[str]
) -> list[dict[str, Any]]:
    """The first is the whole task; the others are its groups, where it has some but not too many."""
    made = [_view(group, None, budgets, policies) | {"hazard": _hazard(found)}]
    names = sorted({str(g) for arm in group.arms for g in set(arm.extra.get("group", ())) if str(g)})
    if 1 < len(names) <= _MOST_GROUPS:
        made += [_view(_part(group, name), name, budgets, policies) for name in names]
    return made


def _part(group: ModelTask, name: str) -> ModelTask:
    arms = (a.take(_in(a, name)) for a in group.single if "group" in a.extra)
    return ModelTask(group.model, group.task, tuple(a for a in arms if a.n))


def _in(arm: Arm, name: str) -> Bools:
    return np.asarray(arm.extra["group"].astype(str) == name, dtype=np.bool_)


def _view(group: ModelTask, name: str | None, budgets: Sequence[int], policies: Sequence[str]) -> dict[str, Any]:
    by = {(a.method, a.budget): a for a in group.arms}
    direct, thought = group.series("nothink"), group.series("think")
    return {
        "task": group.task,
        "group": name,
        "cells": {p: [_cell(by[p, b]) if (p, b) in by else None for b in budgets] for p in policies},
        "loss": [_loss(direct.get(b), thought.get(b)) for b in budgets],
        "lengths": _lengths(group),
        "tiers": _tiers(group),
    }


def _cell(arm: Arm) -> list[float | int | None]:
    tokens = float(arm.lengths.mean()) if arm.tokens is not None else None
    trials = arm.extra.get("trial_tokens")
    claimed = tokens if tokens is None or trials is None else tokens - float(trials.mean())
    ended = float(arm.ended.mean()) if arm.ended is not None else None
    counts = (arm.accuracy, arm.failed, arm.unreadable)
    return shown_cell(*counts, tokens=tokens, claimed=claimed, ended=ended, budget=arm.budget)


def shown_cell(
    found: Proportion,
    failed: int,
    unreadable: int,
    *,
    tokens: float | None,
    claimed: float | None,
    ended: float | None,
    budget: int | None,
) -> list[float | int | None]:
    """right, n, accuracy, low, high, mean tokens, ended, used, failed, unreadable, mean tokens without trials"""
    used = tokens / budget if tokens is not None and budget else None
    shares = [_short(v) for v in (found.value, found.low, found.high, tokens, ended, used)]
    return [found.k, found.n, *shares, failed, unreadable, _short(claimed)]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _loss(nothink: Arm | None, think: Arm | None) -> list[float | None] | None:
    """tax, low, high, truncation, reasoning, share cut"""
    if nothink is None or think is None or think.ended is None:
        return None
    try:
        direct, thought, how = matched(nothink, think)
    except DataError:
        return None
    if direct.n == 0:
        return None
    gap = difference(direct.right, thought.right, how, direct.repeats)
    cost = tax(direct.right, thought.ends, thought.right, direct.repeats)
    parts = (cost.tax, gap.low, gap.high, cost.truncation_loss, cost.reasoning_gap, 1 - cost.think.ended_share)
    return [_short(v) for v in parts]


def _lengths(group: ModelTask) -> dict[str, Any] | None:
    thinking = {b: a for b, a in group.series("think").items() if a.ended is not None and a.tokens is not None}
    if not thinking:
        return None
    arm = thinking[max(thinking)]
    if arm.n == 0 or not arm.ends.any():
        return None
    curve = survival(arm.lengths, arm.ends, questions=arm.repeats)
    steps = curve.steps(_MOST_STEPS)
    x = [0, *(int(v) for v in curve.lengths[steps])]
    shares = (curve.share, curve.high, curve.low)
    columns = [[1.0, *(_short(1 - float(v)) for v in values[steps])] for values in shares]
    last = int(curve.last or 0)
    if last > x[-1]:
        x.append(last)
        columns = [[*c, c[-1]] for c in columns]
    cut = sorted({int(t) for t in arm.lengths[~arm.ends]})
    return {
        "x": x,
        "left": columns[0],
        "low": columns[1],
        "high": columns[2],
        "cut": [[c, _short(1 - curve.at(c))] for c in cut[:: max(1, len(cut) // 60)]],
        "median": [curve.median, *curve.quantile_interval()],
        "n": curve.n,
        "censored": curve.censored,
    }


def _tiers(group: ModelTask) -> dict[str, Any] | None:
    series = group.series("think")
    arms = same_questions(*series.values()) if len(series) > 1 else None
    if arms is None or arms[0].n == 0:
        return None
    found = frontier(list(series), np.stack([a.right for a in arms], axis=1))
    return {"n": found.n, "by": [[b, k] for b, k in found.by_budget.items()]}


def _hazard(found: Findings | None) -> dict[str, Any] | None:
    """Bins of start, stop, per token, low, high, chains at risk; a top for the chart, and how few are too few."""
    rate = found.lengths.hazard if found is not None and found.lengths else None
    if rate is None:
        return None
    bins = [[b.start, b.stop, b.per_token, b.low, b.high, b.at_risk] for b in rate.bins if b.per_token is not None]
    return {"bins": bins, "top": rate.ceiling, "few": FEW}
