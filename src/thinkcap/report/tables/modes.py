"""Shapes about the two plain modes: sweeps, gaps, causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from thinkcap.diagnose.findings import summary
from thinkcap.diagnose.pairs import Comparison
from thinkcap.logs import COUNTED, Arm
from thinkcap.report.tables.select import ModelTask, same_questions
from thinkcap.report.tables.table import BLANK, NOT_RUN, TableRow, columns, not_run
from thinkcap.statistics.decompose import decompose, tax
from thinkcap.statistics.precision import Proportion
from thinkcap.statistics.predict import held_out
from thinkcap.statistics.survival import survival

MODES = ("nothink", "think")


ShownBudgets = Sequence[int]
"""Which budgets a table is to show; all there are where empty."""


def budgets(chosen: ShownBudgets, *series: dict[int, Arm]) -> list[int]:
    """The chosen ones where any of them ran, otherwise all there are."""
    have = {b for s in series for b in s}
    return list(chosen) if have & set(chosen) else sorted(have)


def ci(found: Proportion) -> tuple[float | None, float | None]:
    return found.low, found.high


SWEEP = columns(
    "config, budget: count, n: count, correct: count, acc: percent, 95 %: interval, tokens: number, "
    "ended: percent, stated: percent, tax: points"
)


def sweep(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Both modes at every budget; the tax where both ran on the same questions. One-mode groups lack the other."""
    series = {mode: group.series(mode) for mode in MODES}
    rows = []
    for mode in MODES:
        for b in budgets(chosen, *series.values()):
            arm = series[mode].get(b)
            key = {"mode": mode, "budget": b, "config": f"{mode}@{b}"}
            if arm is None:
                rows.append(not_run(SWEEP, f"{mode}@{b}", b, key=key))
                continue
            found = summary(arm)
            cost: Any = BLANK if mode == "nothink" else NOT_RUN
            if mode == "think" and b in series["nothink"] and (both := same_questions(series["nothink"][b], arm)):
                cost = float(both[0].right.mean() - both[1].right.mean())
            stated = float(np.mean(arm.extra["has_final"])) if "has_final" in arm.extra else "not stored"
            ended = found.parts.ended_share if found.parts else None
            cells = (arm.name, b, arm.n, found.accuracy.k, found.accuracy.value, ci(found.accuracy))
            rows.append(TableRow((*cells, found.mean_tokens, ended, stated, cost), key, (arm,)))
    return rows


GAPS = columns(
    "task, budget: count, n: count, nothink: percent, nothink 95 %: interval, think: percent, "
    "think 95 %: interval, gap: points, gap 95 %: interval, only nothink: count, only think: count, "
    "p (Holm): p, token ratio: share"
)


def gap(group: ModelTask, nothink: Arm, think: Arm) -> tuple[list[Arm], Comparison] | None:
    """nothink minus think, as the diagnosis compares them."""
    both, found = same_questions(nothink, think), group.comparisons.between(nothink.name, think.name)
    return None if both is None or found is None else (both, found)


def gaps(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    direct, thought = group.series("nothink"), group.series("think")
    rows = []
    for b in budgets(chosen, direct, thought):
        key = {"budget": b, "task": group.task}
        found = gap(group, direct[b], thought[b]) if b in direct and b in thought else None
        if found is None:
            arms = [direct.get(b), thought.get(b)]
            used = tuple(a for a in arms if a is not None)
            shown: list[Any] = [group.task, b, max((a.n for a in used), default=NOT_RUN)]
            for arm in arms:
                shown += [NOT_RUN, NOT_RUN] if arm is None else [arm.accuracy.value, ci(arm.accuracy)]
            rows.append(replace(not_run(GAPS, *shown, key=key), arms=used))
            continue
        (one, two), made = found
        a, c = one.accuracy, two.accuracy
        test = made.result.test
        ratio = None
        if one.tokens is not None and two.tokens is not None and one.tokens.mean() > 0:
            ratio = float(two.tokens.mean() / one.tokens.mean())
        shares = (a.value, ci(a), c.value, ci(c), test.difference, (made.result.low, made.result.high))
        counts = (test.only_first, test.only_second)
        rows.append(TableRow((group.task, b, test.n, *shares, *counts, made.p_holm, ratio), key, (one, two)))
    return rows


CAUSES = columns(
    "config, budget: count, F: share, alpha_c: share, alpha_t: share, predicted: percent, "
    "observed: percent, held out: percent, tax: points, truncation: points, reasoning: points, regime"
)


def causes(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Accuracy from its parts, from the parts of the budget before, and the loss by cause."""
    direct, thought = group.series("nothink"), group.series("think")
    known = {b: a for b, a in thought.items() if a.ended is not None}
    longest = known[max(known)] if known else None
    curve = survival(longest.lengths, longest.ends) if longest is not None and longest.tokens is not None else None
    rows = []
    before = dict(pairwise(known)) if len(known) > 1 else {}
    previous = {after: b for b, after in before.items()}
    for b in budgets(chosen, thought):
        key = {"budget": b, "config": f"think@{b}"}
        if b not in known:
            rows.append(not_run(CAUSES, f"think@{b}", b, key=key))
            continue
        arm, parts = known[b], decompose(known[b].ends, known[b].right)
        guess = None
        if curve is not None and b in previous:
            fit = decompose(known[previous[b]].ends, known[previous[b]].right)
            ending = curve.below(b) if arm.criterion == COUNTED else curve.at(b)
            guess = held_out(ending, fit.alpha_c, fit.alpha_t)
        cells: list[Any] = [f"think@{b}", b, parts.ended_share, parts.alpha_c, parts.alpha_t]
        cells += [parts.rebuilt, parts.accuracy, guess]
        both = same_questions(direct[b], arm) if b in direct else None
        if both is None:
            cells += [NOT_RUN] * 4
        else:
            cost = tax(both[0].right, both[1].ends, both[1].right, both[0].repeats)
            cells += [cost.tax, cost.truncation_loss, cost.reasoning_gap, cost.regime]
        rows.append(TableRow(tuple(cells), key, (arm,)))
    return rows
