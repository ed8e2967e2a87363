"""Which configuration to use under a budget, as `statistics.choice` finds it, and which are left out and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from thinkcap.diagnose.findings import Findings
from thinkcap.statistics.choice import BudgetChoice
from thinkcap.verdict.words import Sentence, percent, tokens


@dataclass(frozen=True)
class Advice:
    """Under `cap` tokens in all, answer by `policy`, an arm that was measured."""

    model: str
    task: str
    cap: int
    policy: str
    accuracy: float
    lower_bound: float
    """Of the 95 % interval: the best of few questions is often lucky, so this decides."""
    tokens: float | None
    n: int
    """Answers behind the accuracy: to the questions that every arm of the group answered."""
    group: int
    """Arms measured on other questions are in other groups; 1 is the group to use first."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class NotAdvised:
    """An arm that the advice of the first group does not consider."""

    model: str
    task: str
    policy: str
    why: str
    reason: str


def advise(found: Findings) -> tuple[Advice, ...]:
    """For every budget that was measured, per group of questions. A group of one method leaves no choice."""
    groups = (group for group in found.recommendation.groups if group.methods > 1)
    return tuple(
        _advice(found, choice, number) for number, group in enumerate(groups, 1) for choice in group.choose()
    )


def _advice(found: Findings, choice: BudgetChoice, group: int) -> Advice:
    one = choice.scored
    measured = (one.name, one.accuracy, one.lower_bound, one.mean_cost, one.n)
    return Advice(found.model, found.task, choice.budget, *measured, group)


def list_excluded(found: Findings) -> list[NotAdvised]:
    """Nothing if a single method was measured: then there is no advice to be left out of."""
    if len({arm.method for arm in found.arms if arm.n and not arm.control}) < 2:
        return []
    return [NotAdvised(found.model, found.task, e.name, e.why, e.reason) for e in found.recommendation.excluded]


def report_excluded(found: Findings) -> list[Sentence]:
    return [Sentence(f"Not considered: {one.policy} {one.reason}.", asdict(one)) for one in list_excluded(found)]


def told(advice: Sequence[Advice]) -> list[Sentence]:
    """Caps with the same advice in one sentence."""
    several = len({a.group for a in advice}) > 1
    said = []
    for _, group in groupby(advice, key=lambda a: (a.group, a.policy)):
        same = list(group)
        first, last = same[0], same[-1]
        caps = f"{first.cap}" if first is last else f"{first.cap} to {last.cap}"
        text = f"At {caps} tokens{on(last, several)}: {way(last)}."
        said.append(Sentence(text, last.to_dict() | {"from": first.cap}))
    return said


def on(advice: Advice, several: bool) -> str:
    """`, on 200 answers`: only needed if arms were measured on different questions."""
    return f", on {advice.n:,} answers" if several else ""


def way(advice: Advice) -> str:
    """`iris@144, 85.0 % right (at least 73.9 %), 72 tokens on average`."""
    cost = "" if advice.tokens is None else f", {tokens(advice.tokens)} on average"
    return f"{advice.policy}, {percent(advice.accuracy)} right (at least {percent(advice.lower_bound)}){cost}"
