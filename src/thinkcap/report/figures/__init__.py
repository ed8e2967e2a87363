"""Figures to print: drawn from the same findings that `thinkcap diagnose` states, as SVG and PNG.

write("accuracy", material, diagnosis, Path("figures"))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.diagnose.diagnosis import Diagnosis
from thinkcap.report.figures import curves, flow, lengths, losses
from thinkcap.report.figures.style import save
from thinkcap.report.figures.subject import NotDrawn, Subject
from thinkcap.report.material import Material
from thinkcap.report.tables.select import groups

FIGURES: Mapping[str, Callable[[Subject], Any]] = {
    "accuracy": curves.accuracy,
    "survival": lengths.survival,
    "hazard": lengths.hazard,
    "causes": losses.causes,
    "recovered": losses.recovered,
    "pareto": curves.pareto,
    "pareto-money": curves.money,
    "tiers": flow.tiers,
    "cascade": flow.cascade,
    "utilisation": curves.used,
    "agreement": losses.agreement,
}
OVERALL: Mapping[str, Callable[[list[Subject]], Any]] = {"tax-by-model": losses.tax_by_model}
NAMES: tuple[str, ...] = (*FIGURES, *OVERALL)


@dataclass(frozen=True)
class Drawn:
    """Files of one figure, or why there are none."""

    name: str
    subject: str
    files: tuple[Path, ...]
    missing: str = ""


def subjects(material: Material, diagnosis: Diagnosis) -> list[Subject]:
    known = {(group.model, group.task): group for group in groups(material)}
    return [Subject(f, known[f.model, f.task], _costs(material, f.model, f.task)) for f in diagnosis.findings]


def _costs(material: Material, model: str, task: str) -> dict[tuple[str, int], float]:
    return {
        (cell["policy"], cell["budget"]): cell["cost_mean"]
        for run in material.runs
        for cell in run.summary["cells"]
        if (cell["model"], cell["task"]) == (model, task) and cell.get("cost_mean") is not None
    }


def write(name: str, drawn_of: Sequence[Subject], folder: Path) -> list[Drawn]:
    """A figure for every subject; one that lacks the records says what it lacks."""
    if name not in NAMES:
        raise ConfigError(f"unknown figure '{name}'{nearest(name, NAMES)}")
    if name in OVERALL:
        return [_one(name, "", lambda: OVERALL[name](list(drawn_of)), folder / name)]
    made = []
    for subject in drawn_of:
        stem = name if len(drawn_of) == 1 else f"{name}-{_plain(subject.title)}"
        made.append(_one(name, subject.title, lambda s=subject: FIGURES[name](s), folder / stem))  # type: ignore[misc]
    return made


def _one(name: str, subject: str, draw: Callable[[], Any], stem: Path) -> Drawn:
    try:
        figure = draw()
    except NotDrawn as err:
        return Drawn(name, subject, (), str(err))
    return Drawn(name, subject, tuple(save(figure, stem)))


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")
