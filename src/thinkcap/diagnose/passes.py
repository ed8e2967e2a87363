"""Which pass answered which row, and with what budget: one reading for our rows and for logs that number stages.

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

PASSES = ("first", "think", "answer", "rounds")
"""Settings that our rows show only where the pass was run."""


@dataclass(frozen=True)
class PassBudgets:
    """None where the records do not tell."""

    first: int | None
    think: int | None
    answer: int | None
    rounds: int


def head(arm: Arm) -> str:
    """`iris` of `iris_plus(first=64)`."""
    return arm.policy.partition("(")[0].partition("[")[0].removesuffix("_plus")


def budgets(arm: Arm) -> PassBudgets:
    """Our rows store them by stage, the authors' files as b1, b2 (or br) and ba."""
    said = arm.settings.get
    first, think, answer = (
        said("first", said("b1")),
        said("think", said("b2", said("br"))),
        said("answer", said("ba")),
    )
    if head(arm) == "town":
        # Thinking that is read as it stands: its files carry the answer budget of the cascade beside it.
        answer = 0
    elif (
        answer is None
        and first is None
        and think is not None
        and arm.budget is not None
        and "b2" not in arm.settings
    ):
        # No chain was cut, so no answer pass was seen; the cap is of both passes together.
        answer = arm.budget - think
    return PassBudgets(first, think, answer, int(said("rounds") or 1))


def accepted(arm: Arm) -> Bools | None:
    """Rows that the first try settled; None where the arm has none, or the log does not name stages."""
    if head(arm) not in ("town", "iris", "mrsd"):
        return None
    if "stage" in arm.extra:
        return np.asarray(arm.extra["stage"] == 1)
    if "escalated" in arm.extra:
        return ~np.asarray(arm.extra["escalated"], dtype=np.bool_)
    if "stage_name" in arm.extra:
        return np.asarray(arm.extra["stage_name"].astype(str) == "probe")
    return None


def finished(arm: Arm) -> Bools | None:
    """Rows whose chain ended in its own budget; None where that is not known."""
    if "stage" in arm.extra:
        return np.asarray(arm.extra["stage"] == 2)
    return arm.ended


def rounds(arm: Arm) -> Ints | None:
    """Rounds of thinking per row, 0 where the first try was accepted."""
    kept = accepted(arm)
    if kept is None:
        return None
    if head(arm) != "mrsd":
        return np.asarray(~kept, dtype=np.int64)
    if "round" in arm.extra:
        return np.asarray(arm.extra["round"], dtype=np.int64)
    most = budgets(arm).rounds
    # `round2`: two answers agreed there; `majority`: none did, so all rounds were run.
    names = arm.extra["stage_name"].astype(str)
    return np.asarray(
        [0 if n == "probe" else int(n.removeprefix("round")) if n.startswith("round") else most for n in names],
        dtype=np.int64,
    )


def thinking(arms: Sequence[Arm]) -> str:
    """The reading of plain thinking these arms have, the strictest first; `think` where they have none."""
    here = {a.policy for a in arms if a.budget is not None}
    return next((policy for policy in THINKING if policy in here), "think")
