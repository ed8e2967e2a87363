"""lm-evaluation-harness sample logs (`samples_*.jsonl`, written by --log_samples).

They hold neither a finish reason nor token counts, so truncation cannot be seen in them; that is said. What can be
seen is a thought that was opened and never closed: such an answer was surely cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.dialects import default_template
from thinkcap.logs.arms import Arm, Questions
from thinkcap.logs.reading import Log, printable, refused
from thinkcap.logs.rows import Heading, read_rows
from thinkcap.logs.said import Found, Said
from thinkcap.logs.thoughts import Thoughts, thoughts

_LOOKED_AT = 200
"""Samples whose texts tell how thoughts are marked."""


def recognise(log: Log) -> bool:
    return _is_sample(log.first)


def _is_sample(row: Mapping[str, Any]) -> bool:
    return {"doc_id", "resps"} <= set(row) or {"doc_id", "filtered_resps"} <= set(row)


def read(log: Log, questions: Questions, said: Said) -> Found:
    filters = list(dict.fromkeys(_filter(row) for _, row in log.objects()))
    results = _results_beside(log.path)
    model = str(results.get("model_name") or results.get("model_source") or said.only or "")
    template = default_template(results.get("chat_template"))
    heading = Heading(log.name, about={"model": model, "task": _task_of(log.path)}, template=template)
    some = [_first(row.get("resps")) for _, row in islice(log.objects(), _LOOKED_AT)]
    marked = thoughts(said.dialect, template, model, some)
    known = replace(said, columns=dict(zip(_FIELDS, _FIELDS, strict=True)))
    arms: list[Arm] = []
    notes = [
        f"{log.name}: lm-evaluation-harness stores no finish reason and no token counts; accuracy and paired "
        f"tests are possible, the share of cut chains, chain lengths and the causes of a loss are not"
    ]
    for name in filters:
        # Several filters are several ways to read an answer; of a single one we read the answer ourselves.
        rows = (
            (line, _row(row, log.path, line, said.budget, None if len(filters) == 1 else marked))
            for line, row in log.objects()
            if _filter(row) == name
        )
        found = read_rows(rows, heading, questions, known, log)
        arms += [replace(a, policy=f"{a.policy}[{name}]") if len(filters) > 1 else a for a in found.arms]
        notes += found.notes
    if len(filters) > 1:
        notes.append(f"{log.name}: filters {', '.join(map(printable, filters))} are kept as arms of their own")
    return Found(arms, notes)


_FIELDS = ("id", "question", "correct", "gold", "output", "reasoning", "budget")


def _row(
    row: Mapping[str, Any], path: Path, line: int, budget: int | None, marked: Thoughts | None
) -> dict[str, Any]:
    """`marked`: how thoughts are told from the answer, where that is what the filter made of it."""
    if not _is_sample(row):
        raise DataError(f"{path}, line {line}: not a sample of lm-evaluation-harness (no doc_id, resps)")
    metric, text = _metric(row, path, line), _first(row.get("resps"))
    target, graded = row.get("target"), metric.startswith("exact_match")
    values = (
        str(row["doc_id"]),
        str(row.get("target_hash") or row.get("doc_hash") or target or ""),
        row[metric],
        target if graded and isinstance(target, str) else None,
        text if marked is None else _first(row.get("filtered_resps")),
        None if marked is None else marked.divide(text).thought,
        _cap(row) if budget is None else budget,
    )
    return dict(zip(_FIELDS, values, strict=True))


def _filter(row: Mapping[str, Any]) -> str:
    return str(row.get("filter", "none"))


def _metric(row: Mapping[str, Any], path: Path, line: int) -> str:
    """The accuracy-like metric of a row: the first of `metrics` whose value is 0 or 1."""
    names = [str(n) for n in row.get("metrics") or []]
    names += [n for n in ("exact_match", "acc", "acc_norm") if n not in names]
    for name in names:
        if row.get(name) in (0, 1, True, False):
            return name
    listed = printable(", ".join(names))
    raise refused(
        path, line, "metrics", f"none of {listed} is 0 or 1; wanted a graded metric such as exact_match or acc"
    )


def _first(answers: Any) -> str:
    while isinstance(answers, list) and answers:
        answers = answers[0]
    return answers if isinstance(answers, str) else ""


def _cap(row: Mapping[str, Any]) -> int | None:
    """max_gen_toks from the request's arguments, in either of the two ways versions write them."""
    arguments = row.get("arguments")
    parts: list[Any] = []
    if isinstance(arguments, Mapping):
        for request in arguments.values():
            parts += list(request.values()) if isinstance(request, Mapping) else [request]
    elif isinstance(arguments, list):
        for request in arguments:
            parts += request if isinstance(request, list) else [request]
    for part in parts:
        if isinstance(part, Mapping):
            for key in ("max_gen_toks", "max_tokens", "max_new_tokens", "max_completion_tokens"):
                if isinstance(part.get(key), int):
                    return int(part[key])
    return None


def _task_of(path: Path) -> str:
    found = re.fullmatch(r"samples_(.+?)(?:_\d{4}-\d\d-\d\dT.*)?\.jsonl", path.name)
    return found[1] if found else ""


def _results_beside(path: Path) -> Mapping[str, Any]:
    """The model's name and chat template, which the harness writes into results_<same time>.json."""
    stamp = re.search(r"(\d{4}-\d\d-\d\dT.*)\.jsonl$", path.name)
    beside = path.parent / f"results_{stamp[1]}.json" if stamp else None
    if beside is None or not beside.is_file():
        return {}
    data = Log(beside).document
    return data if isinstance(data, Mapping) else {}
