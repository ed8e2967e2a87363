"""A task: questions, their gold answers and where they came from, in an order that a seed fixes.

A pilot is a prefix of the full set and a hold-out an offset into it, so that no question is in both.

    >>> items = [Item(asked(str(i), "?", "number"), str(i)) for i in range(5)]
    >>> [q.id for q in Source("demo", tuple(items), "0" * 64).task(seed=1, limit=2, offset=1).questions]
    ['3', '4']
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from msgspec import structs

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Kind, Question
from thinkcap.grading import equal


@dataclass(frozen=True)
class Item:
    """One question with its gold answer; `facts` keeps what the file says of it (level, subject)."""

    question: Question
    gold: str
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Task:
    """What a study runs: questions in order, golds by id."""

    name: str
    questions: tuple[Question, ...]
    golds: Mapping[str, str]
    hash: str
    """Of all questions and golds of the whole set, whatever part is taken."""
    seed: int | None = None
    """Order of the whole set; None is the order of the file."""
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    note: str = ""
    """How the file was read, in a line."""

    def gold_hash(self, question_id: str) -> str:
        """Pairs rows of two runs: the same question must have the same gold."""
        return _hash(self.golds[question_id])


@lru_cache(maxsize=4096)
def _hash(gold: str) -> str:
    return hashlib.sha256(gold.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Source:
    """A whole set as it was read, before order and limits."""

    name: str
    items: tuple[Item, ...]
    hash: str
    note: str = ""
    """How the file was read, in a line; empty where there was nothing to find out."""
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What the file's columns were taken for: role to column."""

    def task(self, *, seed: int | None = None, limit: int | None = None, offset: int = 0) -> Task:
        """The part asked for: shuffled by the seed, from `offset` on, at most `limit`."""
        if offset < 0 or (limit is not None and limit < 0):
            raise ConfigError(f"limit {limit} and offset {offset} of task '{self.name}' must not be negative")
        if offset and offset >= len(self.items):
            raise ConfigError(
                f"offset {offset} leaves nothing of task '{self.name}', which has {len(self.items)} questions"
            )
        order = list(range(len(self.items)))
        if seed is not None:
            random.Random(seed).shuffle(order)
        stop = len(order) if limit is None else offset + limit
        taken = [self.items[i] for i in order[offset:stop]]
        return Task(
            name=self.name,
            questions=tuple(item.question for item in taken),
            golds=MappingProxyType({item.question.id: item.gold for item in taken}),
            hash=self.hash,
            seed=seed,
            facts=MappingProxyType({item.question.id: item.facts for item in taken}),
            note=self.note,
        )


def asked(id: str, text: str, kind: Kind, form: str = "", group: str = "") -> Question:
    """A question of one user message, with the answer form its kind asks for."""
    content = PROMPTS.asked(text, form or kind)
    return Question(id, ({"role": "user", "content": content},), kind=kind, form=form, group=group)


def reworded(task: Task, prompts: Prompts) -> Task:
    """The same questions with another instruction after them; messages of the user's own stay as they are."""
    return replace(task, questions=tuple(_reworded(question, prompts) for question in task.questions))


def _reworded(question: Question, prompts: Prompts) -> Question:
    (*before, last) = question.messages
    ours = PROMPTS.asked("", question.answer_form)
    if not isinstance(last["content"], str) or not last["content"].endswith(ours):
        return question
    content = prompts.asked(last["content"].removesuffix(ours), question.answer_form)
    return structs.replace(question, messages=(*before, {**last, "content": content}))


def content_hash(pairs: Iterable[tuple[str, str]]) -> str:
    """Of questions and golds, so that the same set has one hash in every file format."""
    digest = hashlib.sha256()
    for question, gold in pairs:
        digest.update(json.dumps([question, gold], ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def check(task: Task) -> None:
    """Refuse a task whose grader does not accept its own golds, or accepts changed ones."""
    for question in task.questions:
        gold, kind = task.golds[question.id], question.kind or "math"
        if not equal(gold, gold, kind):
            raise DataError(f"task '{task.name}': the gold '{gold}' of '{question.id}' is not readable as {kind}")
        changed = changed_gold(gold, kind)
        if equal(gold, changed, kind):
            raise DataError(
                f"task '{task.name}': for '{question.id}' the other answer '{changed}' passes as gold '{gold}'; "
                f"is '{kind}' the right kind?"
            )


_OTHER = {"true": "False", "false": "True", "yes": "No", "no": "Yes"}


def changed_gold(gold: str, kind: Kind) -> str:
    """A different answer of the same look: another label, or the value plus something."""
    if kind == "text":
        return "none of these" if "none" not in gold.lower() else "something else"
    bare = gold.strip(" ().").lower()
    if bare in _OTHER:
        return _OTHER[bare]
    if kind == "label" and len(bare) == 1:
        return "(B)" if bare == "a" else "(A)"
    digit = next((i for i, c in enumerate(gold) if c.isdigit() and gold[i - 1 : i] not in ("_", "^")), None)
    if digit is None:
        return "7 + " + gold if kind == "math" and "\\text" not in gold else "none of these"
    other = str((int(gold[digit]) + 1) % 10)
    if other == "0":
        other = "4"
    return gold[:digit] + other + gold[digit + 1 :]
