"""What diagnosis works on, wherever it came from: outcomes in columns, one group of columns per arm.

An arm is one way of answering in one run: a model, a policy, a budget, a file.

    >>> build = ArmBuilder("log.jsonl", policy="think", budget=512)
    >>> build.add("q1", right=True, tokens=100, ended=True, line=1)
    >>> build.done(Questions()).n
    1
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Ints
from thinkcap.statistics.paired import Answers, Pairing, pair

COUNTED = "tokens < b"
"""The criterion where a log tells the end only by its counts."""


def content_hash(*parts: str) -> int:
    """64 bits of a question's gold or text; 0 is never returned, it stands for 'not stored'."""
    digest = hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") or 1


class Questions:
    """Question ids as numbers, shared by all arms of one diagnosis, so that pairing is a sort of integers."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        return self._codes.setdefault(name, len(self._codes))

    def codes(self, names: Iterable[str]) -> Ints:
        return np.fromiter((self.code(name) for name in names), dtype=np.int64)

    @property
    def names(self) -> list[str]:
        return list(self._codes)


@dataclass(frozen=True)
class Arm:
    """Outcomes of one way of answering. Columns of equal length; a column nobody stored is None."""

    policy: str
    budget: int | None
    file: str
    question: Ints
    right: Bools
    tokens: Ints | None = None
    ended: Bools | None = None
    """Ended by itself, by `criterion`; None when the log cannot tell for every row."""
    criterion: str = "unknown"
    """What `ended` means: end-of-turn, tokens<b, stored flag tokens<int(0.95b), stop reason ..."""
    flag: Bools | None = None
    """Stored 'did not hit the budget' flag, if any."""
    flag_rule: str | None = None
    content: NDArray[np.uint64] | None = None
    order: str | None = None
    model: str = ""
    task: str = ""
    seed: int | None = None
    status: str = "actual"
    failed: int = 0
    """Rows without a verdict: generations that failed are no wrong answers."""
    unreadable: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns only some logs have: stage, source, level, rounds, text ..."""
    made: Mapping[str, str] = field(default_factory=dict)
    """What it was made on and with (hardware, dtype, engine, weights, prompts, grader), where the run says so."""

    @property
    def n(self) -> int:
        return len(self.right)

    @property
    def name(self) -> str:
        if self.policy == "split" and "br" in self.settings:
            return f"split {self.settings['br']} + {self.settings['ba']}@{self.budget}"
        return self.policy if self.budget is None else f"{self.policy}@{self.budget}"

    @property
    def mode(self) -> str:
        """think or nothink for plain arms, empty for methods made of several calls."""
        head = self.policy.partition("[")[0]
        return head if head in ("think", "nothink") else ""

    def below(self, share: float = 1.0) -> Bools | None:
        """tokens < share * budget, the event as counts alone can tell it."""
        if self.tokens is None or self.budget is None:
            return None
        return np.asarray(self.tokens < share * self.budget)

    @property
    def lengths(self) -> Ints:
        """Token counts, or a plain refusal where the log stored none."""
        if self.tokens is None:
            raise DataError(f"{self.label}: no token counts are stored, and this needs them")
        return self.tokens

    @property
    def ends(self) -> Bools:
        """Whether each chain ended, or a plain refusal where the log cannot tell."""
        if self.ended is None:
            raise DataError(f"{self.label}: the log does not tell which answers were cut, and this needs it")
        return self.ended

    def answers(self) -> Answers:
        return Answers(self.question, self.right, self.content, self.status, self.order, self.label)

    @property
    def label(self) -> str:
        return f"{self.name} of {self.file}"

    def take(self, rows: Ints | Bools) -> Arm:
        def cut(column: NDArray[Any] | None) -> Any:
            return None if column is None else column[rows]

        return replace(
            self,
            question=self.question[rows],
            right=self.right[rows],
            tokens=cut(self.tokens),
            ended=cut(self.ended),
            flag=cut(self.flag),
            content=cut(self.content),
            extra={k: v[rows] for k, v in self.extra.items()},
        )


