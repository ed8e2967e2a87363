"""A run while it is made: its journal is read on from where the last look ended, and nothing is read twice.

The last row of a key counts, as in the study itself. A study that is killed and goes on is followed on; a journal
that starts anew is read anew.

    run = Following(Path("runs/today"))
    run.look()
    run.news(since=0)
"""

from __future__ import annotations

import os
import threading
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.files import read_file
from thinkcap.policies.methods import explained
from thinkcap.report.explorer.answers import Axes, StageSymbols, answer, code, columns_of
from thinkcap.report.explorer.page import SHARD, ordered, question_list
from thinkcap.report.explorer.views import shown_cell
from thinkcap.statistics.precision import proportion
from thinkcap.study.config import StudyConfig
from thinkcap.study.listing import state_of
from thinkcap.study.progress import noted
from thinkcap.study.rows import Row, State

MOST_NEWS = 20_000
_AT_ONCE = 4 << 20
_LONGEST = 64 << 20
"""Bytes of a row; no study writes a thousandth of it."""


class _Line(State, frozen=True, kw_only=True):
    """What of a row the page counts."""

    group: str
    verdict: str | None
    ended: bool
    stage: str
    tokens_charged: int
    notes: dict[str, Any]


class _Kept(msgspec.Struct, frozen=True, gc=False):
    """A row as it is counted, and where in the journal it lies."""

    code: str
    stage: str
    tokens: int
    trials: int
    start: int
    length: int


class _Counts:
    def __init__(self) -> None:
        self.by = dict.fromkeys("rwuf", 0)
        self.tokens = self.trials = self.ended = self.questions = 0

    def add(self, row: _Kept, sign: int, first: bool) -> None:
        letter = row.code.lower()
        self.by[letter] += sign
        if letter != "f":
            self.tokens += sign * row.tokens
            self.trials += sign * row.trials
            self.ended += sign * (row.code == letter)
            self.questions += sign * first

    def shown(self, budget: int) -> list[Any] | None:
        n = self.by["r"] + self.by["w"] + self.by["u"]
        if not n:
            return None
        # While rows come in, all answers to a question count as one; how alike they are is seen at the end.
        found = proportion(self.by["r"], n, effect=n / max(1, min(n, self.questions)))
        return shown_cell(
            found, self.by["f"], self.by["u"], tokens=self.tokens / n, ended=self.ended / n,
            claimed=(self.tokens - self.trials) / n, budget=budget,
        )  # fmt: skip


