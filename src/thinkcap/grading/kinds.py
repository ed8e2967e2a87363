"""The words that callers and rules share: kinds of answers, verdicts, and what the rules decide of two texts."""

from __future__ import annotations

from enum import Enum
from typing import Literal

KindName = Literal["number", "math", "label", "text"]
VerdictName = Literal["right", "wrong", "unreadable"]


class Decision(Enum):
    """What the rules say of two answers; UNSURE is for the algebra system to settle, UNREADABLE for nobody."""

    SAME = "same"
    DIFFERENT = "different"
    UNREADABLE = "unreadable"
    UNSURE = "unsure"
