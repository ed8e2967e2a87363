"""What a cascade wins on the questions its first try left open, and what it may cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thinkcap.core.errors import DataError
from thinkcap.diagnose.passes import accepted, budgets, rounds
from thinkcap.logs.arms import Arm, matched
from thinkcap.statistics.arrays import Bools, share
from thinkcap.statistics.cost import CostBound, NetRecovery, cost_bound, net_recovery
from thinkcap.statistics.paired import McNemar, mcnemar


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

    @property
    def escalated(self) -> int:
        return self.n - self.accepted


def escalations(arms: Sequence[Arm]) -> tuple[Escalation, ...]:
    found = []
    for arm in arms:
        kept = accepted(arm)
        if kept is not None:
            found.append(_escalation(arm, kept, arms))
    return tuple(found)


def _escalation(arm: Arm, kept: Bools, arms: Sequence[Arm]) -> Escalation:
    taken = int(kept.sum())
    cost = _cost(arm, kept)
    return Escalation(
        arm.name,
        arm.method,
        arm.budget,
        arm.n,
        taken,
        share(int((arm.right & kept).sum()), taken),
        tuple(_against(arm, direct) for direct in _rivals(arm, arms)),
        None if isinstance(cost, str) else cost,
        cost if isinstance(cost, str) else None,
    )


def _rivals(arm: Arm, arms: Sequence[Arm]) -> list[Arm]:
    """Direct answers under all the cascade may spend, under its named budget, and under its first try's."""
    own = budgets(arm)
    known = own.first is not None and own.think is not None and own.answer is not None
    whole = (own.first or 0) + own.rounds * ((own.think or 0) + (own.answer or 0)) if known else None
    if arm.budget is None:
        return [a for a in arms if a.method == "nothink" and a.budget is None and a.file == arm.file]
    wanted = list(dict.fromkeys(b for b in (whole, arm.budget, own.first) if b))
    direct = [a for a in arms if a.method == "nothink" and a.budget in wanted]
    return sorted(direct, key=lambda a: (wanted.index(a.budget or 0), a.file != arm.file, a.file))


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
        return Against(direct.name, None, None, "the first try settled every question; nothing was taken over")
    return Against(direct.name, net, mcnemar(one.right[hard], two.right[hard]), None)


def _cost(arm: Arm, kept: Bools) -> Cost | str:
    own, loops = budgets(arm), rounds(arm)
    if arm.tokens is None or loops is None:
        return "no token counts are stored"
    if kept.all():
        return "the first try settled every question; the later budgets were not seen"
    if own.first is None or own.think is None or own.answer is None:
        missing = [
            n for n, v in (("first", own.first), ("thinking", own.think), ("answer", own.answer)) if v is None
        ]
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
        rounds=own.rounds,
    )
    return Cost(own.first, own.think, own.answer, spent, mean, bound, float(arm.tokens.mean()))
