"""Which records a table speaks of: the paper's subject where it is there, otherwise all there is.

A table of the paper is a shape filled with one model on one benchmark. Over other records the same shape is
filled with theirs, under their own names, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from thinkcap.diagnose.pairs import Comparisons, aligned_or_none, compare
from thinkcap.diagnose.runs import configurations
from thinkcap.logs.arms import Arm
from thinkcap.report.material import Material


@dataclass(frozen=True)
class Want:
    """The paper's own choice, used where its subject is in the records."""

    model: str = ""
    """A pattern of the model's name; empty: any."""
    task: str = ""
    budgets: tuple[int, ...] = ()
    first: int = 0
    """Only the first so many questions (a pilot is a prefix of the full set)."""
    said: str = ""
    """The subject in words."""


@dataclass(frozen=True)
class Group:
    """One model on one task. `arms` has each configuration once, seeds pooled; `single` has every run apart."""

    model: str
    task: str
    single: tuple[Arm, ...]
    family: Comparisons | None = None
    """Comparisons of all the records this is a part of, so that a pair has one p wherever it is printed."""

    @cached_property
    def comparisons(self) -> Comparisons:
        return self.family or compare(configurations(self.single))

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        return tuple(c.arm for c in configurations(self.single))

    @cached_property
    def runs(self) -> tuple[Arm, ...]:
        """Every run: of a repeated configuration the one that leads, then the others."""
        return tuple(arm for c in configurations(self.single) for arm in (c.arm, *c.others))

    def series(self, mode: str) -> dict[int, Arm]:
        """Plain arms of a mode by budget. A log may hold only chains read by a pipeline: then those."""
        for policy in (mode, f"{mode}[heuristic]", f"{mode}[projection]"):
            found = {a.budget: a for a in self.arms if a.method == policy and a.budget is not None}
            if found:
                return dict(sorted(found.items()))
        return {}

    def method(self, *names: str) -> list[Arm]:
        """Arms of a method with any options, by budget."""
        found = [a for a in self.arms if a.policy in names]
        return sorted(found, key=lambda a: (a.budget or 0, a.name))


def groups(material: Material, want: Want) -> tuple[list[Group], bool]:
    """Groups a table is made for, and whether they are the paper's subject."""
    by: dict[tuple[str, str], list[Arm]] = {}
    for arm in material.records.arms:
        by.setdefault((arm.model, arm.task), []).append(arm)
    every = [
        Group(model, task, tuple(arms), material.comparisons.of(model, task))
        for (model, task), arms in sorted(by.items())
    ]
    meant = [g for g in every if _is(g, want)]
    unnamed = [g for g in every if not g.model and not g.task]
    # A log that names neither model nor task may be the subject; it is shown, as unnamed.
    meant += [g for g in unnamed if g not in meant] if meant or len(unnamed) == len(every) else []
    if meant:
        return [_prefix(g, want.first) for g in meant], True
    return every, False


def _is(group: Group, want: Want) -> bool:
    named = re.search(want.model, group.model.replace("_", "-"), re.IGNORECASE) if want.model else True
    return bool(named) and (not want.task or group.task.startswith(want.task))


def _prefix(group: Group, first: int) -> Group:
    if not first:
        return group
    return Group(group.model, group.task, tuple(a.take(np.arange(min(first, a.n))) for a in group.single))


def joined(every: Sequence[Group], task: str) -> Group | None:
    """Several tasks of one model as one: BBH is five."""
    mine = [g for g in every if g.task.startswith(task)]
    if len({g.model for g in mine}) != 1 or len(mine) < 2:
        return None
    arms = [replace(a, task=task, seed=(a.seed or 0) * 1000 + i) for i, g in enumerate(mine) for a in g.single]
    return Group(mine[0].model, f"{task} ({len(mine)} tasks)", tuple(arms))


def same_questions(*arms: Arm) -> list[Arm] | None:
    """The arms on their common questions, row by row; None where that cannot be shown."""
    return aligned_or_none(arms)


def escalated(arm: Arm) -> np.ndarray | None:
    """Which questions a cascade did not answer with its first try."""
    return np.asarray(arm.extra["stage"] != "probe", dtype=np.bool_) if "stage" in arm.extra else None


def stages(arm: Arm) -> np.ndarray | None:
    """1 first try accepted, 2 chain complete, 3 answered in a pass of its own; None where not stored."""
    if "stage" not in arm.extra:
        return None
    names = arm.extra["stage"].astype(str)
    return np.where(names == "probe", 1, np.where(names == "think", 2, 3))
