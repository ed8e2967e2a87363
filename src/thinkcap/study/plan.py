"""What a study has to do: every question under every policy, budget and seed.

for cell in plan(StudyConfig(limit=50)): ...
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from thinkcap.core.errors import ConfigError
from thinkcap.core.types import Question
from thinkcap.policies.registry import PolicySpec
from thinkcap.study.config import StudyConfig
from thinkcap.tasks import Task, load
from thinkcap.tasks.load import is_file
from thinkcap.tasks.task import reworded

Key = tuple[str, str, str, int, int]
"""Task, question, policy, budget and seed: what tells rows apart."""


@dataclass(frozen=True)
class Cell:
    """One thing to do: a question under a policy at a budget with a seed."""

    task: Task
    question: Question
    spec: PolicySpec
    budget: int
    seed: int
    other: Question
    """Another question of its task, always the same: the next, and after the last the first."""

    @property
    def key(self) -> Key:
        return (self.task.name, self.question.id, self.spec.label, self.budget, self.seed)


def plan(config: StudyConfig) -> list[Cell]:
    """All cells, largest budget first, so that one generation serves every smaller budget."""
    if (config.map or config.kind) and not any(map(is_file, config.tasks)):
        raise ConfigError("--map and --kind are for a file of your own questions; the tasks name none")
    take = partial(load, data=config.data, limit=config.limit, offset=config.offset, columns=config.map)
    loaded = [
        (seed, reworded(take(name, seed=seed, kind=config.kind), config.prompts))
        for name in config.tasks
        for seed in config.seeds
    ]
    cells = [
        Cell(task, question, spec, budget, seed, other)
        for spec, budget in config.cells
        for seed, task in loaded
        for question, other in zip(task.questions, (*task.questions[1:], *task.questions[:1]), strict=True)
    ]
    if not cells:
        raise ConfigError("the study has no question to ask; look at --limit and --offset")
    return cells
