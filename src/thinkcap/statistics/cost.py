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
