"""Multiple choice: options written under the question as the bundled tasks write them, golds as letters.

>>> written("Which is even?", {"A": "3", "B": "4"})
'Which is even?\\nOptions:\\n(A) 3\\n(B) 4'
>>> lettered([("4", {"A": "3", "B": "4"}), ("a", {"A": "1", "B": "2"})])
['(B)', '(A)']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Options = Mapping[str, str]


def written(question: str, options: Options) -> str:
    return question + "\nOptions:\n" + "\n".join(f"({letter}) {text}" for letter, text in options.items())


def listed(cell: Any) -> Options | None:
    """Options from one cell: a list of texts, texts by letter, or lists of both (`text`, `label`)."""
    if isinstance(cell, Mapping) and isinstance(cell.get("text"), list):
        cell = cell["text"]
    if isinstance(cell, list) and 1 < len(cell) <= len(_LETTERS):
        return {letter: str(text).strip() for letter, text in zip(_LETTERS, cell, strict=False)}
    if isinstance(cell, Mapping) and len(cell) > 1 and all(len(str(key)) == 1 for key in cell):
        return {str(key).upper(): str(text).strip() for key, text in cell.items() if text is not None}
    return None


def lettered(golds: Sequence[tuple[str, Options]]) -> list[str | None]:
    """Golds as letters: each a letter, an option's text, or (all of them) its place; None is none of these."""
    letters = [_letter(gold, options) for gold, options in golds]
    if None not in letters or not all(gold.strip().isdecimal() for gold, _ in golds):
        return letters
    places = [int(gold) for gold, _ in golds]
    first = 0 if 0 in places else 1
    if first and all(place < len(options) for place, (_, options) in zip(places, golds, strict=True)):
        return letters  # counted from 0 or from 1? Nothing tells, and a guess would grade wrongly.
    return [
        f"({list(options)[place - first]})" if 0 <= place - first < len(options) else None
        for place, (_, options) in zip(places, golds, strict=True)
    ]


def _letter(gold: str, options: Options) -> str | None:
    bare = gold.strip().strip("().:").upper()
    if bare in options:
        return f"({bare})"
    same = [letter for letter, text in options.items() if text.casefold() == gold.strip().casefold()]
    return f"({same[0]})" if len(same) == 1 else None
