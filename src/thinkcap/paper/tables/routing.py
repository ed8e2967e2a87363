"""The first budget of a cascade, and the baselines of a router."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinkcap.logs import Arm
from thinkcap.paper.estimators import RandomRouting, by_length, oracle, oracle_at, random_share
from thinkcap.report.tables.modes import ShownBudgets
from thinkcap.report.tables.routes import GRID, both_modes, cascade_row, cascades
from thinkcap.report.tables.select import ModelTask
from thinkcap.report.tables.table import BLANK, TableRow, columns, not_run
from thinkcap.statistics.route import Both, Routing, replay


def first_budget(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """The first budget varied under one second budget."""
    found = cascades(group)
    if not found:
        return [not_run(GRID)]
    second = chosen[-1] if chosen else max(b2 for _, b2 in found)
    direct, thought = group.series("nothink"), group.series("think")
    rows = [cascade_row(b1, b2, r, (direct[b1], thought[b2])) for (b1, b2), r in found.items() if b2 == second]
    return rows or [not_run(GRID)]


ROUTERS = columns(
    "method, acc: percent, acc sd: points, tokens: number, routed: percent, recovered: number, "
    "regretted: number, net: number"
)


def routers(group: ModelTask, chosen: ShownBudgets = ()) -> list[TableRow]:
    """A router's baselines at the share its cascade sends on."""
    both, found = both_modes(group), cascades(group)
    if both is None or not found:
        return [not_run(ROUTERS, "both modes on the same questions")]
    first, second = max(found, key=lambda k: found[k].accuracy)
    if len(chosen) == 2 and (chosen[0], chosen[1]) in found:
        first, second = chosen[0], chosen[1]
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
    rows.insert(1, TableRow((*alone, *counts), {"role": "think@512"}, (one, two)))
    return rows


def _router(name: str, found: Routing | RandomRouting, one: Arm, two: Arm, key: str) -> TableRow:
    if isinstance(found, RandomRouting):
        share, net = found.share, found.recovered - found.regretted
        spread: Any = found.accuracy_sd
    else:
        share, spread, net = found.routed / found.n, BLANK, found.net
    cells = (name, found.accuracy, spread, found.mean_tokens, share, found.recovered, found.regretted, net)
    return TableRow(cells, {"role": key}, (one, two))
