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
from thinkcap.statistics.decompose import decompose
from thinkcap.statistics.precision import wilson
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
    """Thinking against answering without a probe, with the first-order rule; None where the grid is too coarse."""


def lower(right: Bools, level: float) -> float:
    """One-sided lower bound of the accuracy."""
    return wilson(int(right.sum()), len(right), 2 * level - 1).low or 0.0


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
    """Along thought + answer = cap, each measured thought with the most answer tokens that fit."""
    answers: dict[int, int] = {}
    for way, t, a in passes.thought:
        if way == how and t < cap and t + a <= cap:
            answers[t] = max(a, answers.get(t, 0))
    cuts = sorted(answers)
    parts = []
    for t in cuts:
        outcome = passes.thought[how, t, answers[t]]
        parts.append(decompose(outcome.ended, outcome.right))
    kept = [(t, p) for t, p in zip(cuts, parts, strict=True) if p.alpha_t is not None]
    if len(kept) < 3:
        return None
    columns: list[Floats] = [
        np.array([p.ended_share for _, p in kept]),
        np.array([math.nan if p.alpha_c is None else p.alpha_c for _, p in kept]),
        np.array([p.alpha_t for _, p in kept], dtype=np.float64),
    ]
    return optimal_split(cap, [t for t, _ in kept], *columns)
