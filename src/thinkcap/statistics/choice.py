"""Choose a configuration for every budget, among configurations measured on the same questions.

`diagnose` takes its advice from here and `calibrate` its profile, so the two cannot disagree.

- A configuration that spent more than its budget on any question is no candidate.
- Candidates are compared on the questions that all of them answered. Those measured on other questions form a
  group of their own.
- A configuration measured at a smaller budget is a candidate for every larger one, and no choice is less accurate
  than the choice of a smaller budget.

    found = recommend([Candidate("nothink@64", "nothink", 64, question, correct, cost), ...])
    found.groups[0].choose()[-1].name
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np

from thinkcap.statistics.arrays import Bools, Ints, aligned
from thinkcap.statistics.clusters import repeated
from thinkcap.statistics.precision import accuracy

COVERAGE = 0.95
"""Share of a group's questions that a configuration must answer to be in it: a few rows may have failed."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """The graded rows of one configuration. `question` names the question of a row across all candidates."""

    name: str
    method: str
    """The policy with its options, without the budget."""
    budget: int
    question: Ints
    correct: Bools
    cost: Ints | None = None
    """Tokens spent per row; None if they were not stored."""

    def __post_init__(self) -> None:
        columns = {"question": self.question, "correct": self.correct}
        aligned(**columns, **({} if self.cost is None else {"cost": self.cost}))

    @property
    def over_budget(self) -> int:
        """Rows that cost more than the budget."""
        return 0 if self.cost is None else int((self.cost > self.budget).sum())


@dataclass(frozen=True)
class Scored:
    """A candidate on the questions of its group."""

    name: str
    method: str
    budget: int
    n: int
    accuracy: float
    lower_bound: float
    mean_cost: float | None

    def preference(self) -> tuple[float, float, int, str, float, int]:
        """Sort key, best first: the highest lower bound, then the cheapest. An unknown cost may be the budget."""
        cost = float(self.budget) if self.mean_cost is None else self.mean_cost
        return -self.lower_bound, cost, self.budget, self.name, -self.accuracy, -self.n


@dataclass(frozen=True)
class BudgetChoice:
    """What to run under `budget` tokens; `scored.budget` is the budget it was measured with."""

    budget: int
    scored: Scored

    @property
    def name(self) -> str:
        return self.scored.name


@dataclass(frozen=True)
class QuestionGroup:
    """Candidates measured on the same questions, in the order of their names."""

    questions: int
    """How many questions all of them answered."""
    scored: tuple[Scored, ...]

    @property
    def methods(self) -> int:
        return len({one.method for one in self.scored})

    def choose(self, methods: Collection[str] | None = None) -> tuple[BudgetChoice, ...]:
        """One choice per measured budget, in ascending order; `methods` narrows the candidates."""
        allowed = [one for one in self.scored if methods is None or one.method in methods]
        found: list[BudgetChoice] = []
        floor = 0.0
        for budget in sorted({one.budget for one in allowed}):
            within = [one for one in allowed if one.budget <= budget and one.accuracy >= floor]
            best = min(within, key=Scored.preference)
            floor = best.accuracy
            found.append(BudgetChoice(budget, best))
        return tuple(found)

    def widen(self, choice: BudgetChoice) -> Scored:
        """The choice's method at the largest budget within the choice's at which it does exactly as well.

        A larger budget truncates fewer of the requests that are longer than any measured question.
        """
        best = choice.scored
        same = (best.method, best.accuracy, best.lower_bound, best.mean_cost, best.n)
        equal = [
            one
            for one in self.scored
            if one.budget <= choice.budget
            and (one.method, one.accuracy, one.lower_bound, one.mean_cost, one.n) == same
        ]
        return max(equal, key=lambda one: one.budget)


@dataclass(frozen=True)
class Exclusion:
    """A configuration that may not be chosen, and why."""

    name: str
    why: Literal["over budget", "other questions"]
    n: int
    """Its rows if it is over budget, else the questions of the group it is not in."""
    count: int
    """How many of its rows are over budget, or how many of those questions it answered."""
    most: int | None = None
    """The highest cost of a row, if it is over budget."""

    @property
    def reason(self) -> str:
        if self.why == "over budget":
            return f"exceeded its budget on {self.count:,} of {self.n:,} answers (at most {self.most:,} tokens)"
        return f"was measured on other questions ({self.count:,} of these {self.n:,})"


