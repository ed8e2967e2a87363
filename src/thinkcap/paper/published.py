"""Printed figures beside ours, from a file the reader names; never in place of a number we lack.

The file is a JSON list of `{"id": TABLE, "data": {"model", "benchmark", "columns": [...], "rows": [[...], ...]}}`.
A printed figure stands beside ours only where model, task, mode, method and budgets are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.models import same_model
from thinkcap.logs.reading import Log
from thinkcap.paper.ways import Way, configurations, way_of
from thinkcap.report.tables.table import Column, Table, TableRow

_MEASURES: Mapping[str, tuple[str, ...]] = {
    # Our column: what it is called in print.
    "n": ("n", "n_full"),
    "correct": ("correct",),
    "acc": ("acc",),
    "95 %": ("ci", "acc_ci"),
    "tokens": ("avg_tok", "total_tok"),
    "tokens with projection": ("avg_tok",),
    "ended": ("early_stop", "natstop", "natstop_pct"),
    "stated": ("has_final",),
    "projected": ("projection_rate",),
    "tax": ("tax_pp",),
    "gap": ("gap_pp", "delta_pp"),
    "nothink": ("nothink_acc",),
    "nothink 95 %": ("nothink_ci",),
    "think": ("think_acc",),
    "think 95 %": ("think_ci",),
    "only nothink": ("wins",),
    "only think": ("losses",),
    "p (Holm)": ("p",),
    "token ratio": ("tok_ratio",),
    "mrsd minus method": ("mrsd_minus_method_pp",),
    "mrsd only": ("mrsd_wins",),
    "method only": ("mrsd_losses",),
    "minus town": ("delta_vs_town_pp",),
    "first try": ("stage1",),
    "chain complete": ("stage2",),
    "answer pass": ("stage3",),
    "answer pass acc": ("s3_acc",),
    "answer pass 95 %": ("s3_ci",),
    "complete of escalated": ("natstop_pct",),
    "ended at B1": ("early_stop",),
    "routed": ("routed", "route_pct"),
    "recovered": ("R_plus", "recov"),
    "regretted": ("R_minus", "regret"),
    "net": ("net",),
    "acc sd": ("acc_sd",),
    "cut": ("budget_hit",),
    "against nothink": ("vs_nothink256_pp",),
    "F": ("F_L",),
    "alpha_c": ("alpha_c",),
    "alpha_t": ("alpha_t",),
    "predicted": ("predicted",),
    "observed": ("observed",),
    "iris": ("iris",),
    "iris 95 %": ("iris_ci",),
    "town": ("town",),
    "town 95 %": ("town_ci",),
    "iris tokens": ("iris_tok",),
    "town tokens": ("town_tok",),
    "difference": ("delta_pp",),
    "baseline": ("baseline",),
    "improved": ("improved",),
    "used": ("util_pct",),
    "count": ("count",),
    "share": ("pct",),
    "share of wrong": ("pct",),
    "cumulative": ("cumul_acc",),
}


@dataclass(frozen=True)
class Printed:
    """One printed row: what it is about, and its figures by the name in print."""

    model: str
    task: str
    ways: frozenset[Way]
    place: Mapping[str, str]
    """What tells rows of one configuration apart: level, category, seed, role, failure."""
    figures: Mapping[str, Any]


Published = Mapping[str, tuple[Printed, ...]]


def read(path: Path) -> Published:
    listed = Log(path).document
    if not isinstance(listed, list):
        raise DataError(f"{path}: wanted a list of published tables, got {type(listed).__name__}")
    found = {}
    for i, entry in enumerate(listed):
        try:
            if entry.get("kind", "table") == "table" and not entry["data"].get("missing"):
                found[str(entry["id"])] = tuple(_rows(str(entry["id"]), entry["data"]))
        except (KeyError, TypeError, AttributeError, ValueError) as err:
            raise DataError(f"{path}, entry {i}: no table with id, data.columns and data.rows ({err})") from err
    return found


def _rows(table: str, data: Mapping[str, Any]) -> Iterator[Printed]:
    columns = [str(c) for c in data["columns"]]
    about = {k: v for k, v in data.items() if k not in ("columns", "rows") and isinstance(v, str | int)}
    for values in data["rows"]:
        row = {**about, **dict(zip(columns, values, strict=True))}
        if isinstance(data.get("tax_pp"), Mapping) and row.get("mode") == "think":
            row["tax_pp"] = data["tax_pp"].get(str(row.get("budget")))
        for model, task, ways, role, figures in configurations(table, row):
            known = {"role": role, "level": row.get("level"), "category": row.get("category")}
            known["seed"] = row["seed"] if table == "27b-multiseed" else None
            known["failure"] = str(row["mode"])[:2] if table == "failure-modes" else None
            place = {k: str(v) for k, v in known.items() if v is not None}
            yield Printed(same_model(model), task, ways, place, figures)


def beside(table: Table, published: Published) -> Table:
    """A printed column for every measure both have, empty where no printed row is about the same."""
    rows = published.get(table.name, ())
    known = {name for row in rows for name in row.figures}
    shared = [c for c in table.columns if known & set(_MEASURES.get(c.name, ()))]
    made = []
    for row in table.rows:
        match = next((printed for printed in rows if _same(row, printed)), None)
        made.append(replace(row, cells=(*row.cells, *(_figure(match, c.name) for c in shared))))
    note = "published: figures from the named file, where model, task, method and budgets agree"
    notes = [*table.notes, note]
    if any(c.name == "ended" for c in shared):
        notes.append("published stop rates count answers shorter than 0.95 of the cap, so they lie below `ended`")
    columns = (*table.columns, *(Column(f"published {c.name}") for c in shared))
    return replace(table, columns=columns, rows=tuple(made), notes=tuple(notes))


def _figure(printed: Printed | None, column: str) -> str:
    if printed is None:
        return ""
    value = next((printed.figures[n] for n in _MEASURES[column] if printed.figures.get(n) is not None), None)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " to ".join(map(str, value))
    return "" if value is None else str(value)


def _same(row: TableRow, printed: Printed) -> bool:
    if not row.arms or any(
        same_model(a.model) != printed.model or str(row.key.get("task", a.task)) != printed.task for a in row.arms
    ):
        return False
    if any(str(row.key.get(name)) != value for name, value in printed.place.items()):
        return False
    ours = [way_of(a) for a in row.arms]
    return len(set(ours)) == len(printed.ways) and all(
        any(mine.agrees(theirs) for theirs in printed.ways) for mine in ours
    )
