"""Rows one by one into an `Arm`, each checked where its line number is still known.

>>> build = ArmBuilder("log.jsonl", "think", 512)
>>> build.add("q1", right=True, tokens=100, ended=True, line=1)
>>> build.done(Questions()).n
1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.logs.arms import UNJUDGED, Arm, Questions
from thinkcap.logs.models import canonical


class ArmBuilder:
    """Collects rows one by one and checks each where its line number is still known."""

    def __init__(self, file: str, policy: str, budget: int | None, **about: Any) -> None:
        self.file, self.policy, self.budget, self.about = file, policy, budget, about
        self._ids: list[str] = []
        self._seen: dict[str, object] = {}
        self._verdict: list[int] = []
        self._tokens: list[int | None] = []
        self._ended: list[bool | None] = []
        self._flag: list[bool | None] = []
        self._content: list[int] = []
        self._where: list[object] = []
        self._extra: dict[str, list[Any]] = {}
        self.failed = 0

    def add(
        self,
        question: str,
        *,
        right: bool | None,
        failed: bool = False,
        tokens: int | None = None,
        ended: bool | None = None,
        flag: bool | None = None,
        content: int = 0,
        line: object,
        columns: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        """`right=None`: nobody judged it. `line` and `columns` (our name -> theirs) only serve messages."""
        name = (columns or {}).get
        if question in self._seen:
            raise DataError(
                f"{self.file}, {_place(line)}, column '{name('question', 'id')}': id {question!r} occurred "
                f"before, at {_place(self._seen[question])}; one answer per question and arm is wanted"
            )
        if tokens is not None and tokens < 0:
            raise DataError(
                f"{self.file}, {_place(line)}, column '{name('tokens', 'tokens')}': {tokens} is negative; "
                f"a token count is 0 or more"
            )
        self._seen[question] = line
        if failed:
            self.failed += 1
            return
        self._ids.append(question)
        self._verdict.append(UNJUDGED if right is None else int(right))
        self._tokens.append(tokens)
        self._ended.append(ended)
        self._flag.append(flag)
        self._content.append(content)
        self._where.append(line)
        for key, value in extra.items():
            self._extra.setdefault(key, []).append(value)

    def _whole(self, column: list[Any], what: str) -> list[Any] | None:
        """A column that every row has, or None when none has; a column with holes is refused."""
        missing = [i for i, value in enumerate(column) if value is None]
        if len(missing) == len(column):
            return None
        if missing:
            raise DataError(
                f"{self.file}, {_place(self._where[missing[0]])}, column '{what}': no value, though other rows "
                f"have one ({len(missing)} of {len(column)} rows lack it); complete the log or drop the column"
            )
        return column

    def done(self, questions: Questions) -> Arm:
        if not self._ids:
            raise DataError(
                f"{self.file}: no row of {self.policy}@{self.budget} has an outcome; nothing to diagnose"
            )
        tokens = self._whole(self._tokens, "tokens")
        ended = None if None in self._ended else np.asarray(self._ended, dtype=np.bool_)
        flag = None if None in self._flag else np.asarray(self._flag, dtype=np.bool_)
        content = None if 0 in self._content else np.asarray(self._content, dtype=np.uint64)
        extra = {k: _column(v) for k, v in self._extra.items() if len(v) == len(self._ids)}
        about = dict(self.about)
        logged = str(about.pop("model", ""))
        return Arm(
            policy=self.policy,
            budget=self.budget,
            file=self.file,
            model=canonical(logged),
            model_as_logged=logged,
            question=questions.codes(self._ids),
            verdict=np.asarray(self._verdict, dtype=np.int8),
            tokens=None if tokens is None else np.asarray(tokens, dtype=np.int64),
            ended=ended,
            flag=flag,
            content=content,
            failed=self.failed,
            extra=extra,
            **about,
        )


def _place(line: object) -> str:
    return f"line {line}" if isinstance(line, int) else str(line)


def _column(values: list[Any]) -> NDArray[Any]:
    if values and all(isinstance(v, bool) for v in values):
        return np.asarray(values, dtype=np.bool_)
    if values and all(isinstance(v, int) for v in values):
        return np.asarray(values, dtype=np.int64)
    return np.asarray(values, dtype=object)
