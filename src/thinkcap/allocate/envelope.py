"""`auto`'s choice for every cap: of the optimal split, the stopping rule, the allocator and the fixed policies.

Half of the questions learn: the split is searched, the table of stops and the allocator are fitted, and the three
are ordered by the lower bound of their accuracy. The other half tests that the choice does no harm against any
fixed policy (`guarantee`); where that cannot be shown, the surest fixed policy is taken.

    found = fit(measured, margin=0.01, risk=0.1)
    found.allocation.entry(256)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thinkcap.allocate.file import Allocation, CapEntry
from thinkcap.allocate.fit import CrossValidation, Pool, cross_validate, train
from thinkcap.allocate.guarantee import Certified, harm_bound, learn_then_test
from thinkcap.allocate.model import KINDS, Allocator, levels
from thinkcap.allocate.split import BestSplit, How, Pass, Passes, Plan, lower, optimal
from thinkcap.allocate.stop import Stopping
from thinkcap.allocate.stop_fit import Chains, fit_stopping, walk
from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints

SURE = (0.5, 0.8, 0.95)
"""Chances the allocator's budget may be asked to suffice with; the best on the learning half is kept."""


@dataclass(frozen=True)
class Measured:
    """What a study measured, row by row the same questions everywhere."""

    caps: tuple[int, ...]
    fixed: Mapping[str, Mapping[int, Pass]]
    """Policies of one setting, at every cap."""
    passes: Passes
    chains: Mapping[int, Chains]
    """By the tokens given to an answer that is forced."""
    x: Floats
    """Features of the questions."""

    @property
    def n(self) -> int:
        return len(self.x)

    def take(self, rows: Bools | Ints) -> Measured:
        return Measured(
            self.caps,
            {name: {cap: p.take(rows) for cap, p in by.items()} for name, by in self.fixed.items()},
            self.passes.take(rows),
            {a: _take(c, rows) for a, c in self.chains.items()},
            self.x[rows],
        )


def _take(chains: Chains, rows: Bools | Ints) -> Chains:
    names = ("length", "ended", "right", "signal", "now_right", "now_tokens")
    return replace(chains, **{name: getattr(chains, name)[rows] for name in names})


@dataclass(frozen=True)
class Spending:
    """One way to spend a cap, enough to run it and to replay it on measured questions."""

    kind: str
    policy: str
    plan: Plan | None = None
    quick: int = 0
    sure: float | None = None


@dataclass(frozen=True)
class CapChoice:
    cap: int
    spending: Spending
    candidates: tuple[Spending, ...]
    """What was tested, in order of preference."""
    certified: Certified
    bound: float
    """By how much the choice may be worse than the best fixed policy, but with chance `risk`."""
    split: BestSplit


@dataclass(frozen=True)
class Envelope:
    choices: tuple[CapChoice, ...]
    stopping: Stopping
    allocator: Allocator
    report: CrossValidation
    """The allocator on learning questions it was not fitted on."""
    learned: int
    tested: int

    def outcome(self, measured: Measured, cap: int, spending: Spending | None = None) -> Pass:
        """What `auto` (or one of its candidates) gives on measured questions."""
        if spending is None:
            spending = next(c.spending for c in self.choices if c.cap == cap)
        return replay(spending, measured, cap, self.stopping, self._levels(measured, spending))

    def _levels(self, measured: Measured, spending: Spending) -> Ints | None:
        return None if spending.sure is None else self.allocator.levels(measured.x, spending.sure)

    def allocation(self, about: Mapping[str, Any]) -> Allocation:
        uses = any(c.spending.sure is not None for c in self.choices)
        return Allocation(
            tuple(_entry(c) for c in self.choices),
            self.stopping,
            self.allocator.to_mapping() if uses else None,
            {
                **about,
                "learned_on": self.learned,
                "tested_on": self.tested,
                "allocator": self.report.scores[self.report.best].to_mapping(),
            },
        )


def _entry(choice: CapChoice) -> CapEntry:
    s = choice.spending
    evidence = {
        "certified": choice.certified.chosen is not None,
        "margin": choice.certified.margin,
        "risk": choice.certified.risk,
        "bound": round(choice.bound, 4),
        "candidates": [c.policy for c in choice.candidates],
        "p": [round(p, 4) for p in choice.certified.p],
    }
    return CapEntry(choice.cap, s.policy, s.kind, "nothink" if s.sure is not None else None, s.sure, evidence)


def replay(
    spending: Spending, measured: Measured, cap: int, stopping: Stopping, given: Ints | None = None
) -> Pass:
    plan = spending.plan
    if spending.kind == "fixed" or plan is None:
        return measured.fixed[spending.policy][cap]
    if spending.kind == "split":
        return measured.passes.outcome(plan)
    if spending.kind == "stop":
        right, tokens, _ = walk(stopping, measured.chains[plan.answer], plan.think)
        thought = Pass(np.ones(len(right), dtype=bool), right, tokens)
        return measured.passes.probe[plan.probe].then(thought) if plan.probe else thought
    assert given is not None
    budgets = pool_budgets(measured, plan.how)
    parts = [measured.passes.probe[spending.quick]]
    parts += [
        measured.passes.thought[plan.how, min(t, plan.think), _answer(measured, plan, t)] for t in budgets[1:]
    ]
    pick = np.stack([np.stack([p.ended, p.right, p.tokens]) for p in parts])[given, :, np.arange(len(given))]
    return Pass(pick[:, 0].astype(bool), pick[:, 1].astype(bool), pick[:, 2].astype(np.int64))


