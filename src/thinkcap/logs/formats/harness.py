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
from thinkcap.logs.arms import Questions, content_hash
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.judge import final_answer, judge
from thinkcap.logs.reading import Log, verdict
from thinkcap.logs.said import Found, Said, served_as
from thinkcap.logs.thoughts import thoughts

_LOOKED_AT = 200
"""Samples whose texts tell how thoughts are marked."""


def recognise(log: Log) -> bool:
    return _is_sample(log.first)


def _is_sample(row: Mapping[str, Any]) -> bool:
    return {"doc_id", "resps"} <= set(row) or {"doc_id", "filtered_resps"} <= set(row)


def read(log: Log, questions: Questions, about: Said) -> Found:
    path = log.path
    builders: dict[str, ArmBuilder] = {}
    results = _results_beside(path)
    model, served = served_as(str(results.get("model_name") or results.get("model_source") or about.only or ""))
    some = [_text(row) for _, row in islice(log.objects(), _LOOKED_AT)]
    template = results.get("chat_template")
    marks = thoughts(about.dialect, template if isinstance(template, str) else "", model, some)
    opened = any(map(marks.opened_before, some))
    about = about if about.policy else replace(about, policy=served or about.mode)
    task = _task_of(path)
    whole_answers: dict[int, tuple[str, str]] = {}
    marked = unclosed = 0
    for line, row in log.objects():
        if not _is_sample(row):
            raise DataError(f"{path}, line {line}: not a sample of lm-evaluation-harness (no doc_id, resps)")
        name = str(row.get("filter", "none"))
        if name not in builders:
            budget = about.budget if about.budget is not None else _cap(row)
            builders[name] = ArmBuilder(
                log.name, about.policy or "answer", budget, log.memory, model=model, task=task
            )
        metric = _metric(row, path, line)
        text = _text(row)
        parts = marks.divide(text, opened=opened)
        marked += opened or marks.shown_in(text)
        unclosed += not parts.closed
        content = row.get("target_hash") or row.get("doc_hash") or row.get("target")
        builders[name].add(
            str(row["doc_id"]),
            right=verdict(row[metric], path.name, line, metric),
            content=content_hash(str(content)) if content not in (None, "") else 0,
            line=line,
            columns={"question": "doc_id"},
            unclosed=not parts.closed,
        )
        target = row.get("target")
        if metric.startswith("exact_match") and isinstance(target, str) and target:
            gold, build = final_answer(target), builders[name]
            build.grade_last(gold, _first(row.get("filtered_resps")))
            whole_answers[build.n - 1] = (gold, parts.said)
    if len(builders) == 1:
        # Several filters are several ways to read an answer; of a single one we read the answer ourselves.
        next(iter(builders.values())).gradable = whole_answers
    notes = judge(list(builders.values()), log.name)
    notes += [
        f"{log.name}: lm-evaluation-harness stores no finish reason and no token counts; accuracy and paired "
        f"tests are possible, the share of cut chains, chain lengths and the causes of a loss are not"
    ]
    if about.policy is None and marked:
        for build in builders.values():
            build.policy = "think"
        notes.append(
            f"{log.name}: answers hold think tags, so the arm is read as think; pass --as to say otherwise"
        )
    if unclosed:
        notes.append(f"{log.name}: {unclosed} answers open a thought and never close it: those were cut")
    if len(builders) > 1:
        notes.append(f"{log.name}: filters {', '.join(builders)} are kept as arms of their own")
        for name, build in builders.items():
            build.policy = f"{build.policy}[{name}]"
    return Found([b.done(questions) for b in builders.values()], notes)


def _metric(row: Mapping[str, Any], path: Path, line: int) -> str:
    """The accuracy-like metric of a row: the first of `metrics` whose value is 0 or 1."""
    names = [str(n) for n in row.get("metrics") or []]
    names += [n for n in ("exact_match", "acc", "acc_norm") if n not in names]
    for name in names:
        if row.get(name) in (0, 1, True, False):
            return name
    raise DataError(
        f"{path}, line {line}, column 'metrics': none of {', '.join(names)} is 0 or 1; "
        f"a graded metric such as exact_match or acc is wanted"
    )


def _text(row: Mapping[str, Any]) -> str:
    return _first(row.get("resps"))


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
