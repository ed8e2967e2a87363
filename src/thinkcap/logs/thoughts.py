"""A logged text apart into thought and answer: the one place in this room that knows how thoughts are marked.

>>> Thoughts().divide("<think>6 x 7</think>42")
Divided(thought='6 x 7', answer='42', closed=True)
>>> thoughts(texts=["[THINK]6 x 7[/THINK]42"]).divide("[THINK]6 x")
Divided(thought='6 x', answer='', closed=False)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from thinkcap.core.errors import DataError
from thinkcap.core.marks import PLAIN, Marks
from thinkcap.core.thinking import parted
from thinkcap.core.types import EMPTY
from thinkcap.dialects import Dialect, chosen, of_model, of_template, recognised


class Divided(NamedTuple):
    thought: str
    answer: str
    closed: bool
    """False where a thought was opened and never closed: such an answer was surely cut."""

    @property
    def said(self) -> str:
        """What may be graded: nothing was said by a thought that never closed."""
        return self.answer if self.closed else ""


@dataclass(frozen=True)
class Thoughts:
    """How the texts of one log mark their thoughts."""

    marks: Marks = PLAIN
    found: Mapping[str, str] = EMPTY
    """Which dialect that is and how it was found, as an arm's provenance says it."""

    def divide(self, text: str, *, opened: bool = False) -> Divided:
        """`opened`: the prompt opened the thought already, as many templates do."""
        thought, answer = parted(text, self.marks)
        start = text.rfind(self.marks.open_tag) if self.marks.open_tag else -1
        if start > text.rfind(self.marks.close_tag):
            return Divided(text[start + len(self.marks.open_tag) :], self._bare(answer), False)
        if thought is None and opened:
            return Divided(text, "", False)
        return Divided((thought or "").strip(), self._bare(answer), True)

    def shown_in(self, text: str) -> bool:
        return (bool(self.marks.open_tag) and self.marks.open_tag in text) or self.marks.close_tag in text

    def opened_before(self, text: str) -> bool:
        """Closes a thought that it did not open."""
        return self.marks.close_tag in text and not (self.marks.open_tag and self.marks.open_tag in text)

    def _bare(self, answer: str) -> str:
        """Without the markup that some models write around an answer."""
        for mark in self.marks.wrappers:
            answer = answer.replace(mark, "")
        for mark in self.marks.tails:
            if answer.rstrip().endswith(mark):
                answer = answer.rstrip().removesuffix(mark)
        return answer.strip() if self.marks.wrappers else answer


def thoughts(wanted: str = "", template: str = "", model: str = "", texts: Sequence[str] = ()) -> Thoughts:
    """By the dialect named, the template in the log, the model's where the texts agree, else the texts."""
    found = chosen(wanted) or _of_template(template)
    if found is None:
        by_name = of_model(model)
        agrees = by_name is not None and any(Thoughts(by_name.marks).shown_in(text) for text in texts)
        found = by_name if agrees else recognised(texts) or by_name
    if found is None or not found.thinks or not found.close_tag:
        return Thoughts()
    # At another level of effort it may have other marks: those that the texts have.
    marks = max(
        (spoken.marks for spoken in found.every_level),
        key=lambda marks: sum(Thoughts(marks).shown_in(text) for text in texts),
    )
    shown = found.name or f"{marks.open_tag} ... {marks.close_tag}".strip()
    return Thoughts(marks, {"dialect": shown, "dialect_by": found.found_by})


def _of_template(source: str) -> Dialect | None:
    if not source:
        return None
    try:
        found = of_template(source)
    except DataError:
        # A log may hold anything under that name.
        return None
    return found if found.thinks else None
