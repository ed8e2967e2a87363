"""What a cascade may cost and when it wins: bounds from the share that stops early.

>>> bound = cost_bound(0.888, 132.7, 2.42, 256, 512, 128, rounds=3)
>>> round(bound.expected_at_most, 1), bound.most
(320.0, 2176)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CostBound:
    """E[T] <= p t1 + (1-p)(B1 + K(B_r + B_a)), and the most any question can cost."""

    expected_at_most: float
    most: int


def cost_bound(
    accepted: float,
    mean_accepted_tokens: float,
    mean_rounds: float,
    first: int,
    reasoning: int,
    answer: int,
    *,
    rounds: int,
) -> CostBound:
    loop = reasoning + answer
    expected = accepted * mean_accepted_tokens + (1 - accepted) * (first + mean_rounds * loop)
    return CostBound(expected, first + rounds * loop)


@dataclass(frozen=True)
class NetRecovery:
    """A cascade beats the direct answer only if it is better on the questions it takes over."""

    direct_on_hard: float
    cascade_on_hard: float
    gain: float

    @property
    def holds(self) -> bool:
        return self.cascade_on_hard > self.direct_on_hard


def net_recovery(hard: int, n: int, direct_right_on_hard: int, cascade_right_on_hard: int) -> NetRecovery | None:
    """None when nothing was escalated: there is no hard part to compare on."""
    if hard == 0:
        return None
    return NetRecovery(
        direct_right_on_hard / hard,
        cascade_right_on_hard / hard,
        (cascade_right_on_hard - direct_right_on_hard) / n,
    )


def direct_on_hard(direct_accuracy: float, accepted: float, accepted_accuracy: float) -> float | None:
    """(A_nt - p a)/(1-p): the direct accuracy on the escalated part, from totals; None when p is 1."""
    return None if accepted >= 1 else (direct_accuracy - accepted * accepted_accuracy) / (1 - accepted)


def reread(passes: int, trace_tokens: int, n: int) -> float:
    """Trace tokens per question that answer passes read again as context."""
    return passes * trace_tokens / n


def utilisation(mean_tokens: float, cap: int) -> float:
    """Share of the cap used; above 1 when forced or projected tokens were not counted against it."""
    return mean_tokens / cap
