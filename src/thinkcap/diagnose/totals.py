"""Thinking and answering out of one total: against thinking with all of it, and how the total is best divided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.pairs import matched
from thinkcap.diagnose.passes import accepted, divided, finished, reading, still_open
from thinkcap.logs import Arm
from thinkcap.policies.registry import declared
from thinkcap.statistics.decompose import Decomposition, decompose
from thinkcap.statistics.paired import McNemar, mcnemar
from thinkcap.statistics.precision import Proportion
from thinkcap.statistics.split import MatchedTotal, OptimalSplit, answer_saturation, matched_total, optimal_split


@dataclass(frozen=True)
class SameTotal:
    """A division b_r + b_a against thinking with b_r + b_a, on the same questions."""

    split: str
    coupled: str
    reasoning: int
    answer: int
    population: str
    """`all`, or `not accepted` where a first try had settled the others."""
    n: int
    parts: MatchedTotal | None
    test: McNemar | None
    undefined: str | None


def same_totals(arms: Sequence[Arm]) -> tuple[SameTotal, ...]:
    plain = reading(arms)
    thinking = [a for a in arms if a.policy == plain]
    return tuple(
        _same_total(arm, arm.stages.think, arm.stages.answer, thinking, plain)
        for arm in arms
        if declared(arm.policy).divides and finished(arm) is not None and arm.stages.think and arm.stages.answer
    )


def _same_total(arm: Arm, reasoning: int, answer: int, plain: Sequence[Arm], word: str) -> SameTotal:
    total = reasoning + answer
    population = "all" if accepted(arm) is None else "not accepted"

    def entry(
        coupled: str, size: int, why: str | None, parts: MatchedTotal | None = None, test: McNemar | None = None
    ) -> SameTotal:
        return SameTotal(arm.name, coupled, reasoning, answer, population, size, parts, test, why)

    n = int(still_open(arm).sum())
    rival = next((a for a in plain if a.budget == total and a.ended is not None), None)
    if rival is None:
        return entry(f"{word}@{total}", n, f"{word}@{total} was not run, or its ends are not known")
    try:
        one, two, _ = matched(arm, rival)
        rows = still_open(one)
        size = int(rows.sum())
        if size == 0:
            return entry(rival.name, 0, "the first try settled every question, so nothing was thought about")
        one, two = one.take(rows), two.take(rows)
        parts = _parts(one, two)
        # The test needs no accuracies, so it stands where the causes cannot be told apart.
        why = f"{two.name}: {_lacking(two)}" if parts is None else None
        return entry(rival.name, size, why, parts, mcnemar(one.right, two.right, one.repeats))
    except DataError as err:
        return entry(rival.name, n, str(err))


def _lacking(two: Arm) -> str:
    which = "ended" if not two.ends.any() else "was cut"
    return f"no chain {which} on these questions, so the accuracy of such chains is undefined"


def _parts(one: Arm, two: Arm) -> MatchedTotal | None:
    ended = finished(one)
    assert ended is not None
    short, whole = decompose(ended, one.right), decompose(two.ends, two.right)
    return matched_total(
        ended_at_reasoning=short.ended_share,
        ended_at_total=whole.ended_share,
        alpha_c_reasoning=short.alpha_c,
        alpha_c_total=whole.alpha_c,
        alpha_t_total=whole.alpha_t,
        # Where no chain was cut the answer pass carries no weight.
        alpha_e=short.alpha_t or 0.0,
    )


@dataclass(frozen=True)
class Division:
    """The best measured division of a total, by one way of answering."""

    how: str
    """`split`: a pass of its own; `close`: the thought closed by force in the same turn."""
    accuracy: Proportion
    """Of the best division. It was chosen among several, so it flatters a little."""
    optimum: OptimalSplit


def divisions(arms: Sequence[Arm]) -> tuple[Division, ...]:
    """For every total with at least two measured divisions whose chains are known to have ended or not."""
    families: dict[str, list[Arm]] = {}
    for arm in arms:
        how = divided(arm)
        if how and arm.ended is not None and arm.is_judged and arm.stages.think and arm.stages.answer:
            families.setdefault(how, []).append(arm)
    found = []
    for how, family in families.items():
        for total in sorted({a.budget for a in family if a.budget is not None}):
            done = _best(total, how, family)
            found += [] if done is None else [done]
    return tuple(found)


def _best(total: int, how: str, family: Sequence[Arm]) -> Division | None:
    """Of divisions with the same thought the one with the most answer tokens that fit."""
    points: dict[int, Arm] = {}
    for arm in family:
        think, answer = arm.stages.think or 0, arm.stages.answer or 0
        if think + answer <= total and (think not in points or answer > (points[think].stages.answer or 0)):
            points[think] = arm
    if len(points) < 2:
        return None
    ordered = [points[t] for t in sorted(points)]
    parts = [decompose(a.ends, a.right) for a in ordered]
    found = optimal_split(
        total,
        sorted(points),
        [p.ended_share for p in parts],
        [_or_nan(p.alpha_c) for p in parts],
        [_or_nan(p.alpha_t) for p in parts],
        answers=[a.stages.answer or 0 for a in ordered],
        answer_saturation=_saturation(points, parts),
    )
    best = points[found.best.reasoning]
    return Division(how, best.accuracy, found)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _saturation(points: dict[int, Arm], parts: Sequence[Decomposition]) -> int | None:
    """Answer tokens beyond which nothing is won, from the passes that ended: None where the longest still wins.

    A pass that ended within x tokens would have ended the same under a budget of x.
    """
    best = max(range(len(parts)), key=lambda i: parts[i].accuracy)
    think = sorted(points)[best]
    arm, most = points[think], points[think].stages.answer or 0
    cut = ~arm.ends
    if arm.tokens is None or not cut.any():
        return None
    spent, right = arm.tokens[cut] - think, arm.right[cut]
    if not right.any() or np.any(spent < 0) or np.any(spent > most):
        return None
    steps = sorted({int(s) for s in spent} | {most})
    least = answer_saturation(steps, [float((right & (spent <= s)).mean()) for s in steps])
    return None if least >= most else least
