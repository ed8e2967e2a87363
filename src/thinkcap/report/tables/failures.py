"""What goes wrong in a cascade."""

from __future__ import annotations

from thinkcap.logs.arms import Arm
from thinkcap.report.tables.methods import not_run
from thinkcap.report.tables.modes import Budgets
from thinkcap.report.tables.select import Group, escalated, same_questions
from thinkcap.report.tables.table import Column, Row
from thinkcap.statistics.taxonomy import failures

FAILED = (Column("failure"), Column("method"), Column("count", "count"), Column("share of wrong", "percent"))


def failed(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Wrong answers of the refining cascade by cause; they add up."""
    rows = []
    for arm in group.method("mrsd") or group.method("iris"):
        sent = escalated(arm)
        first = _first_try(group, arm)
        if sent is None or first is None:
            continue
        both = same_questions(arm, first)
        if both is None or both[0].n != arm.n:
            continue
        found = failures(both[0].right, sent, both[1].right)
        parts = (
            ("F1 first try accepted, wrong", found.false_accept),
            ("F2 escalated, still wrong", found.still_wrong),
            ("F3 first try was right, lost", found.regression),
        )
        for name, count in parts:
            share = count / found.wrong if found.wrong else None
            rows.append(Row((name, arm.name, count, share), {"failure": name[:2]}, (arm,)))
    return rows or [not_run("mrsd with nothink at its first budget", FAILED)]


def _first_try(group: Group, arm: Arm) -> Arm | None:
    if arm.budget is None:
        return next((a for a in group.arms if a.method == "nothink" and a.file == arm.file), None)
    first = arm.stages.first or max(1, round(arm.budget * 0.25))
    return group.series("nothink").get(first)
