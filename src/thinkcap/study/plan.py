"""What a study has to do: every question under every policy, budget and seed.

A plan is a sequence that makes its cells when they are asked for, so that millions of them weigh nothing; it also
tells the place of a row by its key.

for cell in plan(StudyConfig(limit=50)): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import overload

import msgspec
import numpy as np

from thinkcap.core.errors import ConfigError
from thinkcap.core.types import Question
from thinkcap.policies.registry import PolicySpec
from thinkcap.statistics.arrays import Ints, Whole, distinct
from thinkcap.study.config import StudyConfig
from thinkcap.tasks import Task, load
from thinkcap.tasks.load import is_file
from thinkcap.tasks.task import reworded

Key = tuple[str, str, str, int, int]
"""Task, question, policy, budget and seed: what tells rows apart."""
MISSING = -1


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as the study asks it: of which task, with which seed."""

    task: Task
    question: Question
    seed: int
    other: Question
    """Another question of its task, always the same: the next, and after the last the first."""


class Cell(msgspec.Struct, frozen=True, gc=False):
    """One thing to do: a question under a policy at a budget with a seed."""

    task: Task
    question: Question
    spec: PolicySpec
    budget: int
    seed: int
    other: Question

    @property
    def key(self) -> Key:
        return (self.task.name, self.question.id, self.spec.label, self.budget, self.seed)


class StudyPlan(Sequence[Cell]):
    """All cells, largest budget first, so that one generation serves every smaller budget."""

    def __init__(self, ways: Iterable[tuple[PolicySpec, int]], asked: Iterable[Asking]) -> None:
        # Named twice, a policy or a question is still run once: its rows could not be told apart.
        by_way = {(spec.label, budget): (spec, budget) for spec, budget in ways}
        by_question = {(a.task.name, a.question.id, a.seed): a for a in asked}
        self.ways = tuple(by_way.values())
        self.asked = tuple(by_question.values())
        self._way = {name: place * len(self.asked) for place, name in enumerate(by_way)}
        self._asked = {name: place for place, name in enumerate(by_question)}
        self._count = len(self.ways) * len(self.asked)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Cell: ...
    @overload
    def __getitem__(self, at: slice) -> list[Cell]: ...
    def __getitem__(self, at: int | slice) -> Cell | list[Cell]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        if not -self._count <= at < self._count:
            raise IndexError(at)
        way, question = divmod(at % self._count, len(self.asked))
        (spec, budget), asking = self.ways[way], self.asked[question]
        return Cell(asking.task, asking.question, spec, budget, asking.seed, asking.other)

    def __iter__(self) -> Iterator[Cell]:
        return (self[at] for at in range(len(self)))

    def place(self, task: str, question: str, policy: str, budget: int, seed: int) -> int:
        """Where the row of this key stands in the plan; MISSING where the study does not ask for it."""
        way = self._way.get((policy, budget))
        asked = self._asked.get((task, question, seed))
        return MISSING if way is None or asked is None else way + asked

    def places(self, keys: Sequence[Whole], texts: Sequence[Sequence[str]]) -> Ints:
        """The places of many rows at once: columns of task, question and policy as codes with their texts, budgets
        and seeds as they are."""
        tasks, questions, policies, budgets, seeds = keys
        way = _looked_up((policies, budgets), lambda p, b: self._way.get((texts[2][p], b)))
        asked = _looked_up(
            (tasks, questions, seeds), lambda t, q, s: self._asked.get((texts[0][t], texts[1][q], s))
        )
        return np.where((way < 0) | (asked < 0), MISSING, way + asked)


def _looked_up(columns: Sequence[Whole], find: Callable[..., int | None]) -> Ints:
    """What is found for each row, looked for once for each different one."""
    first, number = distinct(columns)
    found = [find(*row) for row in zip(*(column[first].tolist() for column in columns), strict=True)]
    return np.array([MISSING if at is None else at for at in found], dtype=np.int64)[number]


def plan(config: StudyConfig) -> StudyPlan:
    if (config.map or config.kind) and not any(map(is_file, config.tasks)):
        raise ConfigError("--map and --kind are for a file of your own questions; the tasks name none")
    take = partial(load, data=config.data, limit=config.limit, offset=config.offset, columns=config.map)
    loaded = [
        (seed, reworded(take(name, seed=seed, kind=config.kind), config.prompts))
        for name in config.tasks
        for seed in config.seeds
    ]
    asked = [
        Asking(task, question, seed, other)
        for seed, task in loaded
        for question, other in zip(task.questions, (*task.questions[1:], *task.questions[:1]), strict=True)
    ]
    found = StudyPlan(config.cells, asked)
    if not found:
        raise ConfigError("the study has no question to ask; check --limit and --offset")
    return found
