"""Which method to use under a cap: of all that fit into it, the one whose accuracy has the highest lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from thinkcap.diagnose.findings import ArmSummary, Findings
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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def advise(found: Findings) -> tuple[Advice, ...]:
    """For every cap that was measured; nothing where only one way was, for that leaves no choice."""
    ways = [a for a in found.arms if not a.control and a.n and _total(a) is not None]
    if len({a.method for a in ways}) < 2:
        return ()
    caps = sorted({_total(a) or 0 for a in ways})
    return tuple(_best(found, cap, [a for a in ways if (_total(a) or 0) <= cap]) for cap in caps)


def _total(arm: ArmSummary) -> int | None:
    """The cap of all calls together, or what the dearest question cost where no cap is stored."""
    return arm.budget if arm.budget is not None else arm.most_tokens


def _best(found: Findings, cap: int, ways: Sequence[ArmSummary]) -> Advice:
    def order(way: ArmSummary) -> tuple[float, float, int, str]:
        # A cost nobody stored may be the whole cap.
        cost = float(_total(way) or 0) if way.mean_tokens is None else way.mean_tokens
        return -(way.accuracy.low or 0.0), cost, _total(way) or 0, way.name

    best = min(ways, key=order)
    return Advice(
        found.model,
        found.task,
        cap,
        best.name,
        best.accuracy.value or 0.0,
        best.accuracy.low or 0.0,
        best.mean_tokens,
    )


def told(advice: Sequence[Advice]) -> list[Sentence]:
    """Caps with the same advice in one sentence."""
    said = []
    for _, group in groupby(advice, key=lambda a: a.policy):
        same = list(group)
        first, last = same[0], same[-1]
        caps = f"{first.cap}" if first is last else f"{first.cap} to {last.cap}"
        said.append(Sentence(f"At {caps} tokens: {way(last)}.", last.to_dict() | {"from": first.cap}))
    return said


def way(advice: Advice) -> str:
    """`iris@144, 85.0 % right (at least 73.9 %), 72 tokens on average`."""
    cost = "" if advice.tokens is None else f", {tokens(advice.tokens)} on average"
    return f"{advice.policy}, {percent(advice.accuracy)} right (at least {percent(advice.lower_bound)}){cost}"
