"""Every question with what each method answered at each cap, in as few bytes as a page can carry.

A verdict is one letter: r right, w wrong, u unreadable, f failed, capital where the chain was cut, - not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from thinkcap.core.errors import DataError
from thinkcap.policies.registry import declared
from thinkcap.study.columns import read_columns
from thinkcap.study.questions import Asked, read_questions

_LETTERS = {"right": "r", "wrong": "w", "unreadable": "u", None: "f"}
_SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyz"
_KEPT = 700
_SNIPPET = 90
_COLUMNS = ("task", "question", "group", "policy", "budget", "seed", "verdict", "error", "answer", "level", "text")
_MORE = ("guess", "ended", "tokens_charged", "stage", "calls")


@dataclass(frozen=True)
class Answered:
    """One question, ready for the page: a line of the list, and the details behind it."""

    task: str
    id: str
    group: str
    snippet: str
    codes: list[str]
    """Per policy, a letter per budget."""
    stages: list[str]
    detail: dict[str, Any]


class StageSymbols:
    """Names of stages as single symbols."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def symbol(self, name: str) -> str:
        if name not in self.names:
            self.names.append(name)
        # More than 36 kinds of stages would share the last symbol; no method has a tenth of that.
        return _SYMBOLS[min(self.names.index(name), len(_SYMBOLS) - 1)]


@dataclass(frozen=True)
class Axes:
    """The methods and caps a page has room for, each with its place."""

    policies: Sequence[str]
    budgets: Sequence[int]

    @cached_property
    def places(self) -> Mapping[tuple[str, int], tuple[int, int]]:
        return {(p, b): (i, j) for i, p in enumerate(self.policies) for j, b in enumerate(self.budgets)}


def answered(folder: Path, task: str, axes: Axes, stages: StageSymbols) -> Iterator[Answered]:
    """Questions of a task in the order they were asked; of several seeds the first."""
    asked = {a.question: a for a in read_questions(folder) if a.task == task}
    try:
        for question, group, cells in _by_question(folder, task):
            yield answer(task, question, group, cells, asked.get(question), axes, stages)
    except (pa.ArrowException, KeyError, TypeError, ValueError, AttributeError) as err:
        # A file from elsewhere may have the right columns with anything in them.
        path = folder / "rows.parquet"
        raise DataError(f"'{path}' does not hold rows as a study writes them ({err}); run it again") from err


def code(verdict: str | None, ended: bool) -> str:
    letter = _LETTERS[verdict]
    return letter if ended or letter == "f" else letter.upper()


def answer(
    task: str,
    question: str,
    group: str,
    cells: Iterable[Mapping[str, Any]],
    asked: Asked | None,
    axes: Axes,
    stages: StageSymbols,
) -> Answered:
    """One question from its rows, whatever they were read from."""
    codes = [["-"] * len(axes.budgets) for _ in axes.policies]
    kinds = [["-"] * len(axes.budgets) for _ in axes.policies]
    table: list[list[Any]] = [[None] * len(axes.budgets) for _ in axes.policies]
    texts = _Texts()
    for cell in cells:
        place = axes.places.get((cell["policy"], cell["budget"]))
        if place is None:
            # The study went on while its page was made: newer rows wait for the next page.
            continue
        p, b = place
        codes[p][b] = code(cell["verdict"], cell["ended"])
        kinds[p][b] = stages.symbol(cell["stage"] or "failed")
        table[p][b] = _detail(cell, texts)
    detail = {"cells": table, "texts": texts.all, **_about(asked)}
    first = " ".join((asked.text if asked else question).split())
    snippet = first if len(first) <= _SNIPPET else first[: _SNIPPET - 1] + "\N{HORIZONTAL ELLIPSIS}"
    letters, kept = ["".join(c) for c in codes], ["".join(k) for k in kinds]
    return Answered(task, question, group, snippet, letters, kept, detail)


def _about(asked: Asked | None) -> dict[str, Any]:
    if asked is None:
        return {"text": None, "gold": None, "facts": {}, "chains": {}}
    return {
        "text": asked.text,
        "gold": asked.gold,
        "facts": asked.facts,
        "chains": {mode: msgspec.to_builtins(chain) for mode, chain in asked.chains.items()},
    }


class _Texts:
    """Each text once."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, text: str | None) -> int | None:
        if text is None:
            return None
        if text not in self._places:
            self._places[text] = len(self.all)
            self.all.append(text)
        return self._places[text]


def _detail(cell: Mapping[str, Any], texts: _Texts) -> list[Any]:
    """answer, level, tokens, calls, said, guess; the error stands in place of what was said"""
    said = cell["error"]
    # What a plain call answered stands in the chain itself, which the page shows anyway.
    if said is None and not declared(cell["policy"]).plain and cell["text"] is not None:
        said = cell["text"].strip()
        said = said if len(said) <= _KEPT else said[:_KEPT] + " \N{HORIZONTAL ELLIPSIS}"
    answer, place = texts.place(cell["answer"]), texts.place(said)
    return [answer, cell["level"], cell["tokens_charged"], cell["calls"], place, int(cell["guess"])]


def _by_question(folder: Path, task: str) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    table = read_columns(folder / "rows.parquet", (*_COLUMNS, *_MORE), as_objects=True).table
    table = table.filter(pc.equal(table["task"], task))
    order = {q: i for i, q in enumerate(dict.fromkeys(table["question"].to_pylist()))}
    first: dict[str, int] = {}
    for question, seed in zip(table["question"].to_pylist(), table["seed"].to_pylist(), strict=True):
        first[question] = min(seed, first.get(question, seed))
    place = [order[q] for q in table["question"].to_pylist()]
    table = table.append_column("place", [place])
    table = table.take(pc.sort_indices(table, sort_keys=[("place", "ascending")]))
    # In blocks: all rows of a large study as Python objects at once would take gigabytes.
    waiting: list[dict[str, Any]] = []
    for batch in table.to_batches(max_chunksize=20_000):
        for row in batch.to_pylist():
            if waiting and waiting[0]["question"] != row["question"]:
                yield _one(waiting, first)
                waiting = []
            waiting.append(row)
    if waiting:
        yield _one(waiting, first)


def _one(rows: list[dict[str, Any]], first: Mapping[str, int]) -> tuple[str, str, list[dict[str, Any]]]:
    question = rows[0]["question"]
    return question, rows[0]["group"], [r for r in rows if r["seed"] == first[question]]
