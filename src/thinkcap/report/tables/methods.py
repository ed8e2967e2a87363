"""Shapes about methods made of several calls: side by side, compared, on the hard part, by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thinkcap.diagnose.findings import ArmSummary, summary
from thinkcap.diagnose.pairs import matched_by
from thinkcap.logs.arms import Arm
from thinkcap.report.tables.modes import Budgets, ci
from thinkcap.report.tables.select import Group, escalated, same_questions, stages
from thinkcap.report.tables.table import BLANK, NOT_RUN, Column, Row
from thinkcap.statistics.cost import utilisation
from thinkcap.statistics.paired import mcnemar
from thinkcap.statistics.precision import proportion


def cap(arm: Arm) -> int | str:
    return "not stored" if arm.budget is None else arm.budget


def spent(found: ArmSummary) -> float | str:
    return "not stored" if found.mean_tokens is None else found.mean_tokens


METHODS = (
    Column("method"),
    Column("cap", "count"),
    Column("n", "count"),
    Column("correct", "count"),
    Column("acc", "percent"),
    Column("95 %", "interval"),
    Column("tokens", "number"),
    Column("of the cap", "percent"),
    Column("seed"),
)


def not_run(what: str, columns: Sequence[Column], key: dict[str, Any] | None = None) -> Row:
    return Row((what, *[NOT_RUN] * (len(columns) - 1)), key or {"method": what})


def listed(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Every arm with its cost, the cheapest first."""
    rows = []
    arms = [a for a in group.arms if a.policy != "answer_pass"]
    for arm in sorted(arms, key=lambda a: (a.tokens is None, 0.0 if a.tokens is None else float(a.tokens.mean()))):
        found = summary(arm)
        # Two runs of one method are told apart by their files.
        name = arm.label if sum(a.name == arm.name for a in arms) > 1 else arm.name
        seeds = sorted({a.seed for a in group.single if a.seed is not None and a.file == arm.file})
        part = None if found.mean_tokens is None or not arm.budget else utilisation(found.mean_tokens, arm.budget)
        cells = (name, cap(arm), arm.n, found.accuracy.k, found.accuracy.value, ci(found.accuracy))
        key = {"method": arm.name, "config": arm.name, "budget": arm.budget}
        said = ", ".join(map(str, seeds)) or "not stored"
        rows.append(Row((*cells, spent(found), "not stored" if part is None else part, said), key, (arm,)))
    return rows


COMPARED = (
    Column("first"),
    Column("second"),
    Column("matched by"),
    Column("n", "count"),
    Column("only first", "count"),
    Column("only second", "count"),
    Column("difference", "points"),
    Column("95 %", "interval"),
    Column("p (Holm)", "p"),
)


def compared(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Every comparison of the diagnosis, the largest difference first."""
    rows = []
    arms = {a.name: a for a in group.arms}
    for made in sorted(group.comparisons.made, key=lambda c: (-abs(c.difference), c.first, c.second)):
        test, both = made.result.test, tuple(arms[n] for n in (made.first, made.second) if n in arms)
        cells = (made.first, made.second, made.matched_by, test.n, test.only_first, test.only_second)
        rows.append(Row((*cells, test.difference, (made.result.low, made.result.high), made.p_holm), {}, both))
    return rows or [not_run("two methods under one cap or with the same stages", COMPARED)]


HARD = (
    Column("method"),
    Column("cap", "count"),
    Column("escalated", "count"),
    Column("correct", "count"),
    Column("acc", "percent"),
    Column("95 %", "interval"),
    Column("minus town", "points"),
    Column("method only", "count"),
    Column("town only", "count"),
    Column("p", "p"),
)


def hard(group: Group, chosen: Budgets = ()) -> list[Row]:
    """On the questions the first try did not settle."""
    rows = []
    cascades = [a for a in group.method("town") if _escalation(group, a) is not None]
    for town in cascades:
        sent = _escalation(group, town)
        assert sent is not None
        for arm in (town, *(a for a in group.method("iris", "iris_plus", "mrsd") if beside(a, town))):
            both = same_questions(town.take(sent), arm)
            if both is None or len(both[0].right) == 0:
                continue
            found = proportion(int(both[1].right.sum()), both[1].n)
            test = mcnemar(both[1].right, both[0].right) if arm is not town else None
            compared = (test.difference, test.only_first, test.only_second, test.p) if test else (BLANK,) * 4
            cells = (arm.name, cap(arm), found.n, found.k, found.value, ci(found))
            rows.append(Row((*cells, *compared), {"method": arm.method, "budget": arm.budget}, (arm,)))
    return rows or [not_run("town with its stages", HARD)]


def beside(arm: Arm, other: Arm) -> bool:
    return matched_by(arm, other) is not None and arm.file == other.file


def _escalation(group: Group, town: Arm) -> np.ndarray | None:
    """Its own stages; a log may keep them with another method of the same run, whose first try is the same."""
    found = escalated(town)
    if found is not None:
        return found
    for arm in group.method("mrsd", "iris"):
        if beside(arm, town) and arm.n == town.n and np.array_equal(arm.question, town.question):
            found = escalated(arm)
            if found is not None:
                return found
    return None


STAGES = (
    Column("method"),
    Column("think budget"),
    Column("n", "count"),
    Column("acc", "percent"),
    Column("95 %", "interval"),
    Column("first try", "count"),
    Column("chain complete", "count"),
    Column("answer pass", "count"),
    Column("answer pass acc", "percent"),
    Column("answer pass 95 %", "interval"),
    Column("complete of escalated", "percent"),
)


def by_stage(group: Group, chosen: Budgets = ()) -> list[Row]:
    rows = []
    for arm in group.method("iris", "iris_plus"):
        stage = stages(arm)
        if stage is None:
            continue
        sizes = [int((stage == s).sum()) for s in (1, 2, 3)]
        third = proportion(int(arm.right[stage == 3].sum()), sizes[2])
        found = proportion(int(arm.right.sum()), arm.n)
        sent = sizes[1] + sizes[2]
        budget = arm.stages.think
        cells = (arm.name, str(budget or "share of the cap"), arm.n, found.value, ci(found), *sizes)
        complete = sizes[1] / sent if sent else None
        key = {"B_think": budget, "method": arm.method, "budget": arm.budget}
        rows.append(Row((*cells, third.value, ci(third), complete), key, (arm,)))
    return rows or [not_run("iris", STAGES)]