def _answer(measured: Measured, plan: Plan, budget: int) -> int:
    """The plan's answer share where the smaller thought was measured with it, else the largest that was."""
    t = min(budget, plan.think)
    known = [a for how, cut, a in measured.passes.thought if (how, cut) == (plan.how, t)]
    return plan.answer if plan.answer in known else max(a for a in known if a <= plan.answer)


def pool_budgets(measured: Measured, how: How) -> tuple[int, ...]:
    return (0, *sorted({t for way, t, _ in measured.passes.thought if way == how}))


def pool(measured: Measured, how: How = "close") -> Pool:
    """Level 0 answers without thinking; the others think up to a budget and answer with the largest share."""
    budgets = pool_budgets(measured, how)
    most = {t: max(a for way, cut, a in measured.passes.thought if (way, cut) == (how, t)) for t in budgets[1:]}
    parts = [measured.passes.probe[max(measured.passes.probe)]]
    parts += [measured.passes.thought[how, t, most[t]] for t in budgets[1:]]
    return Pool(
        measured.x,
        budgets,
        np.stack([p.right for p in parts], axis=1),
        np.stack([p.tokens for p in parts], axis=1),
    )


def fit(
    measured: Measured,
    *,
    price: float = 0.0001,
    margin: float = 0.01,
    risk: float = 0.1,
    level: float = 0.95,
    seed: int = 0,
    servable: Sequence[str] | None = None,
    kinds: Sequence[str] = KINDS,
) -> Envelope:
    """`servable` names the fixed policies `auto` may fall back to; all are rivals."""
    if measured.n < 40:
        raise DataError(
            f"{measured.n} questions are too few to learn on one half and test on the other; wanted 40"
        )
    order = np.random.default_rng(seed).permutation(measured.n)
    learn, test = measured.take(order[: measured.n // 2]), measured.take(order[measured.n // 2 :])
    stopping = fit_stopping(learn.chains[max(learn.chains)], price=price)
    how = optimal(learn.passes, max(measured.caps), level).plan.how
    questions = pool(learn, how)
    report = cross_validate(questions, seed=seed, kinds=kinds)
    allocator = train(report.best, questions, seed)
    unseen = {sure: levels(report.chances[report.best], sure) for sure in SURE}
    choices = []
    for cap in measured.caps:
        best = optimal(learn.passes, cap, level)
        candidates = [Spending("split", best.plan.label, best.plan)]
        candidates += _stops(learn, cap, stopping, level)
        candidates += _allocated(learn, cap, how, unseen, level, stopping)

        def sure(s: Spending, cap: int = cap) -> tuple[float, float]:
            outcome = replay(s, learn, cap, stopping, unseen.get(s.sure) if s.sure else None)
            return lower(outcome.right, level), -float(outcome.tokens.mean())

        candidates.sort(key=sure, reverse=True)
        rivals = {name: by[cap].right for name, by in test.fixed.items()}
        tried = [
            replay(s, test, cap, stopping, allocator.levels(test.x, s.sure) if s.sure else None).right
            for s in candidates
        ]
        certified = learn_then_test(tried, list(rivals.values()), margin=margin, risk=risk, seed=seed)
        if certified.chosen is not None:
            chosen, right = candidates[certified.chosen], tried[certified.chosen]
        else:
            name = _surest(measured, cap, level, servable)
            chosen, right = Spending("fixed", name), rivals[name]
        bound = harm_bound(right, list(rivals.values()), risk=risk, seed=seed)
        choices.append(CapChoice(cap, chosen, tuple(candidates), certified, bound, best))
    return Envelope(tuple(choices), stopping, allocator, report, learn.n, test.n)


def _surest(measured: Measured, cap: int, level: float, servable: Sequence[str] | None) -> str:
    names = [name for name in measured.fixed if servable is None or name in servable]
    if not names:
        raise DataError("the study measured no fixed policy that can serve; add nothink to it")
    by = {name: measured.fixed[name][cap] for name in names}
    return max(names, key=lambda name: (lower(by[name].right, level), -float(by[name].tokens.mean())))


def _stops(learn: Measured, cap: int, stopping: Stopping, level: float) -> list[Spending]:
    """The surest probe, limit and answer share under the table; none where the cap is below the first limit."""
    found: list[tuple[float, float, Spending]] = []
    for answer, chains in learn.chains.items():
        for limit in chains.checkpoints[1:]:
            for probe in (0, *learn.passes.probe):
                if probe + limit + answer > cap:
                    continue
                first = f"first={probe}," if probe else ""
                plan = Plan(probe, limit, answer)
                s = Spending("stop", f"stop({first}think={limit},answer={answer})", plan)
                outcome = replay(s, learn, cap, stopping)
                found.append((lower(outcome.right, level), -float(outcome.tokens.mean()), s))
    return [max(found, key=lambda f: f[:2])[2]] if found else []


def _allocated(
    learn: Measured, cap: int, how: How, unseen: Mapping[float, Ints], level: float, stopping: Stopping
) -> list[Spending]:
    """No thinking where none is needed; else the largest thought that fits, shortened to the question's budget."""
    quick = max((p for p in learn.passes.probe if p <= cap), default=0)
    fitting = [Plan(0, t, a, way) for way, t, a in learn.passes.thought if way == how and t + a <= cap]
    if not quick or not fitting:
        return []
    found = []
    for plan in fitting:
        for sure, given in unseen.items():
            # A thought shortened to the question's budget keeps its options: a plan without checkpoints.
            s = Spending("allocator", plan.label, plan, quick, sure)
            outcome = replay(s, learn, cap, stopping, given)
            found.append((lower(outcome.right, level), -float(outcome.tokens.mean()), s))
    return [max(found, key=lambda f: f[:2])[2]]
