"""Every question with what each method answered at each cap, in as few bytes as a page can carry.

A verdict is one letter: r right, w wrong, u unreadable, f failed, capital where the chain was cut, - not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.policies.registry import declared
from thinkcap.statistics.arrays import Ints, Whole, distinct
from thinkcap.study.columns import read_columns
from thinkcap.study.questions import Asked, read_questions

_LETTERS = {"right": "r", "wrong": "w", "unreadable": "u", None: "f"}
_CODES = {
    (verdict, ended): letter if ended or letter == "f" else letter.upper()
    for verdict, letter in _LETTERS.items()
    for ended in (False, True)
}
_SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyz"
_KEPT = 700
_SNIPPET = 90
_AT_ONCE = 20_000
"""Rows that are Python objects at one time."""
_WORDS = ("policy", "verdict", "error", "answer", "text", "stage")
_COUNTS = ("budget", "ended", "level", "guess", "tokens_charged", "calls")
CELL = (*_WORDS, *_COUNTS)
"""What of a row its place on the page shows."""
_KEYS = ("task", "question", "group", "seed")
_LEFT_OUT = {"text": None, "answer": None, "error": None, "guess": False}
"""What a run that is shared without its texts may lack; verdicts and counts are enough for a page."""


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
    detail: bytes
    """As JSON: the details of a large study would fill the memory as objects."""


class StageSymbols:
    """Names of stages as single symbols."""

    def __init__(self) -> None:
        self._symbols: dict[str, str] = {}

    @property
    def names(self) -> list[str]:
        return list(self._symbols)

    def symbol(self, name: str) -> str:
        found = self._symbols.get(name)
        if found is None:
            # More than 36 kinds of stages would share the last symbol; no method has a tenth of that.
            found = self._symbols[name] = _SYMBOLS[min(len(self._symbols), len(_SYMBOLS) - 1)]
        return found


@dataclass(frozen=True)
class Axes:
    """The methods and caps a page has room for, each with its place."""

    policies: Sequence[str]
    budgets: Sequence[int]

    @cached_property
    def places(self) -> Mapping[tuple[str, int], tuple[int, int]]:
        return {(p, b): (i, j) for i, p in enumerate(self.policies) for j, b in enumerate(self.budgets)}

    @cached_property
    def plain(self) -> Sequence[bool]:
        """Which methods answer in a single call: what it said stands in the chain, which the page shows anyway."""
        return [bool(declared(policy).plain) for policy in self.policies]


RowsShown = Mapping[str, Sequence[Any]]
"""Rows of one question, a column for each of `CELL`."""


def columns_of(rows: Sequence[Mapping[str, Any]]) -> RowsShown:
    return {name: [row[name] for row in rows] for name in CELL}


def answered(folder: Path, task: str, axes: Axes, stages: StageSymbols) -> Iterator[Answered]:
    """Questions of a task in the order they were asked; of several seeds the first."""
    asked = {a.question: a for a in read_questions(folder) if a.task == task}
    try:
        for question, group, cells in _by_question(folder, task):
            yield answer(task, question, group, cells, asked.get(question), axes, stages)
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        # A file from elsewhere may have the right columns with anything in them.
        path = folder / "rows.parquet"
        raise DataError(f"'{path}' does not hold rows as a study writes them ({err}); run it again") from err


def code(verdict: str | None, ended: bool) -> str:
    return _CODES[verdict, ended]


def answer(
    task: str, question: str, group: str, cells: RowsShown, asked: Asked | None, axes: Axes, stages: StageSymbols
) -> Answered:
    """One question from its rows, whatever they were read from."""
    codes = [["-"] * len(axes.budgets) for _ in axes.policies]
    kinds = [["-"] * len(axes.budgets) for _ in axes.policies]
    table: list[list[Any]] = [[None] * len(axes.budgets) for _ in axes.policies]
    texts: dict[str, int] = {}
    """Each text once, with its place."""
    places, symbol, add = axes.places, stages.symbol, texts.setdefault
    # Millions of times in a large study: no call that is not needed.
    for policy, verdict, error, read, text, stage, budget, ended, level, guess, tokens, calls in zip(
        *(cells[name] for name in CELL), strict=True
    ):
        place = places.get((policy, budget))
        if place is None:
            # The study went on while its page was made: newer rows wait for the next page.
            continue
        p, b = place
        codes[p][b] = _CODES[verdict, ended]
        kinds[p][b] = symbol(stage or "failed")
        final = None if read is None else add(_shortened(read), len(texts))
        # An error stands in the place of what was said.
        said = error if error is not None or axes.plain[p] or text is None else _shortened(text)
        table[p][b] = (final, level, tokens, calls, None if said is None else add(said, len(texts)), int(guess))
    detail = {"cells": table, "texts": list(texts), **_about(asked)}
    first = " ".join((asked.text if asked else question).split())
    snippet = first if len(first) <= _SNIPPET else first[: _SNIPPET - 1] + "\N{HORIZONTAL ELLIPSIS}"
    letters, kept = ["".join(c) for c in codes], ["".join(k) for k in kinds]
    return Answered(task, question, group, snippet, letters, kept, msgspec.json.encode(detail))


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _KEPT else text[:_KEPT] + " \N{HORIZONTAL ELLIPSIS}"


def _about(asked: Asked | None) -> dict[str, Any]:
    if asked is None:
        return {"text": None, "gold": None, "facts": {}, "chains": {}}
    return {"text": asked.text, "gold": asked.gold, "facts": asked.facts, "chains": asked.chains}


def _by_question(folder: Path, task: str) -> Iterator[tuple[str, str, RowsShown]]:
    found = read_columns(folder / "rows.parquet", (*_KEYS, *CELL), _LEFT_OUT)
    questions, groups = found.text("question"), found.text("group")
    words = {name: found.text(name) for name in _WORDS}
    counts = {name: found.number(name) for name in _COUNTS}
    rows, ends = _questions(np.flatnonzero(found.text("task").are(task)), questions.codes, found.number("seed"))
    # In blocks of whole questions: all rows of a large study as Python objects would take gigabytes.
    start = 0
    while start < len(ends):
        begin = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, begin + _AT_ONCE, side="right")))
        block = rows[begin : int(ends[stop - 1])]
        cells = {name: column.at(block) for name, column in words.items()}
        cells |= {name: column[block].tolist() for name, column in counts.items()}
        edges = [0, *(ends[start:stop] - begin).tolist()]
        for first, last in pairwise(edges):
            at = int(block[first])
            yield questions.of(at), groups.of(at), {name: column[first:last] for name, column in cells.items()}
        start = stop


def _questions(rows: Ints, question: Whole, seed: NDArray[Any]) -> tuple[Ints, Ints]:
    """These rows by question, in the order in which questions first come, of several seeds the lowest; and where
    the rows of each question end."""
    first, number = distinct([question[rows]])
    lowest = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(lowest, number, seed[rows])
    kept = seed[rows] == lowest[number]
    rows, number = rows[kept], number[kept]
    return rows[np.argsort(number, kind="stable")], np.cumsum(np.bincount(number, minlength=len(first)))
