"""Records in, a diagnosis out: findings per model, tests as one family, comparisons, verdict, statistics.

>>> diagnose(read([Path("rows.parquet")])).to_dict()["verdict"]      # doctest: +SKIP
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.findings import Findings, findings, pooled
from thinkcap.diagnose.passes import thinking
from thinkcap.diagnose.transfer import Transfer, transfers
from thinkcap.logs.arms import Arm, Records, matched
from thinkcap.paper.statistics import statistics
from thinkcap.statistics.paired import PairedDifference, difference, holm, least_detectable
from thinkcap.statistics.runs import Flips, flips
from thinkcap.statistics.survival import Comparison, Survival, compare
from thinkcap.verdict.origin import other_hardware
from thinkcap.verdict.verdict import verdict
from thinkcap.verdict.words import Sentence

VERSION = 1
_MOST_TESTS = 1000
"""A fine study has thousands of possible pairs; beyond this only pairs with the plain modes are tested."""


@dataclass(frozen=True)
class Test:
    """A paired comparison of two arms, or why it was refused."""

    first: str
    second: str
    result: PairedDifference | None
    p_holm: float | None
    least_detectable: float | None
    """At fewer than 100 questions: the smallest difference the test would see with power 0.8."""
    refused: str | None
    model: str
    task: str


@dataclass(frozen=True)
class Repeat:
    """Two runs of one configuration."""

    arm: str
    first: str
    second: str
    flips: Flips
    first_made: Mapping[str, str]
    """Hardware, dtype, engine, prompts and grader of each, where the runs say so."""
    second_made: Mapping[str, str]

    @property
    def changed(self) -> tuple[str, ...]:
        """What is known of both and differs."""
        told = [k for k in self.first_made if k in self.second_made]
        return tuple(k for k in told if self.first_made[k] != self.second_made[k])


@dataclass(frozen=True)
class Diagnosis:
    rows: int
    notes: tuple[str, ...]
    findings: tuple[Findings, ...]
    tests: tuple[Test, ...]
    repeats: tuple[Repeat, ...]
    models: dict[str, Comparison]
    """Chain lengths of two models: 'A then B' is about B's being longer."""
    cross_scale: tuple[Transfer, ...]
    """What a split measured on one model or task should win another."""
    verdict: tuple[Sentence, ...]
    statistics: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Everything under stable names (docs/diagnosis.md), ready for JSON."""
        return {"version": VERSION, **_plain(self)}


def diagnose(records: Records, *, draws: int = 1000, seed: int = 0) -> Diagnosis:
    """All that these records allow. `draws=0` leaves out bootstrap intervals of the crossover."""
    groups: dict[tuple[str, str], list[Arm]] = {}
    judged, unjudged = _judged(records)
    for arm in judged:
        groups.setdefault((arm.model, arm.task), []).append(arm)
    found = tuple(findings(model, task, arms, draws=draws, seed=seed) for (model, task), arms in groups.items())
    tests: list[Test] = []
    repeats: list[Repeat] = []
    for arms in groups.values():
        ready = pooled(arms)
        repeats += _repeats(ready)
        tests += _tests(ready)
    notes = [*records.notes, *unjudged, *(r for f in found for r in f.refused), *other_hardware(records.arms)]
    if len(tests) >= _MOST_TESTS:
        notes.append(f"only {_MOST_TESTS} of the possible paired tests were made, those with plain modes first")
    if any(a.seed is not None and a.seed > 1 for a in records.arms) and _several_seeds(records.arms):
        notes.append("several samples per question are pooled; intervals treat them as independent")
    family = _with_holm(tests)
    models = _models(groups)
    carried = transfers(found)
    return Diagnosis(
        records.rows,
        tuple(dict.fromkeys(notes)),
        found,
        tuple(family),
        tuple(repeats),
        models,
        carried,
        verdict(found, family, repeats, models, carried),
        statistics(Records(tuple(judged), records.notes)),
    )


def _judged(records: Records) -> tuple[list[Arm], list[str]]:
    """The rows with a verdict, and a note for the others."""
    missing = {a.file: 0 for a in records.arms if not a.is_judged}
    for arm in records.arms:
        if arm.file in missing:
            missing[arm.file] += arm.n - arm.judged().n
    arms = [arm.judged() for arm in records.arms]
    if records.rows and not any(a.n for a in arms):
        raise DataError(
            f"none of the {records.rows} rows has a verdict or a gold answer; add one (--map gold=COLUMN) to "
            f"learn whether thinking pays"
        )
    said = [f"{file}: {n} rows have no verdict and are left out of accuracies" for file, n in missing.items()]
    return [a for a in arms if a.n], said


def _several_seeds(arms: tuple[Arm, ...]) -> bool:
    return len({(a.name, a.file, a.seed) for a in arms}) > len({(a.name, a.file) for a in arms})


def _same(one: Arm, two: Arm) -> bool:
    """A setting that only one of two runs could show (no chain was cut in the other) does not tell them apart."""
    return one.name == two.name and one.stages.agree(two.stages)


def _repeats(arms: list[Arm]) -> list[Repeat]:
    result = []
    for one, two in combinations(arms, 2):
        if _same(one, two) and one.file != two.file:
            try:
                a, b, _ = matched(one, two)
            except DataError:
                continue
            both = a.tokens is not None and b.tokens is not None
            found = flips(a.right, b.right, a.tokens if both else None, b.tokens if both else None)
            result.append(Repeat(one.name, one.file, two.file, found, one.provenance, two.provenance))
    return result


def _pairs(arms: list[Arm]) -> list[tuple[Arm, Arm]]:
    """Arms at the same budget, and methods without a single budget."""
    pairs = [
        (a, b)
        for a, b in combinations(arms, 2)
        if not _same(a, b) and (a.budget == b.budget or None in (a.budget, b.budget))
    ]
    if len(pairs) > _MOST_TESTS:
        pairs = [(a, b) for a, b in pairs if a.mode or b.mode]
    return pairs[:_MOST_TESTS]


def _tests(arms: list[Arm]) -> list[Test]:
    result = []
    for one, two in _pairs(arms):
        try:
            a, b, how = matched(one, two)
            done = difference(a.right, b.right, how)
        except DataError as err:
            result.append(Test(one.name, two.name, None, None, None, str(err), one.model, one.task))
            continue
        small = least_detectable(a.n) if a.n < 100 else None
        result.append(Test(one.name, two.name, done, None, small, None, one.model, one.task))
    return result


def _with_holm(tests: list[Test]) -> list[Test]:
    made = {str(i): t.result.test.p for i, t in enumerate(tests) if t.result is not None}
    adjusted = holm(made)
    return [dataclasses.replace(t, p_holm=adjusted.get(str(i))) for i, t in enumerate(tests)]


def _models(groups: Mapping[tuple[str, str], list[Arm]]) -> dict[str, Comparison]:
    """Longest think arm of each model on the same task, two at a time."""
    longest: dict[tuple[str, str], Arm] = {}
    for key, arms in groups.items():
        usable = [
            a
            for a in arms
            if a.method == thinking(arms) and a.tokens is not None and a.ended is not None and a.budget
        ]
        if usable:
            longest[key] = max(usable, key=lambda a: a.budget or 0)
    result = {}
    for one, two in combinations(longest, 2):
        if one[1] == two[1] and one[0] != two[0]:
            a, b = longest[one], longest[two]
            if a.ends.any() and b.ends.any():
                result[f"{one[0]} then {two[0]}"] = compare(a.lengths, a.ends, b.lengths, b.ends)
    return result


def _plain(value: Any) -> Any:
    """Dataclasses with their properties, arrays and numbers as JSON can hold them; nan and infinity as null."""
    if isinstance(value, Survival):
        return _curve(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        derived = [n for n, p in vars(type(value)).items() if isinstance(p, property)]
        return named | {n: _plain(getattr(value, n)) for n in derived}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return [_plain(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _curve(curve: Survival) -> dict[str, Any]:
    """A survival curve thinned to at most 200 steps; quantiles are of the whole curve."""
    steps = len(curve.lengths)
    pick = np.unique(np.linspace(0, max(steps - 1, 0), min(steps, 200)).astype(np.int64))
    low, high = curve.quantile_interval()
    whole = {name: getattr(curve, name) for name in ("n", "censored", "last", "level", "median")}
    quantiles = {"median_low": low, "median_high": high, "q25": curve.quantile(0.25), "q75": curve.quantile(0.75)}
    columns = {name: _plain(getattr(curve, name)[pick]) for name in ("lengths", "share", "low", "high")}
    return {**whole, **quantiles, **columns}
