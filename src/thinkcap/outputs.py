"""A model's whole output, thought included: what it states as its answer, and whether that is right.

>>> extract("<think>maybe 41</think>It is 42.", "number")
Extracted(answer='42', level=4)
>>> equal("42", "<think>maybe 42", "number")
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinkcap import grading
from thinkcap.core.thinking import parted
from thinkcap.core.types import Kind

if TYPE_CHECKING:
    from thinkcap.grading.extraction import Extracted


def extract(text: str, kind: Kind, *, unclosed: bool = False) -> Extracted:
    """The answer and its level (1 boxed ... 4 guessed, 0 none); `unclosed=True` reads an open thought too."""
    thought, reply = parted(text, unclosed=unclosed)
    return grading.extract(reply, kind, thought=thought)


def equal(gold: str, answer: str | None, kind: Kind) -> bool:
    """Whether `answer` (a bare answer or a whole output) gives `gold`. Never raises on bad input."""
    if isinstance(answer, str) and ("<think>" in answer or "</think>" in answer):
        thought, reply = parted(answer)
        answer = reply if thought is None else grading.extract(reply, kind, thought=thought).answer
    return grading.equal(gold, answer, kind)
