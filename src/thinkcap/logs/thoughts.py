"""A logged text apart into thought and answer: the one place in this room that knows how thoughts are marked.

>>> divide("<think>6 x 7</think>42")
Divided(thought='6 x 7', answer='42', closed=True)
>>> divide("<think>6 x")
Divided(thought='6 x', answer='', closed=False)
"""

from __future__ import annotations

from typing import NamedTuple

from thinkcap.core.thinking import PLAIN, Marks, parted


class Divided(NamedTuple):
    thought: str
    answer: str
    closed: bool
    """False where a thought was opened and never closed: such an answer was surely cut."""

    @property
    def said(self) -> str:
        """What may be graded: nothing was said by a thought that never closed."""
        return self.answer if self.closed else ""


def divide(text: str, *, opened: bool = False, marks: Marks = PLAIN) -> Divided:
    """`opened`: the prompt opened the thought already, as many templates do."""
    thought, answer = parted(text, marks)
    start = text.rfind(marks.open_tag)
    if start > text.rfind(marks.close_tag):
        return Divided(text[start + len(marks.open_tag) :], answer, False)
    if thought is None and opened:
        return Divided(text, "", False)
    return Divided((thought or "").strip(), answer, True)


def shows_thought(text: str, marks: Marks = PLAIN) -> bool:
    return marks.open_tag in text or marks.close_tag in text


def opened_before(text: str, marks: Marks = PLAIN) -> bool:
    """Closes a thought that it did not open."""
    return marks.close_tag in text and marks.open_tag not in text
