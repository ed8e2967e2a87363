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

from thinkcap.core.errors import DataError
from thinkcap.diagnose.findings import pooled
from thinkcap.logs.arms import Arm, matched
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
    """One model on one task. `arms` has seeds pooled; `single` has them apart."""

    model: str
    task: str
    single: tuple[Arm, ...]

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        return tuple(_whole(arm, self.single) for arm in pooled(self.single))

    def series(self, mode: str) -> dict[int, Arm]:
        """Plain arms of a mode by budget. A log may hold only chains read by a pipeline: then those."""
        found: dict[int, Arm] = {}
        # Those with an end are worth more than a bare list of verdicts.
        arms = sorted(self.arms, key=lambda a: (a.ended is None, "text" in a.extra, -a.n))
        for policy in (mode, f"{mode}[heuristic]", f"{mode}[projection]"):
            for arm in arms:
                if arm.method == policy and arm.budget is not None:
                    found.setdefault(arm.budget, arm)
            if found:
                break
        return dict(sorted(found.items()))

    def method(self, *names: str) -> list[Arm]:
        """Arms of a method with any options, by budget."""
        found = [a for a in self.arms if a.policy in names]
        return sorted(found, key=lambda a: (a.budget or 0, a.name))


def _whole(arm: Arm, single: Sequence[Arm]) -> Arm:
    """Pooled seeds keep the columns that every seed has."""
    mine = [a for a in single if (a.name, a.file) == (arm.name, arm.file)]
    if arm.extra or len(mine) < 2 or sum(a.n for a in mine) != arm.n:
        return arm
    common = set.intersection(*(set(a.extra) for a in mine))
    return replace(arm, extra={k: np.concatenate([a.extra[k] for a in mine]) for k in sorted(common)})


def groups(material: Material, want: Want) -> tuple[list[Group], bool]:
    """Groups a table is made for, and whether they are the paper's subject."""
    by: dict[tuple[str, str], list[Arm]] = {}
    for arm in material.records.arms:
        by.setdefault((arm.model, arm.task), []).append(arm)
    every = [Group(model, task, tuple(arms)) for (model, task), arms in by.items()]
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
    try:
        base = arms[0]
        for other in arms[1:]:
            base, _, _ = matched(base, other)
        return [base, *(matched(base, a)[1] for a in arms[1:])]
    except DataError:
        return None


def escalated(arm: Arm) -> np.ndarray | None:
    """Which questions a cascade did not answer with its first try."""
    return np.asarray(arm.extra["stage"] != "probe", dtype=np.bool_) if "stage" in arm.extra else None


def stages(arm: Arm) -> np.ndarray | None:
    """1 first try accepted, 2 chain complete, 3 answered in a pass of its own; None where not stored."""
    if "stage" not in arm.extra:
        return None
    names = arm.extra["stage"].astype(str)
    return np.where(names == "probe", 1, np.where(names == "think", 2, 3))
