"""Which column of anyone's table is the question, which the gold: found by the names people give them, or mapped.

>>> found = find(["Prompt", "A", "B", "Target", "subject"], {})
>>> found.question, found.gold, found.options, found.group
('Prompt', 'Target', (('A', 'A'), ('B', 'B')), 'subject')
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.names import nearest

NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "problem", "prompt", "query", "question_text", "input", "instruction", "text", "q"),
    "messages": ("messages", "conversation", "chat"),
    "gold": (
        *("answer", "gold", "target", "gold_answer", "final_answer", "correct_answer", "ground_truth", "expected"),
        *(
            "expected_answer",
            "reference",
            "reference_answer",
            "answer_key",
            "answerkey",
            "correct",
            "correct_option",
        ),
        *("solution", "label", "output", "response", "completion", "a"),
    ),
    "id": ("id", "question_id", "qid", "uid", "uuid", "unique_id", "item", "item_id", "key", "index", "idx"),
    "kind": ("kind",),
    "form": ("form",),
    "group": (
        "group",
        "subject",
        "category",
        "topic",
        "difficulty",
        "level",
        "domain",
        "type",
        "subset",
        "source",
    ),
    "choices": ("choices", "options", "answer_choices", "candidates", "endings"),
}
"""Names of a column by what it is, the most telling first."""
_OPTION = re.compile(r"(?:option|opt|op|choice|answer)?_?\(?([a-z])\)?")
_SHOWN = 12
_LONGEST = 40


@dataclass(frozen=True)
class Columns:
    """What each column is; None and empty where the table has none."""

    question: str | None = None
    messages: str | None = None
    gold: str | None = None
    id: str | None = None
    kind: str | None = None
    form: str | None = None
    group: str | None = None
    choices: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    """(letter, column) of a multiple choice."""

    @property
    def named(self) -> dict[str, str]:
        """Role to column, as `--map` takes it."""
        return {role: column for role in NAMES if (column := getattr(self, role)) is not None}

    @property
    def used(self) -> frozenset[str]:
        """Columns whose cells are not kept as facts besides: the group is one of them too."""
        named = (self.question, self.messages, self.gold, self.id, self.kind, self.form, self.choices)
        return frozenset(name for name in named if name) | {column for _, column in self.options}


def find(names: Sequence[str], mapped: Mapping[str, str], where: str = "the file") -> Columns:
    """Columns by their names, where `mapped` (role to column) does not say."""
    for role, column in mapped.items():
        if role not in NAMES:
            raise ConfigError(f"--map names no '{role}'{nearest(role, NAMES)}")
        if column not in names:
            raise ConfigError(f"--map {role}={column}: no such column in {where}{nearest(column, names)}")
    free = {_plain(name): name for name in reversed(names) if name not in mapped.values()}
    found = dict(mapped)
    options = _options(free)
    lettered = {column for _, column in options}
    free = {plain: name for plain, name in free.items() if name not in lettered}
    for role, known in NAMES.items():
        # Chats and plain questions may stand in one file, each record with its own; a mapped one stands alone.
        if role in found or ("question" in mapped and role == "messages") or (options and role == "choices"):
            continue
        name = next((name for name in known if name in free), None)
        if name is not None:
            found[role] = free.pop(name)
    seen = ", ".join(name[:_LONGEST] for name in names[:_SHOWN]) + (
        f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    )
    if "question" not in found and "messages" not in found:
        first = " (the first line must name the columns)" if where.endswith((".csv", ".tsv")) else ""
        raise DataError(
            f"{where}: no column of questions among {seen}{_meant(free, 'question')}; "
            f"name it: --map question=COLUMN{first}"
        )
    if "gold" not in found:
        raise DataError(
            f"{where}: no column of answers among {seen}{_meant(free, 'gold')}; name it: --map gold=COLUMN"
        )
    return Columns(**found, options=options)


def _plain(name: str) -> str:
    return re.sub(r"[\s\-.]+", "_", name.strip().lower())


def _options(free: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Columns A, B, C, ... or option_a, option_b, ...: at least two, in order, from A on."""
    lettered = {found.group(1).upper(): name for key, name in free.items() if (found := _OPTION.fullmatch(key))}
    letters = []
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        if letter not in lettered:
            break
        letters.append(letter)
    return tuple((letter, lettered[letter]) for letter in letters) if len(letters) > 1 else ()


def _meant(free: Mapping[str, str], role: str) -> str:
    """A hint where a name that is no role's yet is nearly one we know."""
    for plain, name in reversed(list(free.items())[-_SHOWN:]):
        hint = nearest(plain, NAMES[role])
        if "did you mean" in hint:
            return f" ('{name}'{hint.replace(';', ':', 1)})"
    return ""
