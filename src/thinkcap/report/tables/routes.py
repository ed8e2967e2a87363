"""Cascades replayed over stored outcomes of both modes."""

from __future__ import annotations

from thinkcap.logs.arms import Arm
from thinkcap.report.tables.modes import Budgets
from thinkcap.report.tables.select import Group, same_questions
from thinkcap.report.tables.table import NOT_RUN, Column, Row
from thinkcap.statistics.route import Routing, cascade_grid

GRID = (
    Column("B1", "count"),
    Column("B2", "count"),
    Column("n", "count"),
    Column("acc", "percent"),
    Column("tokens", "number"),
    Column("ended at B1", "percent"),
    Column("routed", "percent"),
    Column("recovered", "count"),
    Column("regretted", "count"),
    Column("net", "count"),
)


def both_modes(group: Group) -> tuple[dict[int, Arm], dict[int, Arm]] | None:
    direct = {b: a for b, a in group.series("nothink").items() if a.tokens is not None and a.ended is not None}
    thought = {b: a for b, a in group.series("think").items() if a.tokens is not None}
    if not direct or not thought:
        return None
    arms = same_questions(*direct.values(), *thought.values())
    if arms is None:
        return None
    return dict(zip(direct, arms, strict=False)), dict(zip(thought, arms[len(direct) :], strict=True))


def cascades(group: Group) -> dict[tuple[int, int], Routing]:
    both = both_modes(group)
    if both is None:
        return {}
    return cascade_grid(
        {b: (a.right, a.ends, a.lengths) for b, a in both[0].items()},
        {b: (a.right, a.lengths) for b, a in both[1].items()},
    )


def cascade_row(first: int, second: int, found: Routing, arms: tuple[Arm, ...]) -> Row:
    share = found.routed / found.n
    cells = (first, second, found.n, found.accuracy, found.mean_tokens, 1 - share, share)
    return Row((*cells, found.recovered, found.regretted, found.net), {"B1": first, "B2": second}, arms)


def none_replayed() -> list[Row]:
    return [Row((NOT_RUN,) * len(GRID))]


def grid(group: Group, chosen: Budgets = ()) -> list[Row]:
    """Every (B1, B2); of a fine sweep only budgets that double."""
    found = cascades(group)
    budgets = sorted({b for pair in found for b in pair})
    kept = set(chosen) or (set(budgets) if len(budgets) <= 6 else set(_doubling(budgets)))
    direct, thought = group.series("nothink"), group.series("think")
    return [
        cascade_row(b1, b2, r, (direct[b1], thought[b2])) for (b1, b2), r in found.items() if {b1, b2} <= kept
    ] or none_replayed()


def _doubling(budgets: list[int]) -> list[int]:
    kept = budgets[:1]
    for b in budgets:
        if b >= 2 * kept[-1]:
            kept.append(b)
    return kept
