"""Methods of the paper side by side, refinement against what it refines, and the stronger answer pass."""

from __future__ import annotations

from collections.abc import Sequence

from thinkcap.diagnose.findings import summary
from thinkcap.diagnose.pairs import Comparison
from thinkcap.logs import Arm
from thinkcap.report.tables.methods import METHODS, beside, cap, listed, spent
from thinkcap.report.tables.modes import ShownBudgets
from thinkcap.report.tables.select import ModelTask, same_questions
from thinkcap.report.tables.table import BLANK, TableRow, columns, not_run

_ALL = ("nothink", "think", "vote", "gate", "town", "iris", "town_plus", "iris_plus", "mrsd")
_MAIN = ("nothink", "think", "town", "mrsd")


def by_cost(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    return _with_missing(group, _ALL, listed(group))


def main(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    return _with_missing(group, _MAIN, [r for r in listed(group) if r.arms[0].policy.partition("[")[0] in _MAIN])


def _with_missing(group: ModelTask, wanted: Sequence[str], rows: list[TableRow]) -> list[TableRow]:
    """Methods nobody ran are named."""
    ran = {a.policy.partition("[")[0] for a in group.arms} | {"vote" for a in group.arms if a.policy == "sc"}
    return rows + [not_run(METHODS, name, key={"method": name}) for name in wanted if name not in ran]


AGAINST = columns(
    "method, cap: count, n: count, correct: count, acc: percent, tokens: number, "
    "mrsd minus method: points, mrsd only: count, method only: count, p (Holm): p"
)


def against(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Refinement against what it refines, on the same questions under the same cap."""
    refined = group.method("mrsd")
    if not refined:
        return [not_run(AGAINST, "mrsd")]
    rows = []
    for mrsd in refined:
        others = [a for name in ("nothink", "town", "iris") for a in group.method(name) if beside(a, mrsd)]
        for arm in (*others, mrsd):
            found = summary(arm)
            made = group.comparisons.between(mrsd.name, arm.name)
            compared = (BLANK,) * 4 if made is None else _tested(made)
            cells = (arm.name, cap(arm), arm.n, found.accuracy.k, found.accuracy.value, spent(found))
            used = (arm,) if arm is mrsd else (arm, mrsd)
            rows.append(TableRow((*cells, *compared), {"method": arm.method, "budget": arm.budget}, used))
    return rows


IMPROVED = columns(
    "benchmark, cap: count, n: count, baseline: percent, improved: percent, difference: points, "
    "improved only: count, baseline only: count, p (Holm): p, arms"
)


def improved(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
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
        rows.append(TableRow((*cells, *_tested(made)[1:], names), key, tuple(both)))
    return rows or [not_run(IMPROVED, "iris and iris_plus")]


def _tested(made: Comparison) -> tuple[float, int, int, float]:
    test = made.result.test
    return test.difference, test.only_first, test.only_second, made.p_holm


def _answer(arm: Arm) -> int:
    return arm.stages.answer or 0
