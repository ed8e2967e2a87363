"""Votes as a gate, from a vote and another method run on the same questions: does agreement tell whom to trust?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thinkcap.diagnose.pairs import aligned_or_none
from thinkcap.diagnose.passes import is_control
from thinkcap.logs import Arm
from thinkcap.policies.registry import declared
from thinkcap.statistics.gates import Calibrated, Gate, Weighted, calibrate, calibrate_weight, gate, split_half

_FEWEST = 10
"""Halves of fewer questions say nothing."""


@dataclass(frozen=True)
class Gated:
    """The vote where enough samples agree, the other method elsewhere."""

    vote: str
    other: str
    threshold: int
    whole: Gate
    halves: tuple[Gate, Gate] | None
    """The same threshold on either half."""
    calibrated: Calibrated[Gate] | None
    """The threshold chosen on a fifth of the questions, tested on the rest."""
    weight: Calibrated[Weighted] | None
    """The other method as a voter: its weight chosen on a fifth, tested on the rest."""


def gated(arms: Sequence[Arm]) -> tuple[Gated, ...]:
    """Every vote with every method that a gate or a weighted vote of these records hands over to."""
    votes = [a for a in arms if _decides_by_vote(a) and "agree" in a.extra]
    found = (
        g for vote in votes for other, at_least in _others(vote, arms) for g in _gated(vote, other, at_least, arms)
    )
    return tuple(found)


def _others(vote: Arm, arms: Sequence[Arm]) -> Iterator[tuple[Arm, int]]:
    """Methods that some gate falls back to; without a gate, every cascade that was run."""
    gates = [a for a in arms if declared(a.policy).falls_back_to]
    for arm in arms:
        if arm.mode or declared(arm.policy).votes or is_control(arm.policy):
            continue
        mine = [g for g in gates if _falls_back_to(g) == arm.method]
        if mine or (not gates and arm.stages.first is not None):
            yield arm, int(mine[0].options.get("at_least", 3)) if mine else 3


def _decides_by_vote(arm: Arm) -> bool:
    """Its samples alone: no other policy is asked. The number that agree is then how sure the vote is."""
    known = declared(arm.policy)
    return known.votes and not known.then


def _falls_back_to(gate: Arm) -> str:
    return str(gate.options.get("otherwise", declared(gate.policy).falls_back_to))


def _gated(vote: Arm, other: Arm, threshold: int, arms: Sequence[Arm]) -> Iterator[Gated]:
    both = aligned_or_none([vote, other])
    if both is None or not both[0].n:
        return
    # Seeds of one question side by side, so that a half or a fifth of the rows is one of the questions.
    if both[0].repeats is not None:
        both = [arm.take(np.argsort(both[0].repeats, kind="stable")) for arm in both]
    one, two = both
    agree = np.asarray(one.extra["agree"], dtype=np.int64)
    seen = (agree, one.right, two.right, one.repeats)
    enough = one.n >= 2 * _FEWEST
    fifth = max(_FEWEST, one.n // 5)
    yield Gated(
        vote.name,
        other.name,
        threshold,
        gate(*seen, threshold=threshold),
        split_half(*seen, threshold=threshold) if enough else None,
        calibrate(*seen, calibration=fifth) if enough else None,
        _weight(one, two, arms, fifth) if enough else None,
    )


def _weight(vote: Arm, other: Arm, arms: Sequence[Arm], calibration: int) -> Calibrated[Weighted] | None:
    """Needs how many samples agree with the other method's answer: a weighted vote of the two writes it down."""
    for arm in arms:
        if "support" in arm.extra and arm.options.get("other") == other.method:
            every = aligned_or_none([vote, other, arm])
            if every is not None and every[0].n == vote.n:
                agree, support = (np.asarray(every[i].extra[k]) for i, k in ((0, "agree"), (2, "support")))
                rights = (every[0].right, every[1].right)
                return calibrate_weight(agree, support, *rights, every[0].repeats, calibration=calibration)
    return None
