"""What the text of an unfinished thought shows at no cost: does it go on, does it check itself, does it loop?

>>> signal("First 2+3=5. Then 5*4=20.")
0
>>> signal("First 2+3=5. Then 5*4=20. Wait, let me check.")
1
>>> signal("so the answer is 5 again and " * 12)
2
"""

from __future__ import annotations

import re

NAMES = ("going on", "checking", "looping")
"""The three signals, in the order of the numbers `signal` gives."""

_TURN = re.compile(
    r"\b(wait|hmm|actually|alternatively|let me (?:re-?)?(?:check|verify|go back|double)|double[- ]check|"
    r"re-?check|to verify|check(?:ing)? (?:it|this|again)|(?:check|verify)(?=:)|once more|"
    r"start over|now from the)\b",
    re.IGNORECASE,
)
_PIECES = re.compile(r"\w+|[^\w\s]")
_RUN = 4
"""Pieces in a row that must recur: single words and signs recur in any text."""
_WINDOW = 48
"""Pieces at the end that are looked at; a loop is about what is written now."""
_LOOP = 0.8


def echo(text: str) -> float:
    """Share of the newest runs of pieces that stand earlier in the text already."""
    pieces = _PIECES.findall(text)
    runs = [tuple(pieces[i : i + _RUN]) for i in range(len(pieces) - _RUN + 1)]
    newest, seen = runs[-_WINDOW:], set(runs[:-_WINDOW])
    if len(newest) < _WINDOW or not seen:
        return 0.0
    return sum(run in seen for run in newest) / len(newest)


def signal(text: str) -> int:
    """0 going on, 1 checking what it has, 2 looping."""
    if echo(text) >= _LOOP:
        return 2
    return 1 if _TURN.search(text) else 0