@dataclass(frozen=True)
class Recommendation:
    groups: tuple[QuestionGroup, ...] = ()
    """The one to use first: groups with a choice between methods come first, then those with most questions."""
    excluded: tuple[Exclusion, ...] = ()
    """From the first group, in the order of their names."""


def recommend(candidates: Iterable[Candidate], level: float = 0.95) -> Recommendation:
    """Group what may be chosen by its questions. The order of candidates and of their rows changes nothing."""
    every = sorted((c for c in candidates if len(c.correct)), key=lambda c: (c.name, c.budget))
    fitting = [(c, np.unique(c.question)) for c in every if not c.over_budget]
    members = [_members(leader, fitting) for leader in _leaders(fitting)]
    # Sorting is stable, and leaders come by size.
    members.sort(key=lambda group: len({c.method for c, _ in group}) < 2)
    excluded = [
        Exclusion(c.name, "over budget", len(c.correct), c.over_budget, int(c.cost.max()))
        for c in every
        if c.over_budget and c.cost is not None
    ]
    groups = [_scored(group, level) for group in members]
    if members:
        inside = {id(c) for c, _ in members[0]}
        common = _common([asked for _, asked in members[0]])
        excluded += [
            Exclusion(c.name, "other questions", len(common), _shared(asked, common))
            for c, asked in fitting
            if id(c) not in inside
        ]
    return Recommendation(tuple(groups), tuple(sorted(excluded, key=lambda e: (e.name, e.why, e.n, e.count))))


_Fitting = Sequence[tuple[Candidate, Ints]]


def _leaders(fitting: _Fitting) -> list[Ints]:
    """Sets of questions that begin a group, the largest first: each lacks some of every larger one."""
    names: dict[bytes, list[str]] = {}
    sets: dict[bytes, Ints] = {}
    for candidate, asked in fitting:
        names.setdefault(asked.tobytes(), []).append(candidate.name)
        sets[asked.tobytes()] = asked
    leaders: list[Ints] = []
    # By names, not by the numbers of questions: those may depend on the order in which files were read.
    for key in sorted(sets, key=lambda k: (-len(sets[k]), -len(names[k]), names[k])):
        if not any(_covers(sets[key], leader) for leader in leaders):
            leaders.append(sets[key])
    return leaders


def _members(leader: Ints, fitting: _Fitting) -> list[tuple[Candidate, Ints]]:
    """Whoever answered the leader's questions, or more than those."""
    return [(c, asked) for c, asked in fitting if _covers(asked, leader)]


def _covers(asked: Ints, leader: Ints) -> bool:
    return _shared(asked, leader) >= COVERAGE * len(leader)


def _shared(one: Ints, two: Ints) -> int:
    if len(one) == len(two) and np.array_equal(one, two):
        return len(one)
    return len(np.intersect1d(one, two, assume_unique=True))


def _common(sets: Sequence[Ints]) -> Ints:
    return reduce(
        lambda one, two: one if np.array_equal(one, two) else np.intersect1d(one, two, assume_unique=True), sets
    )


def _scored(group: _Fitting, level: float) -> QuestionGroup:
    common = _common([asked for _, asked in group])
    scored = [_score(c, None if len(asked) == len(common) else common, level) for c, asked in group]
    return QuestionGroup(len(common), tuple(one for one in scored if one is not None))


def _score(candidate: Candidate, common: Ints | None, level: float) -> Scored | None:
    rows = slice(None) if common is None else np.isin(candidate.question, common)
    correct, question = candidate.correct[rows], candidate.question[rows]
    if not len(correct):
        return None
    found = accuracy(*_sort_rows(correct, repeated(question)), level)
    cost = None if candidate.cost is None else float(candidate.cost[rows].mean())
    return Scored(
        candidate.name,
        candidate.method,
        candidate.budget,
        len(correct),
        found.value or 0.0,
        found.low or 0.0,
        cost,
    )


def _sort_rows(correct: Bools, question: Ints | None) -> tuple[Bools, Ints | None]:
    """The same counts per question in a canonical order: the last bit of a sum of floats depends on the order."""
    if question is None:
        return correct, None
    _, place, size = np.unique(question, return_inverse=True, return_counts=True)
    good = np.bincount(place, correct).astype(np.int64)
    order = np.lexsort((good, size))
    counts = np.stack([good[order], (size - good)[order]], axis=1).ravel()
    return np.repeat(np.tile([True, False], len(size)), counts), np.repeat(np.arange(len(size)), size[order])
