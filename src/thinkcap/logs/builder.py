"""Rows one by one into an `Arm`, each checked where its line number is still known.

>>> build = ArmBuilder("log.jsonl", "think", 512)
>>> build.add("q1", right=True, tokens=100, ended=True, line=1)
>>> build.done(Questions()).n
1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.logs.arms import RIGHT, UNJUDGED, WRONG, Arm, Questions, collected
from thinkcap.logs.memory import Memory
from thinkcap.logs.models import canonical
from thinkcap.logs.reading import place, printable, refused, shown

if TYPE_CHECKING:
    from thinkcap.core.types import Verdict

_ROW = 700
"""Bytes a row takes in these lists, about."""


class ArmBuilder:
    """Collects rows; `memory` bounds them."""

    def __init__(
        self, file: str, policy: str, budget: int | None, memory: Memory | None = None, **about: Any
    ) -> None:
        self.file, self.policy, self.budget, self.about = file, policy, budget, about
        self.failed = 0
        self.gradable: dict[int, tuple[str, str]] = {}
        """Row -> gold and answer, for the rows that have both."""
        self._memory = memory or Memory()
        self._seen: dict[str, object] = {}
        """Question -> its line, in the order of the rows."""
        self._verdict: list[int] = []
        self._tokens: list[int | None] = []
        self._ended: list[bool | None] = []
        self._flag: list[bool | None] = []
        self._content: list[int] = []
        self._extra: dict[str, list[Any]] = {}

    @property
    def task(self) -> str:
        return str(self.about.get("task", ""))

    @property
    def has_verdicts(self) -> bool:
        return any(v != UNJUDGED for v in self._verdict)

    def add(
        self,
        question: str,
        *,
        right: bool | None,
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
            before = f"id {shown(question)} occurred before, at {place(self._seen[question])}"
            wanted = "wanted one answer per question and arm"
            raise refused(self.file, line, name("question", "id"), f"{before}; {wanted}")
        if tokens is not None and tokens < 0:
            why = f"{tokens} is negative; a token count is 0 or more"
            raise refused(self.file, line, name("tokens", "tokens"), why)
        texts = sum(len(v) for v in extra.values() if isinstance(v, str))
        self._memory.charge(_ROW + len(question) + 2 * texts, self.file)
        self._seen[question] = line
        self._verdict.append(UNJUDGED if right is None else int(right))
        self._tokens.append(tokens)
        self._ended.append(ended)
        self._flag.append(flag)
        self._content.append(content)
        for key, value in extra.items():
            self._extra.setdefault(key, []).append(value)

    def grade_last(self, gold: str, answer: str) -> None:
        """The row just added has a gold and an answer, which our grader shall compare."""
        self._memory.charge(2 * len(gold) + 2 * len(answer), self.file)
        self.gradable[len(self._seen) - 1] = (gold, answer)

    def judge(self, verdicts: Mapping[int, Verdict]) -> tuple[int, dict[str, int]]:
        """Put our verdicts in place of the log's, which stay beside them.

        Return how many of these answers the log had judged, and the questions on which the two differ, with rows.
        """
        logged = list(self._verdict)
        for row, said in verdicts.items():
            self._verdict[row] = RIGHT if said == "right" else WRONG
        self.about["unreadable"] = sum(said == "unreadable" for said in verdicts.values())
        both = [row for row in verdicts if logged[row] != UNJUDGED]
        if both:
            self._extra["verdict_logged"] = logged
        names = list(self._seen)
        return len(both), {names[row]: row for row in both if logged[row] != self._verdict[row]}

    def _whole(self, column: list[Any], what: str) -> list[Any] | None:
        """A column that every row has, or None when none has; a column with holes is refused."""
        missing = [i for i, value in enumerate(column) if value is None]
        if len(missing) == len(column):
            return None
        if missing:
            lack = f"{len(missing)} of {len(column)} rows lack it"
            why = f"no value, but other rows have one ({lack}); complete the log or drop the column"
            raise refused(self.file, list(self._seen.values())[missing[0]], what, why)
        return column

    def done(self, questions: Questions) -> Arm:
        if not self._seen:
            raise DataError(f"{self.file}: no row of {printable(self.policy)} has an outcome; nothing to diagnose")
        tokens = self._whole(self._tokens, "tokens")
        ended = None if None in self._ended else np.asarray(self._ended, dtype=np.bool_)
        flag = None if None in self._flag else np.asarray(self._flag, dtype=np.bool_)
        content = None if 0 in self._content else np.asarray(self._content, dtype=np.uint64)
        extra = {k: collected(v) for k, v in self._extra.items() if len(v) == len(self._seen)}
        about = dict(self.about)
        logged = printable(str(about.pop("model", "")))
        return Arm(
            policy=printable(self.policy),
            budget=self.budget,
            file=printable(self.file),
            model=canonical(logged),
            model_as_logged=logged,
            task=printable(str(about.pop("task", ""))),
            question=questions.codes(self._seen),
            verdict=np.asarray(self._verdict, dtype=np.int8),
            tokens=None if tokens is None else np.asarray(tokens, dtype=np.int64),
            ended=ended,
            flag=flag,
            content=content,
            failed=self.failed,
            extra=extra,
            **about,
        )
