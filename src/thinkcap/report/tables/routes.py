"""Cascades replayed over stored outcomes of both modes."""

from __future__ import annotations

from thinkcap.diagnose.routes import both_aligned, replayed
from thinkcap.logs import Arm
from thinkcap.report.tables.modes import ShownBudgets
from thinkcap.report.tables.select import ModelTask
from thinkcap.report.tables.table import TableRow, columns, not_run
from thinkcap.statistics.route import Routing

GRID = columns(
    "B1: count, B2: count, n: count, acc: percent, tokens: number, ended at B1: percent, "
    "routed: percent, recovered: count, regretted: count, net: count"
)


def both_modes(group: ModelTask) -> tuple[dict[int, Arm], dict[int, Arm]] | None:
    return both_aligned(group.series("nothink"), group.series("think"))


def cascades(group: ModelTask) -> dict[tuple[int, int], Routing]:
    return {at: made for at, (made, _) in replayed(group.series("nothink"), group.series("think")).items()}


def cascade_row(first: int, second: int, found: Routing, arms: tuple[Arm, ...]) -> TableRow:
    share = found.routed / found.n
    cells = (first, second, found.n, found.accuracy, found.mean_tokens, 1 - share, share)
    return TableRow((*cells, found.recovered, found.regretted, found.net), {"B1": first, "B2": second}, arms)


def grid(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """Every (B1, B2); of a fine sweep only budgets that double."""
    found = cascades(group)
    budgets = sorted({b for pair in found for b in pair})
    kept = set(chosen) or (set(budgets) if len(budgets) <= 6 else set(_doubling(budgets)))
    direct, thought = group.series("nothink"), group.series("think")
    return [
        cascade_row(b1, b2, r, (direct[b1], thought[b2])) for (b1, b2), r in found.items() if {b1, b2} <= kept
    ] or [not_run(GRID)]


def _doubling(budgets: list[int]) -> list[int]:
    kept = budgets[:1]
    for b in budgets:
        if b >= 2 * kept[-1]:
            kept.append(b)
    return kept
