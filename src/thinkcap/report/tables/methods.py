"""Methods of several calls: side by side, compared, on the hard part, by stage, and what goes wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinkcap.diagnose.escalation import causes_of_failure
from thinkcap.diagnose.findings import ArmSummary, summary
from thinkcap.diagnose.pairs import matched_by
from thinkcap.logs import Arm
from thinkcap.report.tables.modes import ShownBudgets, ci
from thinkcap.report.tables.select import ModelTask, escalated, same_questions, stages
from thinkcap.report.tables.table import BLANK, TableRow, columns, not_run
from thinkcap.statistics.arrays import share
from thinkcap.statistics.paired import McNemar, holm, mcnemar
from thinkcap.statistics.precision import Proportion


def cap(arm: Arm) -> int | str:
    return "not stored" if arm.budget is None else arm.budget


def spent(found: ArmSummary) -> float | str:
    return "not stored" if found.mean_tokens is None else found.mean_tokens


METHODS = columns(
    "method, cap: count, n: count, correct: count, acc: percent, 95 %: interval, tokens: number, "
    "of the cap: percent, seed"
)


def listed(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Every arm with its cost, the cheapest first."""
    rows = []
    arms = [a for a in group.arms if a.policy != "answer_pass"]
    for arm in sorted(arms, key=lambda a: (a.tokens is None, 0.0 if a.tokens is None else float(a.tokens.mean()))):
        found = summary(arm)
        # Two runs of one method are told apart by their files.
        name = arm.label if sum(a.name == arm.name for a in arms) > 1 else arm.name
        seeds = sorted({a.seed for a in group.single if a.seed is not None and a.file == arm.file})
        part = None if found.mean_tokens is None or not arm.budget else found.mean_tokens / arm.budget
        cells = (name, cap(arm), arm.n, found.accuracy.k, found.accuracy.value, ci(found.accuracy))
        key = {"method": arm.name, "config": arm.name, "budget": arm.budget}
        said = ", ".join(map(str, seeds)) or "not stored"
        rows.append(TableRow((*cells, spent(found), "not stored" if part is None else part, said), key, (arm,)))
    return rows


COMPARED = columns(
    "first, second, matched by, n: count, only first: count, only second: count, difference: points, "
    "95 %: interval, p (Holm): p"
)


def compared(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Every comparison of the diagnosis, the largest difference first."""
    rows = []
    arms = {a.name: a for a in group.arms}
    for made in sorted(group.comparisons.made, key=lambda c: (-abs(c.difference), c.first, c.second)):
        test, both = made.result.test, tuple(arms[n] for n in (made.first, made.second) if n in arms)
        cells = (made.first, made.second, made.matched_by, test.n, test.only_first, test.only_second)
        rows.append(
            TableRow((*cells, test.difference, (made.result.low, made.result.high), made.p_holm), {}, both)
        )
    return rows or [not_run(COMPARED, "two methods under one cap or with the same stages")]


HARD = columns(
    "method, cap: count, escalated: count, correct: count, acc: percent, 95 %: interval, "
    "minus town: points, method only: count, town only: count, p (Holm): p"
)


def hard(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """On the questions the first try did not settle. The tests of this table are a family of their own."""
    shown: list[tuple[Arm, Proportion, McNemar | None]] = []
    for town in group.those(lambda known: known.coupled and not known.looks_again):
        sent = _escalation(group, town)
        if sent is None:
            continue
        answering = group.those(lambda known: known.cascade or known.refines)
        for arm in (town, *(a for a in answering if beside(a, town))):
            both = same_questions(town.take(sent), arm)
            if both is not None and both[0].n:
                test = mcnemar(both[1].right, both[0].right, both[0].repeats) if arm is not town else None
                shown.append((arm, both[1].accuracy, test))
    adjusted = holm({i: test.p for i, (_, _, test) in enumerate(shown) if test is not None})
    rows = []
    for i, (arm, found, test) in enumerate(shown):
        cells = (arm.name, cap(arm), found.n, found.k, found.value, ci(found))
        against: tuple[Any, ...] = (BLANK,) * 4
        if test is not None:
            against = (test.difference, test.only_first, test.only_second, adjusted[i])
        rows.append(TableRow((*cells, *against), {"method": arm.method, "budget": arm.budget}, (arm,)))
    return rows or [not_run(HARD, "town with its stages")]


def beside(arm: Arm, other: Arm) -> bool:
    return matched_by(arm, other) is not None and arm.file == other.file


def _escalation(group: ModelTask, town: Arm) -> np.ndarray | None:
    """Its own stages; a log may keep them with another method of the same run, whose first try is the same."""
    found = escalated(town)
    if found is not None:
        return found
    for arm in group.those(lambda known: known.cascade or known.refines):
        if beside(arm, town) and arm.n == town.n and np.array_equal(arm.question, town.question):
            found = escalated(arm)
            if found is not None:
                return found
    return None


STAGES = columns(
    "method, think budget, n: count, acc: percent, 95 %: interval, first try: count, "
    "chain complete: count, answer pass: count, answer pass acc: percent, answer pass 95 %: interval, "
    "complete of escalated: percent"
)


def by_stage(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    rows = []
    for arm in group.those(lambda known: known.cascade):
        stage = stages(arm)
        if stage is None:
            continue
        sizes = [int((stage == s).sum()) for s in (1, 2, 3)]
        third = arm.take(stage == 3).accuracy
        found = arm.accuracy
        sent = sizes[1] + sizes[2]
        budget = arm.stages.think
        cells = (arm.name, str(budget or "share of the cap"), arm.n, found.value, ci(found), *sizes)
        complete = share(sizes[1], sent)
        key = {"B_think": budget, "method": arm.method, "budget": arm.budget}
        rows.append(TableRow((*cells, third.value, ci(third), complete), key, (arm,)))
    return rows or [not_run(STAGES, "iris")]


FAILED = columns("failure, method, count: count, share of wrong: percent")


def failed(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Wrong answers of the refining cascade by cause; they add up."""
    rows = []
    for arm in group.those(lambda f: f.refines) or group.those(lambda f: f.cascade and not f.looks_again):
        found = causes_of_failure(arm, group.arms)
        if found is None:
            continue
        parts = (
            ("F1 first try accepted, wrong", found.false_accept),
            ("F2 escalated, still wrong", found.still_wrong),
            ("F3 first try was right, lost", found.regression),
        )
        for name, count in parts:
            cells = (name, arm.name, count, share(count, found.wrong))
            rows.append(TableRow(cells, {"failure": name[:2]}, (arm,)))
    return rows or [not_run(FAILED, "mrsd with nothink at its first budget")]
