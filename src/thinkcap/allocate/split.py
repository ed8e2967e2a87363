"""How to divide a cap: tokens for a try without thinking, for thinking, and for the answer from a cut thought.

The division is searched on what was measured: every question's own outcome under every division is known by
putting its passes together, so nothing is assumed independent. The best is the one with the highest lower
confidence bound. A first-order rule (the marginal token brings the same in thought and answer) is the check.

    best = optimal(passes, cap=256)
    best.plan.label            # 'stop(first=32,think=160,answer=64,checks=false)'
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints
from thinkcap.statistics.decompose import Decomposition, decompose
from thinkcap.statistics.precision import clopper_pearson
from thinkcap.statistics.split import OptimalSplit, optimal_split

How = Literal["close", "extract"]


@dataclass(frozen=True)
class Plan:
    """Budgets of the three stages; 0 where a stage is left out."""

    probe: int
    think: int
    answer: int
    how: How = "close"

    @property
    def total(self) -> int:
        return self.probe + self.think + self.answer

    @property
    def label(self) -> str:
        """The policy that does it."""
        if not self.think:
            return "nothink"
        stages = f"think={self.think},answer={self.answer}"
        if self.how == "close":
            first = f"first={self.probe}," if self.probe else ""
            return f"stop({first}{stages},checks=false)"
        return f"iris(first={self.probe},{stages})" if self.probe else f"split({stages})"


@dataclass(frozen=True)
class Pass:
    """One stage's outcome for every question, in the same order."""

    ended: Bools
    right: Bools
    tokens: Ints

    def then(self, other: Pass) -> Pass:
        """Where this one did not end, the other follows and decides; both are paid."""
        return Pass(
            self.ended | other.ended,
            np.where(self.ended, self.right, other.right).astype(bool),
            self.tokens + np.where(self.ended, 0, other.tokens),
        )

    def take(self, rows: Bools | Ints) -> Pass:
        return Pass(self.ended[rows], self.right[rows], self.tokens[rows])


@dataclass(frozen=True)
class Passes:
    """The measured grid. `thought[how, t, a]`: at most t of thinking, then, if cut, at most a to answer."""

    probe: Mapping[int, Pass]
    thought: Mapping[tuple[How, int, int], Pass]

    @property
    def n(self) -> int:
        return len(next(iter(self.probe.values())).right)

    def take(self, rows: Bools | Ints) -> Passes:
        return Passes(
            {k: p.take(rows) for k, p in self.probe.items()}, {k: p.take(rows) for k, p in self.thought.items()}
        )

    def plans(self, cap: int) -> Iterator[Plan]:
        """All measured divisions that fit into the cap."""
        whole = [p for p in self.probe if p <= cap]
        if whole:
            yield Plan(max(whole), 0, 0)
        for how, t, a in self.thought:
            for p in (0, *self.probe):
                if p + t + a <= cap:
                    yield Plan(p, t, a, how)

    def outcome(self, plan: Plan) -> Pass:
        if not plan.think:
            return self.probe[plan.probe]
        thought = self.thought[plan.how, plan.think, plan.answer]
        return self.probe[plan.probe].then(thought) if plan.probe else thought


@dataclass(frozen=True)
class BestSplit:
    cap: int
    plan: Plan
    accuracy: float
    low: float
    """Lower end of the one-sided interval it was chosen by."""
    tokens: float
    tried: int
    check: OptimalSplit | None
    """Thinking against answering without a try, all of one total; None where the grid is too coarse."""


def lower(right: Bools, level: float) -> float:
    """One-sided lower bound of the accuracy; exact, so never too high more often than it says."""
    return clopper_pearson(int(right.sum()), len(right), 2 * level - 1).low or 0.0


def optimal(passes: Passes, cap: int, level: float = 0.95) -> BestSplit:
    """Of equal bounds the one that spends less."""
    if passes.n == 0:
        raise DataError("an optimal split needs at least one question")
    best: tuple[float, float, Plan] | None = None
    tried = 0
    for plan in passes.plans(cap):
        tried += 1
        outcome = passes.outcome(plan)
        found = (lower(outcome.right, level), -float(outcome.tokens.mean()), plan)
        if best is None or found[:2] > best[:2]:
            best = found
    if best is None:
        raise DataError(f"no measured division fits into {cap} tokens; measure smaller budgets")
    low, cost, plan = best
    right = passes.outcome(plan).right
    return BestSplit(cap, plan, float(right.mean()), low, -cost, tried, first_order(passes, cap, plan.how))


def first_order(passes: Passes, cap: int, how: How) -> OptimalSplit | None:
    """Along thought + answer = cap, by measured thoughts; None where fewer than three of them tell about it.

    A thought counts if it was measured with just the rest of the cap for its answer, or with less where hardly any
    answer used all it had: the rest would have changed nothing.
    """
    steps: list[int] = []
    parts: list[Decomposition] = []
    for t in sorted({cut for way, cut, _ in passes.thought if way == how and cut < cap}):
        outcome = _with_rest(passes, how, t, cap - t)
        if outcome is not None and not outcome.ended.all():
            steps.append(t)
            parts.append(decompose(outcome.ended, outcome.right))
    if len(steps) < 3:
        return None
    columns: list[Floats] = [
        np.array([p.ended_share for p in parts]),
        np.array([math.nan if p.alpha_c is None else p.alpha_c for p in parts]),
        np.array([p.alpha_t for p in parts], dtype=np.float64),
    ]
    return optimal_split(cap, steps, *columns)


_SATURATED = 0.01
"""Share of answers that may have used all their tokens for more tokens to be taken as without effect."""


def _with_rest(passes: Passes, how: How, thought: int, rest: int) -> Pass | None:
    """What a thought gives with `rest` tokens for its answer; None where no measurement tells."""
    given = [a for way, cut, a in passes.thought if (way, cut) == (how, thought) and a <= rest]
    if not given:
        return None
    most = max(given)
    outcome = passes.thought[how, thought, most]
    cut = ~outcome.ended
    used_up = float((outcome.tokens[cut] - thought >= most).mean()) if cut.any() else 0.0
    return outcome if most == rest or used_up <= _SATURATED else None
