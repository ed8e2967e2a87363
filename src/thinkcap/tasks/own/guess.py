"""How the golds of a file are to be compared, guessed from the golds themselves.

>>> guessed(["12", "1,000"]), guessed(["(A)", "c"]), guessed(["yes", "No"]), guessed(["Paris", "New York"])
(('number', ''), ('label', ''), ('label', 'yesno'), ('text', ''))
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from thinkcap.core.types import Kind

KINDS: Mapping[str, tuple[Kind, str]] = {
    "number": ("number", ""),
    "math": ("math", ""),
    "label": ("label", ""),
    "truth": ("label", "truth"),
    "yesno": ("label", "yesno"),
    "text": ("text", ""),
}
"""What a person may call a kind: how it is compared, and the answer form where it has one of its own."""

_NUMBER = re.compile(r"\s*+[-+$€£]{0,3}\s*+\d[\d,]*+(?:\.\d++)?\s*+%?\s*+", re.ASCII)
_LETTER = re.compile(r"\s*(?:\([A-Za-z]\)|[A-Za-z][).:]?)\s*")
_FORMULA = re.compile(r"\\[a-zA-Z]+|[\^=<>√π∞]|\d\s*[-+*/]\s*\w|\w\s*[+*/]\s*\d")
_WORD = re.compile(r"(?<![\\a-zA-Z])[^\W\d_]{3,}")


def guessed(golds: Sequence[str]) -> tuple[Kind, str]:
    """Kind and form that fit all golds; formulas where at least half of them are some, words otherwise."""
    words = {gold.strip().lower() for gold in golds}
    if words <= {"true", "false"}:
        return KINDS["truth"]
    if words <= {"yes", "no"}:
        return KINDS["yesno"]
    if all(_NUMBER.fullmatch(gold) for gold in golds):
        return KINDS["number"]
    if all(_LETTER.fullmatch(gold) for gold in golds):
        return KINDS["label"]
    return KINDS["math" if 2 * sum(map(_is_formula, golds)) >= len(golds) else "text"]


def _is_formula(gold: str) -> bool:
    if gold.strip().startswith("/"):  # a regular expression
        return False
    return _NUMBER.fullmatch(gold) is not None or (_FORMULA.search(gold) is not None and not _WORD.search(gold))
