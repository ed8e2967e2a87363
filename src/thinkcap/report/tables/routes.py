"""Shapes about routing: cascades replayed over stored outcomes of both modes, and the baselines of a router."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinkcap.logs.arms import Arm
from thinkcap.report.tables.select import Group, Want, same_questions
from thinkcap.report.tables.table import BLANK, NOT_RUN, Column, Row
from thinkcap.statistics.route import (
    Both,
    RandomRouting,
    Routing,
    by_length,
    cascade_grid,
    oracle,
    oracle_at,
    random_share,
    replay,
)

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


def _both(group: Group) -> tuple[dict[int, Arm], dict[int, Arm]] | None:
    direct = {b: a for b, a in group.series("nothink").items() if a.tokens is not None and a.ended is not None}
    thought = {b: a for b, a in group.series("think").items() if a.tokens is not None}
    if not direct or not thought:
        return None
    arms = same_questions(*direct.values(), *thought.values())
    if arms is None:
        return None
    return dict(zip(direct, arms, strict=False)), dict(zip(thought, arms[len(direct) :], strict=True))


def _cascades(group: Group) -> dict[tuple[int, int], Routing]:
    both = _both(group)
    if both is None:
        return {}
    return cascade_grid(
        {b: (a.right, a.ends, a.lengths) for b, a in both[0].items()},
        {b: (a.right, a.lengths) for b, a in both[1].items()},
    )


def _row(first: int, second: int, found: Routing, arms: tuple[Arm, ...]) -> Row:
    share = found.routed / found.n
    cells = (first, second, found.n, found.accuracy, found.mean_tokens, 1 - share, share)
    return Row((*cells, found.recovered, found.regretted, found.net), {"B1": first, "B2": second}, arms)


def _missing() -> list[Row]:
    return [Row((NOT_RUN,) * len(GRID))]


def grid(group: Group, want: Want) -> list[Row]:
    """Every (B1, B2); of a fine sweep only budgets that double."""
    found = _cascades(group)
    budgets = sorted({b for pair in found for b in pair})
    kept = set(want.budgets) or (set(budgets) if len(budgets) <= 6 else set(_doubling(budgets)))
    direct, thought = group.series("nothink"), group.series("think")
    return [
        _row(b1, b2, r, (direct[b1], thought[b2])) for (b1, b2), r in found.items() if {b1, b2} <= kept
    ] or _missing()


def _doubling(budgets: list[int]) -> list[int]:
    kept = budgets[:1]
    for b in budgets:
        if b >= 2 * kept[-1]:
            kept.append(b)
    return kept


def first_budget(group: Group, want: Want) -> list[Row]:
    """The first budget varied under one second budget."""
    found = _cascades(group)
    if not found:
        return _missing()
    second = want.budgets[-1] if want.budgets else max(b2 for _, b2 in found)
    direct, thought = group.series("nothink"), group.series("think")
    rows = [_row(b1, b2, r, (direct[b1], thought[b2])) for (b1, b2), r in found.items() if b2 == second]
    return rows or _missing()


ROUTERS = (
    Column("method"),
    Column("acc", "percent"),
    Column("acc sd", "points"),
    Column("tokens", "number"),
    Column("routed", "percent"),
    Column("recovered", "number"),
    Column("regretted", "number"),
    Column("net", "number"),
)


def routers(group: Group, want: Want) -> list[Row]:
    """A router's baselines at the share its cascade sends on."""
    both, found = _both(group), _cascades(group)
    if both is None or not found:
        return [Row(("both modes on the same questions", *[NOT_RUN] * (len(ROUTERS) - 1)), {"method": ""})]
    first, second = max(found, key=lambda k: found[k].accuracy)
    if len(want.budgets) == 2 and (want.budgets[0], want.budgets[1]) in found:
        first, second = want.budgets
    one, two = both[0][first], both[1][second]
    runs = Both(one.right, two.right, one.lengths, two.lengths)
    cascade = found[first, second]
    share = cascade.routed / cascade.n
    chance = random_share(runs, share, draws=200, seed=0)
    options: list[tuple[str, Routing | RandomRouting]] = [
        (f"nothink@{first}", replay(runs, np.zeros(runs.n, dtype=np.bool_))),
        (f"random {100 * share:.1f} %", chance),
        ("shortest answers", by_length(runs, share, longest=False)),
        ("longest answers", by_length(runs, share)),
        (f"cascade {first} to {second}: did not end", cascade),
        ("oracle", oracle(runs)),
        ("oracle at that share", oracle_at(runs, share)),
    ]
    keys = (
        "nothink@256",
        "random",
        "inverse_token_length",
        "token_length",
        "mrsd(ours)",
        "oracle",
        "oracle_matched",
    )
    rows = [_router(name, r, one, two, key) for (name, r), key in zip(options, keys, strict=True)]
    everything = replay(runs, np.ones(runs.n, dtype=np.bool_))
    # All questions to thinking needs no first try, so it does not pay for one.
    alone: tuple[Any, ...] = (f"think@{second}", everything.accuracy, BLANK, float(two.lengths.mean()), 1.0)
    counts = (everything.recovered, everything.regretted, everything.net)
    rows.insert(1, Row((*alone, *counts), {"method": "think@512"}, (one, two)))
    return rows


def _router(name: str, found: Routing | RandomRouting, one: Arm, two: Arm, key: str) -> Row:
    if isinstance(found, RandomRouting):
        share, net = found.share, found.recovered - found.regretted
        spread: Any = found.accuracy_sd
    else:
        share, spread, net = found.routed / found.n, BLANK, found.net
    cells = (name, found.accuracy, spread, found.mean_tokens, share, found.recovered, found.regretted, net)
    return Row(cells, {"method": key}, (one, two))
