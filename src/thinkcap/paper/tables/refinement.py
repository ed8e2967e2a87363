"""Methods of the paper side by side, refinement against what it refines, and the stronger answer pass."""

from __future__ import annotations

from collections.abc import Sequence

from thinkcap.diagnose.findings import summary
from thinkcap.diagnose.pairs import Comparison
from thinkcap.logs.arms import Arm
from thinkcap.report.tables.methods import METHODS, beside, cap, listed, not_run, spent
from thinkcap.report.tables.modes import Budgets
from thinkcap.report.tables.select import Group, same_questions
from thinkcap.report.tables.table import BLANK, Column, Row

_ALL = ("nothink", "think", "vote", "gate", "town", "iris", "town_plus", "iris_plus", "mrsd")
_MAIN = ("nothink", "think", "town", "mrsd")


def by_cost(group: Group, chosen: Budgets = ()) -> list[Row]:
    return _with_missing(group, _ALL, listed(group))


def main(group: Group, chosen: Budgets = ()) -> list[Row]:
    return _with_missing(group, _MAIN, [r for r in listed(group) if r.arms[0].policy.partition("[")[0] in _MAIN])


def _with_missing(group: Group, wanted: Sequence[str], rows: list[Row]) -> list[Row]:
    """Methods nobody ran are named."""
    ran = {a.policy.partition("[")[0] for a in group.arms} | {"vote" for a in group.arms if a.policy == "sc"}
    return rows + [not_run(name, METHODS) for name in wanted if name not in ran]


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


def against(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Refinement against what it refines, on the same questions under the same cap."""
    refined = group.method("mrsd")
    if not refined:
        return [not_run("mrsd", AGAINST)]
    rows = []
    for mrsd in refined:
        others = [a for name in ("nothink", "town", "iris") for a in group.method(name) if beside(a, mrsd)]
        for arm in (*others, mrsd):
            found = summary(arm)
            made = group.comparisons.between(mrsd.name, arm.name)
            compared = (BLANK,) * 4 if made is None else _tested(made)
            cells = (arm.name, cap(arm), arm.n, found.accuracy.k, found.accuracy.value, spent(found))
            used = (arm,) if arm is mrsd else (arm, mrsd)
            rows.append(Row((*cells, *compared), {"method": arm.method, "budget": arm.budget}, used))
    return rows


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


def improved(group: Group, chosen: Budgets = ()) -> list[Row]:
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
