"""A model's whole output, thought included: what it states as its answer, and whether that is right.

>>> extract("<think>maybe 41</think>It is 42.", "number")
Extracted(answer='42', level=4)
>>> extract("[THINK]maybe 41[/THINK]It is 42.", "number")
Extracted(answer='42', level=4)
>>> equal("42", "<think>maybe 42", "number")
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinkcap import grading
from thinkcap.core.marks import PLAIN, Marks
from thinkcap.core.thinking import Parted, parted
from thinkcap.core.types import Kind
from thinkcap.dialects import chosen, recognised

if TYPE_CHECKING:
    from thinkcap.grading.extraction import Extracted


def extract(text: str, kind: Kind, *, unclosed: bool = False, dialect: str = "") -> Extracted:
    """The answer and its level (1 boxed ... 4 guessed, 0 none); `unclosed=True` reads an open thought too.

    `dialect` says how thoughts are marked (a known one, or a TOML file); without it the text's own marks do.
    """
    thought, reply = _parted(text, _marks(text, dialect), unclosed=unclosed)
    return grading.extract(reply, kind, thought=thought)


def equal(gold: str, answer: str | None, kind: Kind, *, dialect: str = "") -> bool:
    """Whether `answer` (a bare answer or a whole output) gives `gold`. Never raises on bad input."""
    if isinstance(answer, str):
        marks = _marks(answer, dialect)
        if (marks.open_tag and marks.open_tag in answer) or marks.close_tag in answer:
            thought, reply = _parted(answer, marks)
            answer = reply if thought is None else grading.extract(reply, kind, thought=thought).answer
    return grading.equal(gold, answer, kind)


def _marks(text: str, dialect: str) -> Marks:
    found = chosen(dialect) or recognised([text])
    return found.marks if found is not None and found.close_tag else PLAIN


def _parted(text: str, marks: Marks, *, unclosed: bool = False) -> Parted:
    thought, reply = parted(text, marks, unclosed=unclosed)
    for mark in marks.wrappers:
        reply = reply.replace(mark, " ")
    return Parted(thought, reply)
