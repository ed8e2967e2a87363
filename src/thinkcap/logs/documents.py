"""Lists of rows wherever they lie in a JSON document; the keys on the way name the run.

>>> (found,) = runs_in({"think_512": {"per_sample": [{"id": 1, "correct": 1}]}}, "a.json")
>>> found.heading.mode, found.heading.budget
('think', 512)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkcap.logs.columns import FIELDS, ROLES
from thinkcap.logs.modes import read_name
from thinkcap.logs.place import Place, PlacedRow, numbered
from thinkcap.logs.rows import Heading

_GENERIC = frozenset(
    (
        *("per_sample", "per_item", "per_question", "results", "result", "samples", "sample", "rows", "data"),
        *("records", "items", "outputs", "predictions", "responses", "runs", "details", "entries", "examples"),
        *("instances", "logs", "questions", "answers", "experiments", "evaluation", "eval", "raw"),
        *("generations", "completions", "problems"),
    )
)
"""Keys that say no more than that rows follow."""

_ABOUT = (
    *("meta", "metadata", "config", "args", "params", "settings", "generation_config", "sampling_params"),
    *("info", "run", "parameters", "setup"),
)
_TOLD = ("model", "task", "budget", "mode", "seed")
_OUTCOMES = frozenset({*FIELDS["correct"], *FIELDS["output"], *FIELDS["pred"], "answer", "message", "choices"})
_DEEPEST = 12
_MODEL = re.compile(r"\d[bB](?![a-z])|gpt|claude|gemini|qwen|llama|mistral|deepseek|gemma|phi-?\d", re.IGNORECASE)
_TASK = re.compile(
    r"(?:gsm8?k|math|aime|amc|bbh|gpqa|mmlu|arc|humaneval|mbpp|svamp|olympiad)[\w-]*", re.IGNORECASE
)
"""A key that names a model by its size or family, or a well-known task."""


@dataclass(frozen=True)
class RowList:
    """A list of rows and the keys that lead to it."""

    heading: Heading
    keys: tuple[str | int, ...]
    rows: list[Mapping[str, Any]]
    ids: list[str] | None
    """Where the rows stood under their ids instead of in a list."""

    def numbered(self, path: Path) -> Iterator[tuple[Place, PlacedRow]]:
        return numbered(self.rows, path, self.keys, self.ids)


def runs_in(document: Any, file: str) -> list[RowList]:
    return list(_walk(document, file, (), {}, _DEEPEST))


def _walk(
    value: Any, file: str, keys: tuple[str | int, ...], about: Mapping[str, Any], deeper: int
) -> Iterator[RowList]:
    if isinstance(value, list) and _are_rows(value):
        yield RowList(_heading(file, keys, about), keys, value, None)
    elif isinstance(value, list) and deeper:
        for number, part in enumerate(value):
            if isinstance(part, (dict, list)):
                yield from _walk(part, file, (*keys, number), about, deeper - 1)
    elif isinstance(value, Mapping) and deeper:
        rows = list(value.values())
        if len(rows) > 1 and _are_rows(rows) and not any(_holds_rows(row) for row in rows):
            yield RowList(_heading(file, keys, about), keys, rows, [str(k) for k in value])
            return
        about = {**about, **_about(value)}
        if columns := _columns(value):
            yield RowList(_heading(file, keys, about), keys, columns, None)
            return
        for key, part in value.items():
            if isinstance(part, (dict, list)):
                yield from _walk(part, file, (*keys, str(key)), about, deeper - 1)


def _columns(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Rows that stand as columns, a list for each; none where an object is one question with its samples."""
    lists = {str(name): part for name, part in value.items() if isinstance(part, list)}
    if len(lists) < 2 or len({len(part) for part in lists.values()}) > 1 or not _is_row(lists):
        return []
    whose = {n for name in ("id", "question", "gold") for n in FIELDS[name]}
    if any(str(name).lower() in whose for name in value.keys() - lists.keys()):
        return []
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _are_rows(values: list[Any]) -> bool:
    """Objects that each say how a question was answered."""
    return bool(values) and all(isinstance(v, Mapping) for v in values[:50]) and _is_row(values[0])


def _is_row(value: Mapping[str, Any]) -> bool:
    names = {str(key).lower() for key in value}
    if any(isinstance(value.get(role), list) for role in ROLES):
        return True
    answered = any(n in _OUTCOMES or n.endswith("correct") for n in names)
    return answered and not _holds_rows(value)


def _holds_rows(value: Any) -> bool:
    """A run, not a row: it holds lists of objects with ids or verdicts of their own."""
    parts = value.values() if isinstance(value, Mapping) else ()
    return any(
        isinstance(p, list)
        and len(p) > 0
        and isinstance(p[0], Mapping)
        and bool(_ROW_KEYS & {str(k).lower() for k in p[0]})
        for p in parts
    )


_ROW_KEYS = frozenset({*FIELDS["id"], *FIELDS["correct"]}) - {"index", "number", "id"}


def _about(value: Mapping[str, Any]) -> dict[str, Any]:
    """What an object says of all rows below it, itself or in its `meta` or `config`."""
    found: dict[str, Any] = {}
    for part in (*(value.get(name) for name in _ABOUT), value):
        if isinstance(part, Mapping):
            for field in _TOLD:
                told = next((part[n] for n in FIELDS[field] if isinstance(part.get(n), (str, int, bool))), None)
                if told not in (None, ""):
                    found[field] = told
    return found


def _heading(file: str, keys: tuple[str | int, ...], about: Mapping[str, Any]) -> Heading:
    named = "/".join(str(k) for k in keys if isinstance(k, str) and k.lower() not in _GENERIC)
    said = read_name(named)
    told, rest = dict(about), []
    for part in said.rest.split("/"):
        if "model" not in told and _MODEL.search(part):
            told["model"] = part
        elif "task" not in told and _TASK.fullmatch(part):
            told["task"] = part
        elif part:
            rest.append(part)
    return Heading(file, said.mode, said.budget, said.seed, "/".join(rest), told)
