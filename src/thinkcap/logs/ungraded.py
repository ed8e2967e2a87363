"""Answers that nobody judged, in columns: what a batch or a journal of traffic holds, one arm per model.

    rows = Ungraded("batch.jsonl", memory)
    rows.add("q1", SeenAnswer("gpt-9", "stop", 12, text="4"))
    rows.found(questions, "answer", {"it is read as the output of a batch": True})

Caps are a column here, not a part of the arm: callers choose them, and there may be as many as there are rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.logs.answered import SeenAnswer
from thinkcap.logs.arms import UNJUDGED, Arm, Questions, collected
from thinkcap.logs.memory import Memory
from thinkcap.logs.models import canonical
from thinkcap.logs.said import Found

_ROW = 400
"""Bytes a row takes before it is an array, about."""
_ARM = 4000


class _Group(NamedTuple):
    """Rows of which the same is known: an arm's columns have no holes."""

    model: str
    counted: bool
    ends_known: bool


class Ungraded:
    """Rows one by one; failures are counted and are no rows."""

    def __init__(self, file: str, memory: Memory, criterion: str = "finish reason") -> None:
        self.file, self.memory, self.criterion = file, memory, criterion
        self.rows = self.failed = self.thoughts = 0
        self._columns: dict[_Group, dict[str, list[Any]]] = {}

    def add(self, question: str, one: SeenAnswer, **extra: Any) -> None:
        """`extra`: columns that every row of the log has."""
        if one.broken:
            self.failed += 1
            return
        cut = one.cut
        group = _Group(one.model, one.tokens is not None, cut is not None)
        columns = self._columns.get(group)
        if columns is None:
            self.memory.charge(_ARM, self.file)
            columns = self._columns[group] = {name: [] for name in (*_OWN, *extra)}
        texts = sum(len(v) for v in extra.values() if isinstance(v, str))
        self.memory.charge(_ROW + len(question) + 2 * texts, self.file)
        self.rows += 1
        self.thoughts += bool(one.thought)
        empty = int(one.empty) if one.text_seen else -1
        own = (question, one.tokens or 0, not cut, empty, one.thought_tokens or 0, one.prompt_tokens or 0)
        for name, value in zip(_OWN, own, strict=True):
            columns[name].append(value)
        for name, value in extra.items():
            columns[name].append(value)

    def found(self, questions: Questions, policy: str, notes: Mapping[str, object], nothing: str = "") -> Found:
        """`notes`: what may be said, and whether it is so; `nothing`: why there may be no answer at all."""
        if not self.rows:
            raise DataError(f"{self.file}: {nothing}")
        said = [f"{self.file}: {note}" for note, so in notes.items() if so]
        return Found(self.arms(questions, policy), said)

    def arms(self, questions: Questions, policy: str) -> list[Arm]:
        found = [self._arm(group, columns, questions, policy) for group, columns in self._columns.items()]
        # A failure names no model; together they are told with the first.
        return [replace(found[0], failed=self.failed), *found[1:]] if found else []

    def _arm(self, group: _Group, columns: Mapping[str, list[Any]], questions: Questions, policy: str) -> Arm:
        size = len(columns["question"])
        extra = {name: collected(values) for name, values in columns.items() if name not in _OWN[:3]}
        return Arm(
            policy,
            None,
            self.file,
            questions.codes(columns["question"]),
            np.full(size, UNJUDGED, dtype=np.int8),
            tokens=np.asarray(columns["tokens"], dtype=np.int64) if group.counted else None,
            ended=np.asarray(columns["ended"], dtype=np.bool_) if group.ends_known else None,
            criterion=self.criterion if group.ends_known else "unknown",
            model=canonical(group.model),
            model_as_logged=group.model,
            extra=extra,
        )


_OWN = ("question", "tokens", "ended", "empty", "tokens_think", "prompt_tokens")
