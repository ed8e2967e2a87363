"""What the paper filled its tables with: one model on one benchmark, read by one pipeline.

Over other records the same table is filled with theirs, under their own names, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thinkcap.logs import Arm
from thinkcap.report.material import Material
from thinkcap.report.tables.select import ModelTask, groups

NAMES = {
    "qwen3-8b": "Qwen3-8B",
    "27b": "Qwen3.5-27B",
    "qwen3-32b": "Qwen3-32B",
    "deepseek": "DeepSeek-R1-Distill-Llama-8B",
}


@dataclass(frozen=True)
class PaperSubject:
    model: str = ""
    """A part of the model's name, in small letters; empty: any."""
    task: str = ""
    budgets: tuple[int, ...] = ()
    first: int = 0
    """Only this many first questions: a pilot is a prefix of the full set."""
    sampled: bool = False
    """Temperature above 0."""

    @property
    def said(self) -> str:
        """In words; empty where any run will do."""
        if not self.model and not self.task:
            return ""
        words = f"{NAMES.get(self.model, 'any model')} on {self.task or 'any task'}"
        return f"{words}, temperature above 0" if self.sampled else words


ANY = PaperSubject()


def of_subject(material: Material, subject: PaperSubject) -> tuple[list[ModelTask], bool]:
    """Groups a table is made for, and whether they are the paper's subject."""
    if subject.sampled:
        arms = tuple(a for a in material.records.arms if (material.temperature(a) or 0) > 0)
        material = replace(material, records=replace(material.records, arms=arms))
    every = groups(material)
    meant = [g for g in every if _is(g, subject)]
    unnamed = [g for g in every if not g.model and not g.task]
    # A log that names neither model nor task may be the subject; it is shown, as unnamed.
    meant += [g for g in unnamed if g not in meant] if meant or len(unnamed) == len(every) else []
    if meant:
        return [_prefix(_heuristic(g), subject.first) for g in meant], True
    return every, False


def _is(group: ModelTask, subject: PaperSubject) -> bool:
    named = re.search(subject.model, group.model, re.IGNORECASE) if subject.model else True
    return bool(named) and group.task.startswith(subject.task)


def _heuristic(group: ModelTask) -> ModelTask:
    """The paper reads cut chains by guessing; where a run holds that pipeline, bare chains step back."""
    if not any(a.policy == "think[heuristic]" for a in group.single):
        return group
    return replace(group, single=tuple(a for a in group.single if a.policy != "think"))


def _prefix(group: ModelTask, first: int) -> ModelTask:
    if not first:
        return group
    return ModelTask(group.model, group.task, tuple(a.take(np.arange(min(first, a.n))) for a in group.single))


def joined(every: Sequence[ModelTask], task: str) -> ModelTask | None:
    """Several tasks of one model as one: BBH is five."""
    mine = [g for g in every if g.task.startswith(task)]
    if len({g.model for g in mine}) != 1 or len(mine) < 2:
        return None
    arms: list[Arm] = [
        replace(a, task=task, seed=(a.seed or 0) * 1000 + i) for i, g in enumerate(mine) for a in g.single
    ]
    return ModelTask(mine[0].model, f"{task} ({len(mine)} tasks)", tuple(arms))
