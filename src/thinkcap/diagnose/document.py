"""A diagnosis as the JSON that others build on (docs/diagnosis.md): plain objects, shares as fractions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from thinkcap.diagnose.diagnosis import Diagnosis
from thinkcap.diagnose.findings import Findings
from thinkcap.statistics.survival import Survival

VERSION = 2


def document(found: Diagnosis) -> dict[str, Any]:
    """Everything that was found; what is said about it is `verdict`'s."""
    return {
        "version": VERSION,
        "rows": found.rows,
        "comparisons": plain(found.comparisons.to_list()),
        "refused": plain(found.refused),
        "cuts": plain([entry for f in found.findings for entry in cuts(f)]),
        "modal": plain([entry for f in found.findings for entry in modal(f)]),
        "findings": [_findings(f) for f in found.findings],
        "repeats": plain(found.repeats),
        "elsewhere": plain(found.elsewhere),
        "models": plain(found.models),
        "cross_scale": plain(found.cross_scale),
        "traffic": plain(found.traffic),
        "shadows": plain(found.shadows),
        "labelled": plain(found.labelled),
    }


def named(source: object, *names: str, **more: Any) -> dict[str, Any]:
    """The named attributes of a finding, and what else belongs beside them."""
    return {name: getattr(source, name) for name in names} | more


def cuts(found: Findings) -> list[dict[str, Any]]:
    """The advantage of extracting over thinking on, at each cut, on the chains longer than the cut."""
    known = found.splitting.cuts
    survivors = () if known is None else known.survivors
    where = named(found, "model", "task")
    return [
        where | named(c, "cut", "n", "advantage") | {"extract": c.extraction, "continue": c.continuation}
        for c in survivors
    ]


def modal(found: Findings) -> list[dict[str, Any]]:
    """The inequality pi eta > delta a_c + (1 - delta) epsilon for every split with known stages."""
    where = named(found, "model", "task")
    return [
        where
        | named(e, "split", "coupled", "observed", cut=e.cut_at, alpha_c=e.modal.alpha_c_plus)
        | named(e.modal, "delta", "pi_eta", "epsilon", "margin", "holds")
        for e in found.splitting.extractions
        if e.modal is not None
    ]


def _findings(found: Findings) -> dict[str, Any]:
    """Without what stands in the lists above it, or in the advice."""
    shown: dict[str, Any] = plain(found)
    shown.pop("recommendation")
    splitting = shown["splitting"]
    known = splitting.pop("cuts")
    splitting["cohort"] = None if known is None else known["cohort"]
    for extraction in splitting["extractions"]:
        for name in ("modal", "observed"):
            extraction.pop(name)
    for row in shown["budgets"]:
        row.pop("comparison")
    return shown


def plain(value: Any) -> Any:
    """Dataclasses with their properties, arrays and numbers as JSON can hold them; nan and infinity as null."""
    if isinstance(value, Survival):
        return _curve(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        derived = [n for n, p in vars(type(value)).items() if isinstance(p, property)]
        return named | {n: plain(getattr(value, n)) for n in derived}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _curve(curve: Survival) -> dict[str, Any]:
    """A survival curve thinned to at most 200 steps; quantiles are of the whole curve."""
    pick = curve.steps(200)
    low, high = curve.quantile_interval()
    whole = {name: getattr(curve, name) for name in ("n", "censored", "last", "level", "median")}
    quantiles = {"median_low": low, "median_high": high, "q25": curve.quantile(0.25), "q75": curve.quantile(0.75)}
    columns = {name: plain(getattr(curve, name)[pick]) for name in ("lengths", "share", "low", "high")}
    return {**whole, **quantiles, **columns}
