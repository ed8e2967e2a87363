"""Per-sample JSON of the nips-adathink experiments: seven shapes, recognised by content, not by file name.

Their `hit_budget` means tokens >= int(0.95 b) in most files; it is kept as a flag, never taken for the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs import Arm, Questions
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.documents import RowList, runs_in
from thinkcap.logs.place import numbered
from thinkcap.logs.reading import Log, verdict, whole
from thinkcap.logs.said import Found, Said
from thinkcap.paper import authors_csv
from thinkcap.paper.authors_about import Format, about_run, finish, gold_content
from thinkcap.paper.authors_methods import cascade, compact, entropy, factorial, mrsd, split

AuthorsShape = Callable[[Any, Path, Questions], tuple[list[Arm], list[str]]]


def recognise(log: Log) -> bool:
    return authors_csv.recognise(log.header) or shape_of(log.document) is not None


def read(log: Log, questions: Questions, said: Said) -> Found:
    if log.is_table:
        return Found(*authors_csv.read(log, questions))
    shape = shape_of(log.document)
    if shape is None:
        raise DataError(f"{log.path}: not one of the known shapes")
    return Found(*shape(log.document, log.path, questions))


def shape_of(data: Any) -> AuthorsShape | None:
    """The reader for this shape, or None when it is none of theirs."""
    if isinstance(data, list) and data and isinstance(data[0], dict) and {"c", "s", "t"} <= set(data[0]):
        return compact
    if not isinstance(data, dict):
        return None
    rows = data.get("per_sample")
    if isinstance(data.get("per_sample_iris"), list) or isinstance(data.get("iris_results"), list):
        return cascade
    if isinstance(rows, dict) and rows and all(_mode_and_budget(k) for k in rows):
        return _sweep
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    if "mrsd_correct" in first:
        return mrsd
    if {"B_total", "method", "Br", "Ba"} <= set(first):
        return split
    if {"think_neutral", "nothink_extraction"} <= set(first):
        return factorial
    if {"tokens", "hit_budget", "correct"} <= set(first):
        return _single
    results = data.get("results")
    if isinstance(results, list) and results and "full_text" in results[0]:
        return entropy
    named = runs_in(data, "")
    return _named if named and all(_is_named(listed) for listed in named) else None


def _mode_and_budget(key: str) -> tuple[str, int] | None:
    found = re.fullmatch(r"(nothink|think|thinking)_(\d+)", key)
    return ("think" if found[1].startswith("think") else "nothink", int(found[2])) if found else None


def _plain(
    build: ArmBuilder,
    rows: Sequence[Mapping[str, Any]],
    path: Path,
    where: tuple[str | int, ...],
    tokens_key: str = "tokens",
) -> None:
    """Rows with idx, correct, tokens and hit_budget."""
    for line, row in numbered(rows, path, where):
        for key in ("idx", "correct", tokens_key):
            if row.get(key) is None:
                raise DataError(f"{build.file}, {line}, column '{key}': no value")
        extra = {k: row[k] for k in ("has_final", "level", "subject", "pred_source") if k in row}
        if "pred" in row:
            extra["pred"] = "" if row["pred"] is None else str(row["pred"])
        if row.get("gold") is not None:
            extra["gold"] = str(row["gold"])
        hit = row.get("hit_budget")
        build.add(
            str(row["idx"]),
            right=verdict(row["correct"], build.file, line, "correct"),
            tokens=whole(row[tokens_key], build.file, line, tokens_key),
            flag=None if hit is None else not hit,
            content=gold_content(row),
            line=line,
            columns={"question": "idx", "tokens": tokens_key},
            **extra,
        )


def _sweep(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    builders = []
    for key, rows in data["per_sample"].items():
        found = _mode_and_budget(key)
        assert found is not None
        build = ArmBuilder(
            path.name, *found, **about_run(data, path, len(rows)), provenance={"format": Format.SWEEP}
        )
        _plain(build, rows, path, ("per_sample", key))
        builders.append(build)
    return finish(builders, questions), []


def _named(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    """Named runs, each with rows of its own, wherever they lie."""
    builders = []
    for listed in runs_in(data, path.name):
        told = listed.heading.about
        meta = {**(data.get("meta") or {}), "model": told.get("model"), "benchmark": told.get("task", "")}
        about = about_run({"meta": meta | {"seed": told.get("seed")}}, path, len(listed.rows))
        found = ("think" if listed.heading.mode == "think" else "nothink", listed.heading.budget)
        build = ArmBuilder(path.name, *found, **about, provenance={"format": Format.SWEEP})
        _plain(build, listed.rows, path, listed.keys)
        builders.append(build)
    return finish(builders, questions), []


def _is_named(listed: RowList) -> bool:
    """Rows as the authors write them, under a name that says mode and budget and nothing else."""
    names = {"idx", "correct", "tokens"} <= set(listed.rows[0])
    return (
        names
        and bool(listed.heading.mode and listed.heading.budget)
        and not listed.heading.name
        and listed.ids is None
    )


def _single(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows = data["per_sample"]
    meta = data.get("meta") or {}
    budget = data.get("budget", meta.get("budget"))
    mode = str(data.get("mode") or data.get("label") or path.name)
    if budget is None:
        raise DataError(f"{path}: no 'budget' at the top level or in 'meta'; the cap of the run is needed")
    policy = "nothink" if mode.startswith("nothink") else "think"
    notes = []
    if not (data.get("mode") or data.get("label")):
        notes.append(f"{path.name}: the mode is not stored; read as {policy} from the file's name")
    build = ArmBuilder(
        path.name, policy, int(budget), **about_run(data, path, len(rows)), provenance={"format": Format.SWEEP}
    )
    _plain(build, rows, path, ("per_sample",))
    return finish([build], questions), notes
