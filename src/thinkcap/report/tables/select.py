"""Which records a table speaks of: one model on one task at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thinkcap.diagnose.pairs import Comparisons, aligned_or_none, compare
from thinkcap.diagnose.runs import by_model_and_task, configurations
from thinkcap.logs import Arm
from thinkcap.policies.facts import Facts
from thinkcap.policies.registry import declared
from thinkcap.report.material import Material


@dataclass(frozen=True)
class ModelTask:
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
        return self._by_budget(a for a in self.arms if a.policy in names)

    def those(self, wanted: Callable[[Facts], bool]) -> list[Arm]:
        """Arms of all methods that are what is wanted, by budget."""
        return self._by_budget(a for a in self.arms if wanted(declared(a.policy)))

    @staticmethod
    def _by_budget(arms: Iterable[Arm]) -> list[Arm]:
        return sorted(arms, key=lambda a: (a.budget or 0, a.name))


def groups(material: Material) -> list[ModelTask]:
    return [
        ModelTask(*key, tuple(arms), material.comparisons.of(*key))
        for key, arms in by_model_and_task(material.records.arms).items()
    ]


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
