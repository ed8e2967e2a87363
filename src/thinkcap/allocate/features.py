"""Thirteen numbers a question shows before a token is spent: lengths, numbers, formulas, topic words.

    >>> features("What is 12 * 7?").shape
    (13,)
    >>> dict(zip(NAMES, features("What is 12 * 7?")))["numbers"]
    2.0

They are of the text alone, so a file with weights and numpy are enough to use them; `pieces` counts words and
signs in place of a tokenizer's tokens, which differ from model to model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thinkcap.core.types import Question
from thinkcap.statistics.arrays import Floats

NAMES = (
    "characters",
    "words",
    "pieces",
    "sentences",
    "digits",
    "numbers",
    "magnitude",
    "latex",
    "fractions_roots",
    "operators",
    "algebra",
    "geometry",
    "counting",
)

_WORDS = re.compile(r"[^\W\d_]+")
_PIECES = re.compile(r"\d|[^\W\d_]+|[^\w\s]")
_SENTENCES = re.compile(r"[.!?](?=\s|$)|\n+")
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
_LATEX = re.compile(r"\$|\\[a-zA-Z]+")
_FRACTIONS = re.compile(r"\\[dt]?frac|\\sqrt")
_OPERATORS = re.compile(r"(?<=[\s\d)(])[-+*/^=<>×÷](?=[\s\d)(])|\b(?:and|or|not)\b")
_TOPICS = (
    re.compile(
        r"\b(equations?|polynomials?|roots?|factor\w*|functions?|solve for|integers?|primes?|divis\w+|modulo|"
        r"remainders?|multiples?|digits?|greatest common|least common)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(triangles?|circles?|angles?|radius|diameter|perimeter|areas?|polygons?|squares?|rectangles?|volumes?|"
        r"coordinates?|parallel|perpendicular|sides?)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(how many|probabilit\w+|chance|random\w*|dice|die|coins?|cards?|ways|arrange\w*|choose|combinations?|"
        r"permutations?|expected)\b",
        re.IGNORECASE,
    ),
)


def features(text: str) -> Floats:
    numbers = [n.replace(",", "") for n in _NUMBERS.findall(text)]
    # Digits beyond the range of a float say no more than that the number is huge.
    largest = max((float(n) if n.count(".") < 2 and len(n) < 300 else 0.0 for n in numbers), default=0.0)
    return np.array(
        [
            len(text),
            len(_WORDS.findall(text)),
            len(_PIECES.findall(text)),
            max(1, len([s for s in _SENTENCES.split(text) if s.strip()])),
            sum(c.isdigit() for c in text),
            len(numbers),
            math.log10(1 + largest),
            len(_LATEX.findall(text)),
            len(_FRACTIONS.findall(text)),
            len(_OPERATORS.findall(text)),
            *(bool(topic.search(text)) for topic in _TOPICS),
        ],
        dtype=np.float64,
    )


def asked(question: Question) -> str:
    """What the user said last; earlier turns are context, not the task."""
    for message in reversed(question.messages):
        if message.get("role") == "user":
            return _text(message.get("content"))
    return ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(str(p.get("text", "")) for p in content if isinstance(p, Mapping))
    return ""
