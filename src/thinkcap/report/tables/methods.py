"""Shapes about methods made of several calls: side by side, against a reference, on the hard part, by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thinkcap.diagnose.findings import ArmSummary, summary
from thinkcap.diagnose.pairs import Comparison, matched_by
from thinkcap.logs.arms import Arm
from thinkcap.report.tables.modes import ci
from thinkcap.report.tables.select import Group, Want, escalated, same_questions, stages
from thinkcap.report.tables.table import BLANK, NOT_RUN, Column, Row
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
    Column("seed"),
)
_COMPARED = (
    "nothink",
    "think",
    "think[heuristic]",
    "vote",
    "gate",
    "town",
    "iris",
    "town_plus",
    "iris_plus",
    "mrsd",
)


def not_run(what: str, columns: Sequence[Column], key: dict[str, Any] | None = None) -> Row:
    return Row((what, *[NOT_RUN] * (len(columns) - 1)), key or {"method": what})


def listed(group: Group, want: Want, only: Sequence[str] = ()) -> list[Row]:
    """Every arm with its cost; methods nobody ran are named."""
    rows = []
    arms = [a for a in group.arms if a.policy != "answer_pass"]
    for arm in sorted(
        arms, key=lambda a: (a.tokens is None, float(np.mean(a.tokens)) if a.tokens is not None else 0)
    ):
        if only and arm.policy not in only:
            continue
        found = summary(arm)
        # Two runs of one method are told apart by their files.
        name = arm.label if sum(a.name == arm.name for a in arms) > 1 else arm.name
        seeds = sorted({a.seed for a in group.single if a.seed is not None and a.file == arm.file})
        cells = (name, cap(arm), arm.n, found.accuracy.k, found.accuracy.value, ci(found.accuracy))
        key = {"method": arm.name, "config": arm.name, "budget": arm.budget}
        rows.append(Row((*cells, spent(found), ", ".join(map(str, seeds)) or "not stored"), key, (arm,)))
    ran = {a.policy for a in group.arms} | {"vote" for a in group.arms if a.policy == "sc"}
    rows += [
        not_run(name, METHODS) for name in only or _COMPARED if name not in ran and name != "think[heuristic]"
    ]
    return rows


def main(group: Group, want: Want) -> list[Row]:
    return listed(group, want, ("nothink", "think", "town", "mrsd"))


AGAINST = (
    Column("method"),
    Column("cap", "count"),
    Column("n", "count"),
    Column("correct", "count"),
    Column("acc", "percent"),
    Column("tokens", "number"),
    Column("mrsd minus method", "points"),
    Column("mrsd only", "count"),
    Column("method only", "count"),
    Column("p", "p"),
)


def against(group: Group, want: Want) -> list[Row]:
    """Refinement against what it refines, on the same questions under the same cap."""
    refined = group.method("mrsd")
    if not refined:
        return [not_run("mrsd", AGAINST)]
    rows = []
    for mrsd in refined:
        others = [a for name in ("nothink", "town", "iris") for a in group.method(name) if _beside(a, mrsd)]
        for arm in (*others, mrsd):
            found = summary(arm)
            made = group.comparisons.between(mrsd.name, arm.name)
            compared = (BLANK,) * 4 if made is None else _tested(made)
            cells = (arm.name, cap(arm), arm.n, found.accuracy.k, found.accuracy.value, spent(found))
            key = {"method": arm.method, "budget": arm.budget}
            rows.append(Row((*cells, *compared), key, (arm,)))
    return rows


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


def hard(group: Group, want: Want) -> list[Row]:
    """On the questions the first try did not settle."""
    rows = []
    cascades = [a for a in group.method("town") if _escalation(group, a) is not None]
    for town in cascades:
        sent = _escalation(group, town)
        assert sent is not None
        for arm in (town, *(a for a in group.method("iris", "iris_plus", "mrsd") if _beside(a, town))):
            both = same_questions(town.take(sent), arm)
            if both is None or len(both[0].right) == 0:
                continue
            found = proportion(int(both[1].right.sum()), both[1].n)
            test = mcnemar(both[1].right, both[0].right) if arm is not town else None
            compared = (test.difference, test.only_first, test.only_second, test.p) if test else (BLANK,) * 4
            cells = (arm.name, cap(arm), found.n, found.k, found.value, ci(found))
            rows.append(Row((*cells, *compared), {"method": arm.method, "budget": arm.budget}, (arm,)))
    return rows or [not_run("town with its stages", HARD)]


def _beside(arm: Arm, other: Arm) -> bool:
    return matched_by(arm, other) is not None and arm.file == other.file


def _escalation(group: Group, town: Arm) -> np.ndarray | None:
    """Its own stages; a log may keep them with another method of the same run, whose first try is the same."""
    found = escalated(town)
    if found is not None:
        return found
    for arm in group.method("mrsd", "iris"):
        if _beside(arm, town) and arm.n == town.n and np.array_equal(arm.question, town.question):
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


def by_stage(group: Group, want: Want) -> list[Row]:
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


IMPROVED = (
    Column("benchmark"),
    Column("cap", "count"),
    Column("n", "count"),
    Column("baseline", "percent"),
    Column("improved", "percent"),
    Column("difference", "points"),
    Column("improved only", "count"),
    Column("baseline only", "count"),
    Column("p", "p"),
    Column("arms"),
)


def improved(group: Group, want: Want) -> list[Row]:
    """IRIS against IRIS+, or two answer budgets of one IRIS."""
    rows = []
    plain, plus = group.method("iris"), group.method("iris_plus")
    pairs = [(a, b) for a in plain for b in plus]
    pairs += [(a, b) for a in plain for b in plain if _answer(a) < _answer(b)]
    for one, two in pairs:
        both, made = same_questions(one, two), group.comparisons.between(two.name, one.name)
        if both is None or made is None:
            continue
        test = made.result.test
        a, b = (float(x.right.mean()) for x in both)
        cells = (group.task or "not stored", one.budget, test.n, a, b, test.difference)
        names = f"{one.label} / {two.label}" if one.file != two.file else f"{one.name} / {two.name}"
        key = {"benchmark": group.task, "B2": one.budget}
        rows.append(Row((*cells, *_tested(made)[1:], names), key, tuple(both)))
    return rows or [not_run("iris and iris_plus", IMPROVED)]


def _tested(made: Comparison) -> tuple[float, int, int, float]:
    test = made.result.test
    return test.difference, test.only_first, test.only_second, made.p_holm


def _answer(arm: Arm) -> int:
    return arm.stages.answer or 0
