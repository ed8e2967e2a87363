"""What a cascade wins on the questions its first try left open, what it costs, and where it goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.pairs import aligned_or_none, matched
from thinkcap.diagnose.passes import accepted, is_control, rounds
from thinkcap.logs import Arm
from thinkcap.statistics.arrays import Bools, share
from thinkcap.statistics.cost import CostBound, NetRecovery, cost_bound, net_recovery
from thinkcap.statistics.paired import McNemar, mcnemar
from thinkcap.statistics.rounds import Convergence, convergence
from thinkcap.statistics.taxonomy import Failures, failures


@dataclass(frozen=True)
class Against:
    """The cascade and an answer without thinking, on the questions the first try left open."""

    direct: str
    net: NetRecovery | None
    test: McNemar | None
    undefined: str | None


@dataclass(frozen=True)
class Cost:
    """E[T] <= p t1 + (1-p)(B1 + K(B_r + B_a)), with the numbers that went in and what was paid."""

    first: int
    reasoning: int
    answer: int
    mean_accepted_tokens: float | None
    mean_rounds: float
    bound: CostBound
    measured: float


@dataclass(frozen=True)
class Escalation:
    cascade: str
    policy: str
    budget: int | None
    n: int
    accepted: int
    accepted_accuracy: float | None
    against: tuple[Against, ...]
    """Answers without thinking at the cascade's whole cap first, then at the first try's own."""
    cost: Cost | None
    cost_undefined: str | None
    failures: Failures | None
    """Wrong answers by cause; needs the first try's own verdict, an answer without thinking at its budget."""
    convergence: Convergence | None
    """Of a method that thinks in rounds: how often two agreed, and how right it was by that."""

    @property
    def escalated(self) -> int:
        return self.n - self.accepted


def escalations(arms: Sequence[Arm]) -> tuple[Escalation, ...]:
    found = []
    for arm in (a.judged() for a in arms):
        kept = accepted(arm)
        if kept is not None and arm.n:
            found.append(_escalation(arm, kept, arms))
    return tuple(found)


def _escalation(arm: Arm, kept: Bools, arms: Sequence[Arm]) -> Escalation:
    taken = int(kept.sum())
    cost = _cost(arm, kept)
    return Escalation(
        arm.name,
        arm.policy,
        arm.budget,
        arm.n,
        taken,
        share(int((arm.right & kept).sum()), taken),
        tuple(_against(arm, direct) for direct in _rivals(arm, arms)),
        None if isinstance(cost, str) else cost,
        cost if isinstance(cost, str) else None,
        causes_of_failure(arm, arms),
        _convergence(arm, kept),
    )


def _rivals(arm: Arm, arms: Sequence[Arm]) -> list[Arm]:
    """Direct answers under all the cascade may spend, and under its first try's budget."""
    wanted = list(dict.fromkeys(b for b in (arm.stages.total, arm.budget, arm.stages.first) if b))
    direct = [a for a in arms if a.policy == "nothink"]
    if arm.budget is None and not wanted:
        return [a for a in direct if a.budget is None]
    return sorted((a for a in direct if a.budget in wanted), key=lambda a: wanted.index(a.budget or 0))


def _against(arm: Arm, direct: Arm) -> Against:
    try:
        one, two, _ = matched(arm, direct)
    except DataError as err:
        return Against(direct.name, None, None, str(err))
    kept = accepted(one)
    assert kept is not None
    hard = ~kept
    sent = int(hard.sum())
    net = net_recovery(sent, one.n, int((two.right & hard).sum()), int((one.right & hard).sum()))
    if net is None:
        return Against(direct.name, None, None, "the first try settled every question, so nothing was escalated")
    return Against(direct.name, net, mcnemar(one.right[hard], two.right[hard], one.repeats_on(hard)), None)


def _cost(arm: Arm, kept: Bools) -> Cost | str:
    own, loops = arm.stages, rounds(arm)
    if arm.tokens is None or loops is None:
        return "no token counts are stored" if arm.tokens is None else "the rounds of thinking are not stored"
    if kept.all():
        return "the first try settled every question, so the later budgets were never used"
    if own.first is None or own.think is None or own.answer is None:
        parts = (("first", own.first), ("thinking", own.think), ("answer", own.answer))
        missing = [name for name, value in parts if value is None]
        return f"the budget of the {' and '.join(missing)} pass is not stored"
    spent = float(arm.tokens[kept].mean()) if kept.any() else None
    mean = float(loops[~kept].mean())
    bound = cost_bound(
        # Without an accepted question its tokens carry no weight.
        float(kept.mean()),
        spent or 0.0,
        mean,
        own.first,
        own.think,
        own.answer,
        rounds=own.rounds or 1,
    )
    return Cost(own.first, own.think, own.answer, spent, mean, bound, float(arm.tokens.mean()))


def causes_of_failure(arm: Arm, arms: Sequence[Arm]) -> Failures | None:
    """The first try is the answer without thinking at its budget: the same request, so the same words."""
    first = _first_try(arm, arms)
    both = None if first is None else aligned_or_none([arm, first])
    kept = accepted(arm) if both is None else accepted(both[0])
    if both is None or kept is None or both[0].n != arm.n:
        return None
    others = []
    for other in arms:
        if other is first or is_control(other.policy) or other.name == arm.name:
            continue
        same = aligned_or_none([both[0], other])
        if same is not None and same[0].n == arm.n:
            others.append(same[1].right)
    table = np.stack(others, axis=1) if others else None
    return failures(both[0].right, ~kept, both[1].right, table)


def _first_try(arm: Arm, arms: Sequence[Arm]) -> Arm | None:
    """At the stored budget of the first try; a log without any budget has one answer without thinking a file."""
    direct = [a for a in arms if a.method == "nothink"]
    if arm.budget is None and arm.stages.first is None:
        return next((a for a in direct if a.file == arm.file), None)
    return next((a for a in direct if a.budget is not None and a.budget == arm.stages.first), None)


def _convergence(arm: Arm, kept: Bools) -> Convergence | None:
    loops = rounds(arm)
    if "converged" not in arm.extra or loops is None or (arm.stages.rounds or 1) < 2:
        return None
    return convergence(arm.right, ~kept, arm.extra["converged"].astype(np.bool_), loops)