def matched(first: Arm, second: Arm) -> tuple[Arm, Arm, str]:
    """Both arms on their common questions, in the first arm's order. Refuses what `pair` refuses."""
    if first.file == second.file and first.order is None and first.content is None:
        # One file, one run: its own ids are the evidence.
        first, second = replace(first, order=first.file), replace(second, order=second.file)
    if np.array_equal(first.question, second.question) and _same_content(first, second):
        return first, second, "id and content" if first.content is not None else "id within one run"
    pairing: Pairing = pair(first.answers(), second.answers())
    keep = np.argsort(pairing.first, kind="stable")
    return first.take(pairing.first[keep]), second.take(pairing.second[keep]), pairing.matched_by


def _same_content(first: Arm, second: Arm) -> bool:
    """The quick way for arms that stand row by row; anything doubtful goes the long way through `pair`."""
    if first.status != "actual" or second.status != "actual":
        return False
    if first.content is None or second.content is None:
        return first.order is not None and first.order == second.order
    return bool(np.array_equal(first.content, second.content))


@dataclass(frozen=True)
class Records:
    """Everything read for one diagnosis, and what the logs do not say."""

    arms: tuple[Arm, ...]
    notes: tuple[str, ...] = ()
    """What was assumed, recognised or is missing, with what follows from it."""

    @property
    def rows(self) -> int:
        return sum(arm.n for arm in self.arms)

    def find(self, policy: str, budget: int | None = None) -> list[Arm]:
        return [a for a in self.arms if a.policy == policy and (budget is None or a.budget == budget)]


class ArmBuilder:
    """Collects rows one by one and checks each where its line number is still known."""

    def __init__(self, file: str, policy: str, budget: int | None, **about: Any) -> None:
        self.file, self.policy, self.budget, self.about = file, policy, budget, about
        self._ids: list[str] = []
        self._seen: dict[str, object] = {}
        self._right: list[bool] = []
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
        tokens: int | None = None,
        ended: bool | None = None,
        flag: bool | None = None,
        content: int = 0,
        line: object,
        columns: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        """`line` and `columns` (our name -> theirs) only serve messages."""
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
        if right is None:
            self.failed += 1
            return
        self._ids.append(question)
        self._right.append(right)
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
        return Arm(
            policy=self.policy,
            budget=self.budget,
            file=self.file,
            question=questions.codes(self._ids),
            right=np.asarray(self._right, dtype=np.bool_),
            tokens=None if tokens is None else np.asarray(tokens, dtype=np.int64),
            ended=ended,
            flag=flag,
            content=content,
            failed=self.failed,
            extra=extra,
            **self.about,
        )


def _place(line: object) -> str:
    return f"line {line}" if isinstance(line, int) else str(line)


def _column(values: list[Any]) -> NDArray[Any]:
    if values and all(isinstance(v, bool) for v in values):
        return np.asarray(values, dtype=np.bool_)
    if values and all(isinstance(v, int) for v in values):
        return np.asarray(values, dtype=np.int64)
    return np.asarray(values, dtype=object)


def with_counted_end(arm: Arm) -> Arm:
    """`ended` from counts where the log stored none: fewer tokens than the budget. Names a stored flag's rule."""
    below = arm.below()
    if below is None or arm.budget is None or arm.tokens is None:
        return arm
    rule = None
    if arm.flag is not None:
        loose = arm.tokens < int(0.95 * arm.budget)
        if np.array_equal(arm.flag, loose) and not np.array_equal(arm.flag, below):
            rule = "tokens < int(0.95 b)"
        elif np.array_equal(arm.flag, below):
            rule = "tokens < b"
        else:
            rule = "unknown rule"
    if arm.ended is not None:
        return replace(arm, flag_rule=rule)
    return replace(arm, ended=below, criterion=COUNTED, flag_rule=rule)


def by_flag(arm: Arm) -> Arm:
    """The stored flag instead of the event, on the reader's request; the criterion says so."""
    if arm.flag is None:
        return arm
    return replace(arm, ended=arm.flag, criterion=f"stored flag ({arm.flag_rule or 'unknown rule'})")
