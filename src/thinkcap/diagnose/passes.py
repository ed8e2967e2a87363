"""Which pass answered which row, and with what budget.

accepted(arm)          # rows that a try without thinking settled
budgets(arm).think     # what the thinking pass was allowed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinkcap.logs.arms import Arm
from thinkcap.statistics.arrays import Bools, Ints

THINKING = ("think", "think[heuristic]")
"""Readings of a plain chain, the strictest first. A projection adds tokens, so its lengths are not the chain's."""


@dataclass(frozen=True)
class PassBudgets:
    """None where the records do not tell."""

    first: int | None
    think: int | None
    answer: int | None
    rounds: int


def head(arm: Arm) -> str:
    """`iris` of `iris_plus`."""
    return arm.policy.partition("[")[0].removesuffix("_plus")


def budgets(arm: Arm) -> PassBudgets:
    own = arm.stages
    answer = own.answer
    if head(arm) == "town":
        answer = 0
    elif answer is None and own.first is None and own.think is not None and arm.budget is not None:
        # No chain was cut, so no answer pass was seen; the cap is of both passes together.
        answer = arm.budget - own.think
    return PassBudgets(own.first, own.think, answer, own.rounds or 1)


def beside(one: Arm, two: Arm) -> bool:
    """At the same cap, or cascades that share their first and their thinking budget."""
    if one.budget is not None and one.budget == two.budget:
        return True
    a, b = one.stages, two.stages
    return None not in (a.first, a.think) and (a.first, a.think) == (b.first, b.think)


def accepted(arm: Arm) -> Bools | None:
    """Rows that the first try settled; None where the arm has none, or the log does not name stages."""
    if head(arm) not in ("town", "iris", "mrsd") or "stage" not in arm.extra:
        return None
    return np.asarray(arm.extra["stage"] == "probe", dtype=np.bool_)


def finished(arm: Arm) -> Bools | None:
    """Rows whose chain ended in its own budget; None where that is not known."""
    if arm.ended is None and "stage" in arm.extra:
        return np.asarray(arm.extra["stage"] == "think", dtype=np.bool_)
    return arm.ended


def rounds(arm: Arm) -> Ints | None:
    """Rounds of thinking per row, 0 where the first try was accepted."""
    kept = accepted(arm)
    if kept is None:
        return None
    if head(arm) != "mrsd":
        return np.asarray(~kept, dtype=np.int64)
    if "rounds" in arm.extra:
        return np.asarray(arm.extra["rounds"], dtype=np.int64)
    most = budgets(arm).rounds
    # `round2`: two answers agreed there; `majority`: none did, so all rounds were run.
    names = arm.extra["stage"].astype(str)
    return np.asarray(
        [0 if n == "probe" else int(n.removeprefix("round")) if n.startswith("round") else most for n in names],
        dtype=np.int64,
    )


def thinking(arms: Sequence[Arm]) -> str:
    """The reading of plain thinking these arms have, the strictest first; `think` where they have none."""
    here = {a.method for a in arms if a.budget is not None}
    return next((policy for policy in THINKING if policy in here), "think")
