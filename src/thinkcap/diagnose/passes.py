"""Which pass answered which row: the first try, the chain, or a pass after it.

accepted(arm)          # rows that a try without thinking settled
extracted(arm)         # rows answered from a chain that was cut
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thinkcap.logs import Arm
from thinkcap.policies.registry import POLICIES, declared
from thinkcap.statistics.arrays import Bools, Ints


def thinks(arm: Arm) -> bool:
    """One call in thinking mode, however its words are read."""
    return arm.mode == "think"


def is_control(policy: str) -> bool:
    """Run to be compared with, never to be advised."""
    return bool(declared(policy).control)


def reads_chain(policy: str) -> bool:
    """A reading of a plain chain of thought. A projection adds tokens, so its lengths are not the chain's."""
    return declared(policy).plain == "think"


def divided(arm: Arm) -> str:
    """How nothing but a thought and its answer share the tokens: `split`, `close`, or empty for other methods."""
    known = declared(arm.policy)
    return "" if known.first_try or known.control else known.divides


def reading(arms: Sequence[Arm]) -> str:
    """The reading of plain thinking these arms have, the strictest first; `think` where they have none."""
    here = {a.policy for a in arms if a.budget is not None}
    return next((policy for policy in POLICIES if policy in here and reads_chain(policy)), "think")


def accepted(arm: Arm) -> Bools | None:
    """Rows that the first try settled; None where the arm has none, or the log does not name stages."""
    if "stage" not in arm.extra:
        return None
    # A method that falls back on another has its samples for a first try.
    first = "vote" if declared(arm.policy).falls_back_to else "probe"
    named = np.asarray(arm.extra["stage"].astype(str) == first)
    return named if arm.stages.first is not None or bool(named.any()) else None


def still_open(arm: Arm) -> Bools:
    """Rows that no first try settled: all of them where there was none."""
    kept = accepted(arm)
    return np.ones(arm.n, dtype=np.bool_) if kept is None else ~kept


def extracted(arm: Arm) -> Bools | None:
    """Rows answered by a pass of its own on a cut chain; None where the log does not name stages."""
    if not declared(arm.policy).splits or "stage" not in arm.extra:
        return None
    named = np.asarray(arm.extra["stage"].astype(str) == "answer")
    # Two passes may answer a complete chain too; what was not cut is no evidence on cut chains.
    return named if arm.ended is None else named & ~arm.ended


def finished(arm: Arm) -> Bools | None:
    """Rows whose chain ended in its own budget; None where that is not known."""
    if declared(arm.policy).splits and not is_control(arm.policy) and "stage" in arm.extra:
        return np.asarray(arm.extra["stage"].astype(str) == "think")
    return arm.ended


def rounds(arm: Arm) -> Ints | None:
    """Rounds of thinking per row, 0 where the first try was accepted."""
    kept = accepted(arm)
    if kept is None:
        return None
    if "rounds" in arm.extra:
        return np.where(kept, 0, arm.extra["rounds"]).astype(np.int64)
    # `round2`: two answers agreed there; `majority`: none did, so all rounds were run.
    most = arm.stages.rounds or 1
    names = arm.extra["stage"].astype(str)
    told = [int(n.removeprefix("round")) if n.startswith("round") else most for n in names]
    return np.where(kept, 0, told).astype(np.int64)
