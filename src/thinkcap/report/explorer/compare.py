"""Two runs side by side: paired where the questions are the same, and only there."""

from __future__ import annotations

from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.diagnose.pairs import tested
from thinkcap.logs import Arm
from thinkcap.logs.formats.study import provenance_fields
from thinkcap.report.material import Material, StudyRun
from thinkcap.report.tables.select import ModelTask
from thinkcap.verdict.runs import made_on


def compared(material: Material, run: StudyRun, other: StudyRun) -> dict[str, Any]:
    """For each task, method and cap of both runs: accuracies, and the paired difference or why there is none."""
    cells: list[dict[str, Any]] = []
    pairs = _pairs(material, run, other)
    for (one, two), outcome in zip(pairs, tested([(b, a) for a, b in pairs]), strict=True):
        cell: dict[str, Any] = {"task": one.task, "policy": one.method, "budget": one.budget}
        for name, arm in (("first", one), ("second", two)):
            found = arm.accuracy
            cell[name] = [found.k, found.n, found.value, found.low, found.high]
        if isinstance(outcome, DataError):
            cell["refused"] = str(outcome)
        else:
            made, p_holm = outcome
            counts = [made.test.only_first, made.test.only_second, p_holm]
            cell["paired"] = [made.test.n, made.test.difference, made.low, made.high, *counts]
        cells.append(cell)
    places = [made_on(provenance_fields(r.about)) for r in (run, other)]
    return {"name": other.name, "model": other.about["engine"]["model"], "made": places, "cells": cells}


def _pairs(material: Material, run: StudyRun, other: StudyRun) -> list[tuple[Arm, Arm]]:
    def arms(of: StudyRun) -> dict[tuple[str, str, int | None], Arm]:
        mine = [a for a in material.records.arms if a.file == of.name]
        groups = (
            ModelTask("", t, tuple(a for a in mine if a.task == t)) for t in dict.fromkeys(a.task for a in mine)
        )
        return {(a.task, a.method, a.budget): a for group in groups for a in group.arms}

    first, second = arms(run), arms(other)
    return [(first[key], second[key]) for key in first if key in second]