class Following:
    """All methods may be called from any thread; one at a time looks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "rows.jsonl"
        self._lock = threading.Lock()
        self._decode = msgspec.json.Decoder(_Line).decode
        self._start()

    def _start(self) -> None:
        self._read, self._file = 0, 0
        self._rows: dict[tuple[str, str, str, int, int], _Kept] = {}
        self._cells: dict[tuple[str, str, int], _Counts] = defaultdict(_Counts)
        self._questions: dict[tuple[str, str], tuple[str, int]] = {}
        """Group and first seed of each question, in the order they came."""
        self._news: list[tuple[str, str, str, str, int, str, str]] = []
        self._stages = StageSymbols()
        self._seen_axes: tuple[dict[str, None], set[int]] = ({}, set())

    def look(self) -> None:
        """Reads what is new: whole lines only, since a half one is being written."""
        with self._lock, self._path.open("rb") as file:
            about = os.fstat(file.fileno())
            if about.st_ino != self._file or about.st_size < self._read:
                self._start()
                self._file = about.st_ino
            file.seek(self._read)
            rest = b""
            while block := file.read(_AT_ONCE):
                *lines, rest = (rest + block).split(b"\n")
                for line in lines:
                    self._note(line, self._read)
                    self._read += len(line) + 1
                if len(rest) > _LONGEST:
                    raise DataError(
                        f"'{self._path}' holds a line longer than {_LONGEST >> 20} MiB, which is not a row"
                    )

    def _note(self, line: bytes, start: int) -> None:
        try:
            row = self._decode(line)
            letter = code(row.verdict, row.ended)
        except (ValueError, KeyError, RecursionError) as err:
            raise DataError(f"'{self._path}' holds a line that is not a row of this version: {err}") from err
        trials = row.notes.get("trial_tokens", 0)
        kept = _Kept(
            letter,
            self._stages.symbol(row.stage or "failed"),
            row.tokens_charged,
            trials if isinstance(trials, int) else 0,
            start,
            len(line),
        )
        counts = self._cells[row.task, row.policy, row.budget]
        _, seed = self._questions.setdefault((row.task, row.question), (row.group, row.seed))
        if (old := self._rows.get(row.key)) is not None:
            counts.add(old, -1, row.seed == seed)
        counts.add(kept, 1, row.seed == seed)
        self._rows[row.key] = kept
        self._seen_axes[0][row.policy] = None
        self._seen_axes[1].add(row.budget)
        if row.seed == seed:
            news = (row.task, row.question, row.group, row.policy, row.budget, letter, kept.stage)
            self._news.append(news)

    @property
    def _tasks(self) -> list[str]:
        """By the names rows give them; before the first row as the study does."""
        planned = self._study.get("tasks")
        return list(dict.fromkeys(task for task, _ in self._questions)) or [
            *map(str, planned if isinstance(planned, list) else ("",))
        ]

    @property
    def axes(self) -> Axes:
        """As the study plans them, and whatever rows there are beyond its plan."""
        policies, budgets = self._planned
        return ordered(policies | self._seen_axes[0], budgets | self._seen_axes[1])

    @property
    def _planned(self) -> tuple[dict[str, None], set[int]]:
        try:
            cells = StudyConfig.from_mapping(self._study).cells
        except ConfigError:
            return {}, set()
        return dict.fromkeys(spec.label for spec, _ in cells), {budget for _, budget in cells}

    @property
    def _study(self) -> dict[str, Any]:
        try:
            return tomllib.loads(read_file(self.folder / "study.toml").decode())
        except (OSError, ValueError, RecursionError):
            return {}

    def standing(self) -> dict[str, Any]:
        """How far it is, in the study's own words where it left some."""
        told, state = noted(self.folder), state_of(self.folder)
        return {
            "state": state,
            "rows": len(self._rows),
            "failed": sum(counts.by["f"] for counts in self._cells.values()),
            "total": told.total if told else None,
            "seconds_left": told.seconds_left if told and state == "running" else None,
        }

    def news(self, since: int) -> dict[str, Any]:
        """Rows that came after the first `since`, the counts as they are now, and the axes they are for."""
        with self._lock:
            axes = self.axes
            if not 0 <= since <= len(self._news):
                since = 0
            upto = min(len(self._news), since + MOST_NEWS)
            return self.standing() | {
                "tasks": self._tasks,
                "policies": axes.policies,
                "budgets": axes.budgets,
                "stages": self._stages.names,
                "cells": self._shown(axes),
                "news": self._news[since:upto],
                "since": upto,
                "more": len(self._news) - upto,
            }

    def _shown(self, axes: Axes) -> dict[str, Any]:
        def cell(task: str, policy: str, budget: int) -> list[Any] | None:
            counts = self._cells.get((task, policy, budget))
            return counts.shown(budget) if counts else None

        return {
            task: {policy: [cell(task, policy, b) for b in axes.budgets] for policy in axes.policies}
            for task in self._tasks
        }

    def data(self) -> dict[str, Any]:
        """The explorer's data before any row; these come as news."""
        with self._lock:
            axes, study, tasks = self.axes, self._study, self._tasks
            none = [None] * len(axes.budgets)
            parts = {"group": None, "loss": none, "lengths": None, "tiers": None, "hazard": None}
            empty = {"cells": dict.fromkeys(axes.policies, none), **parts}
            return {
                "name": self.folder.name,
                "model": str(study.get("model", "")),
                "rows": len(self._rows),
                "failed": 0,
                "generated": None,
                "alone": None,
                "verdict": [],
                "notes": [],
                "provenance": msgspec.to_builtins(study, str_keys=True),
                "thinks": ["", ""],
                "budgets": axes.budgets,
                "policies": axes.policies,
                "methods": [explained(p) for p in axes.policies],
                "tasks": tasks,
                "views": [{"task": task, **empty} for task in tasks],
                "stages": [],
                "questions": question_list(()),
                "advice": {},
                "opens": None,
                "live": True,
            }

    def _whole(self, line: bytes) -> dict[str, Any]:
        try:
            return msgspec.structs.asdict(msgspec.json.decode(line, type=Row))
        except (ValueError, RecursionError) as err:
            raise DataError(f"'{self._path}' holds a line that is not a row of this version: {err}") from err

    def details(self, number: int) -> dict[int, Any]:
        """What stands behind the questions of one part of the list, read from the journal."""
        with self._lock, self._path.open("rb") as file:
            axes, seen = self.axes, list(self._questions.items())
            found = {}
            for at in range(number * SHARD, min((number + 1) * SHARD, len(seen))):
                (task, question), (group, seed) = seen[at]
                keys = ((task, question, p, b, seed) for p in axes.policies for b in axes.budgets)
                kept = [self._rows[key] for key in keys if key in self._rows]
                cells = columns_of([self._whole(os.pread(file.fileno(), k.length, k.start)) for k in kept])
                made = answer(task, question, group, cells, None, axes, self._stages)
                found[at] = msgspec.json.decode(made.detail)
            return found
