"""What was run, wherever it was logged: one configuration in one run, its outcomes in columns.

Importers translate at the door; behind it nobody reads foreign keys, file names or numbers of stages.

    >>> arm = Arm("iris", 512, "log.jsonl", np.arange(2), np.array([RIGHT, UNJUDGED]), options={"first": 64})
    >>> arm.name, arm.n, arm.judged().right.tolist()
    ('iris(first=64)@512', 2, [True])
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Ints, distinct
from thinkcap.statistics.clusters import repeated
from thinkcap.statistics.precision import Proportion, accuracy

COUNTED = "tokens < b"
"""The criterion where a log tells the end only by its counts."""

RIGHT, WRONG, UNJUDGED = 1, 0, -1
"""A row's verdict. Not judged is neither: it is counted, cut, timed and priced, never taken for wrong."""

Verdicts = NDArray[np.int8]


def content_hash(*parts: str) -> int:
    """64 bits of a question's gold or text; 0 is never returned, it stands for 'not stored'."""
    digest = hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") or 1


def collected(values: list[Any]) -> NDArray[Any]:
    """Values of one column: truths and counts as such, whatever else as objects."""
    if values and all(isinstance(v, bool) for v in values):
        return np.asarray(values, dtype=np.bool_)
    if values and all(isinstance(v, int) and abs(v) < 2**62 for v in values):
        return np.asarray(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    # One by one: a list of lists would become a table.
    for row, value in enumerate(values):
        column[row] = value
    return column


class Questions:
    """Question ids as numbers, shared by all arms of one diagnosis, so that pairing is a sort of integers."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        return self._codes.setdefault(name, len(self._codes))

    def codes(self, names: Iterable[str]) -> Ints:
        known = self._codes
        return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)

    @property
    def names(self) -> list[str]:
        return list(self._codes)


@dataclass(frozen=True)
class Stages:
    """The budget of each pass in tokens, and how often it may think; None where the records do not tell."""

    first: int | None = None
    """A try without thinking that may settle the question."""
    think: int | None = None
    answer: int | None = None
    """The pass after the thought; 0 where the thought is read as it stands."""
    rounds: int | None = None

    @property
    def total(self) -> int | None:
        """All a question may spend; None where a pass is not told."""
        if self.first is None or self.think is None or self.answer is None:
            return None
        return self.first + (self.rounds or 1) * (self.think + self.answer)

    @property
    def told(self) -> int:
        return sum(value is not None for value in astuple(self))

    def agree(self, other: Stages) -> bool:
        """No pass of which both are told differs: one no chain needed was not seen, which is no difference."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return all(a == b for a, b in pairs if a is not None and b is not None)


_COLUMNS = ("question", "verdict", "tokens", "ended", "flag", "content")


@dataclass(frozen=True)
class Arm:
    """Outcomes of one configuration. Columns of equal length; a column nobody stored is None."""

    policy: str
    """Its base name: `iris`, `think`, `think[heuristic]`."""
    budget: int | None
    """All that a question may spend, in tokens."""
    file: str
    question: Ints
    verdict: Verdicts
    """1 right, 0 not right, -1 not judged."""
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
    """Its canonical name: `Qwen/Qwen3-8B` and `Qwen3_8B` are `Qwen3-8B`."""
    model_as_logged: str = ""
    task: str = ""
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """The policy's options as they were given."""
    stages: Stages = Stages()
    status: str = "actual"
    failed: int = 0
    """Generations that failed: no rows, and no wrong answers."""
    unreadable: int = 0
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns only some logs have. `stage` names the pass that answered: probe, think, answer, round2, majority;
    others are tokens_think, level, group, converged, rounds, trace, gold, text, wall_s ..."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """What it was made on and with (hardware, dtype, engine, weights, prompts, grader), where the run says so."""

    @property
    def n(self) -> int:
        return len(self.verdict)

    @cached_property
    def method(self) -> str:
        """`iris(first=64)`: the policy with its options."""
        inside = ",".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.policy}({inside})" if inside else self.policy

    @cached_property
    def name(self) -> str:
        """`iris(first=64)@512`."""
        return self.method if self.budget is None else f"{self.method}@{self.budget}"

    @property
    def mode(self) -> str:
        """think or nothink for one plain call, empty for methods made of several."""
        head = self.policy.partition("[")[0]
        return head if head in ("think", "nothink") else ""

    @property
    def hardware(self) -> str:
        return self.provenance.get("hardware", "")

    @cached_property
    def right(self) -> Bools:
        """Which rows are right, or a plain refusal where some were never judged."""
        if not self.is_judged:
            missing = int((self.verdict == UNJUDGED).sum())
            raise DataError(
                f"{self.label}: {missing} of {self.n} rows have no verdict, and this needs one for each"
            )
        return np.asarray(self.verdict == RIGHT)

    @cached_property
    def repeats(self) -> Ints | None:
        """Which question each row answers, where some have several rows; None where every row is its own question.

        Estimators take it as `questions`: an interval that took seeds for questions would be too narrow.
        """
        if repeated(self.question) is None or self.content is None:
            return repeated(self.question)
        # Seeds of a drawn task may give one id to other questions.
        return repeated(distinct([self.question, self.content.view(np.int64)])[1])

    def repeats_on(self, rows: Bools) -> Ints | None:
        """The same for a part of the rows."""
        return None if self.repeats is None else self.repeats[rows]

    @cached_property
    def accuracy(self) -> Proportion:
        return accuracy(self.right, self.repeats)

    @cached_property
    def is_judged(self) -> bool:
        return not bool((self.verdict == UNJUDGED).any())

    def judged(self) -> Arm:
        """The rows that have a verdict; possibly none."""
        return self if self.is_judged else self.take(np.asarray(self.verdict != UNJUDGED))

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
            raise DataError(f"{self.label}: the log does not say which answers were cut, and this needs it")
        return self.ended

    @property
    def label(self) -> str:
        return f"{self.name} of {self.file}"

    def take(self, rows: Ints | Bools) -> Arm:
        stored = ((name, getattr(self, name)) for name in _COLUMNS)
        cut = {name: column[rows] for name, column in stored if column is not None}
        return replace(self, **cut, extra={k: v[rows] for k, v in self.extra.items()})


@dataclass(frozen=True)
class Records:
    """Everything read for one diagnosis, and what the logs do not say."""

    arms: tuple[Arm, ...]
    notes: tuple[str, ...] = ()
    """What was assumed, recognised or is missing, with what follows from it."""

    @property
    def rows(self) -> int:
        return sum(arm.n for arm in self.arms)


def with_counted_end(arm: Arm) -> Arm:
    """`ended` from counts where the log stored none: fewer tokens than the budget. Names a stored flag's rule."""
    below = arm.below()
    if below is None or arm.budget is None or arm.tokens is None:
        return arm
    if arm.flag is not None:
        rules = {"tokens < b": below, "tokens < int(0.95 b)": arm.tokens < int(0.95 * arm.budget)}
        said = (rule for rule, event in rules.items() if np.array_equal(arm.flag, event))
        arm = replace(arm, flag_rule=next(said, "unknown rule"))
    return arm if arm.ended is not None else replace(arm, ended=below, criterion=COUNTED)


def by_flag(arm: Arm) -> Arm:
    """The stored flag instead of the event, on the reader's request; the criterion says so."""
    if arm.flag is None:
        return arm
    return replace(arm, ended=arm.flag, criterion=f"stored flag ({arm.flag_rule or 'unknown rule'})")
