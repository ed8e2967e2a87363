"""Somebody's printed figures beside ours, from a file the reader names; never in place of a number we lack.

The file is a JSON list of `{"id": TABLE, "data": {"columns": [...], "rows": [[...], ...]}}`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.reading import json_of
from thinkcap.report.tables.table import Column, Table

Published = Mapping[str, tuple[list[str], list[list[Any]], int | None]]

_MEASURES: Mapping[str, tuple[str, ...]] = {
    # Our column: what it may be called in print.
    "gap": ("gap_pp", "delta_pp"),
    "tax": ("tax_pp",),
    "observed": ("observed",),
    "used": ("util_pct",),
    "n": ("n_full",),
}


def read(path: Path) -> Published:
    data = json_of(path)
    if not isinstance(data, list):
        raise DataError(f"{path}: wanted a list of published tables, got {type(data).__name__}")
    found = {}
    for i, entry in enumerate(data):
        try:
            if entry.get("kind", "table") != "table":
                continue
            data = entry["data"]
            n = data.get("n") if isinstance(data.get("n"), int) else None
            found[str(entry["id"])] = ([str(c) for c in data["columns"]], list(data["rows"]), n)
        except (KeyError, TypeError, AttributeError) as err:
            raise DataError(f"{path}, entry {i}: no table with id, data.columns and data.rows ({err})") from err
    return found


def beside(table: Table, published: Published) -> Table:
    """The table with a last column 'published', empty where the file has no figure for a row."""
    names, rows, n = published.get(table.name, ([], [], None))
    wanted = (table.measure, *_MEASURES.get(table.measure, ()))
    measure = next((names.index(w) for w in wanted if w in names), None)
    made = []
    for row in table.rows:
        found = ""
        # A column may be named after the row's arm instead: think@512 by level.
        arm = str(row.key.get("config", ""))
        at = measure if measure is not None else (names.index(arm) if arm in names else None)
        for printed in rows:
            if at is not None and _same(row.key, names, printed):
                found = _text(printed[at])
                break
        made.append(replace(row, cells=(*row.cells, found)))
    note = "published: figures of the named file as they stand there, not recomputed"
    column = Column("published" if n is None else f"published (n = {n})")
    return replace(table, columns=(*table.columns, column), rows=tuple(made), notes=(*table.notes, note))


def _same(key: Mapping[str, Any], names: list[str], printed: list[Any]) -> bool:
    if "model" in names and key.get("model"):
        ours, theirs = (str(m).lower().rpartition("/")[2] for m in (key["model"], printed[names.index("model")]))
        if ours.replace("_", "-") != theirs:
            return False
    shared = [n for n in names if n in key and n != "model"]
    return bool(shared) and all(_bare(key[n]) == _bare(printed[names.index(n)]) for n in shared)


def _bare(value: Any) -> str:
    """`town(256->512)`, `town+@4096` and `F1 stage0 ...` by what names them."""
    text = str(value).lower().strip()
    if re.match(r"f[123]\b", text):
        return text[:2]
    return re.sub(r"\(.*?\)|-single| .*", "", text).replace("+", "_plus")


def _text(value: Any) -> str:
    return "" if value is None else str(value)
