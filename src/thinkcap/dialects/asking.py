"""What a template asks of the model in words: marks that its own system text names, and nothing else shows.

"Write your thoughts between <think></think>."               # marks ('<think>', '</think>')
"Give the solution as [BEGIN ANSWER] ... [END ANSWER]."      # all before the first mark is thought
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from thinkcap.dialects.conversations import QUESTION
from thinkcap.dialects.marks import MARK, THINKS, closing_of
from thinkcap.dialects.rendering import user
from thinkcap.dialects.switching import Switching

_ANSWERS = re.compile(r"answer|response|solution|output|final", re.IGNORECASE)
"""Words that a mark around an answer has in it."""
_QUOTED = re.compile(r"['\"“‘]([^'\"“”‘’\n]{4,60}:)['\"”’]")
"""A sentence that the model is told to write, such as 'Here is my response:'."""


class SystemText:
    """The system text that a template writes by itself when thinking is on, and the marks in it."""

    def __init__(self, prompt: Switching) -> None:
        self.prompt = prompt

    @cached_property
    def text(self) -> str:
        return self.prompt.on_text.partition(QUESTION)[0]

    @cached_property
    def marks(self) -> tuple[str, str] | None:
        """`(open, close)` of the thought; the opening is empty where the text begins with the thought."""
        return self._pair or self._sentences or self._openings or self._final

    @cached_property
    def answer(self) -> tuple[str | None, str | None]:
        """Markup around the answer, named behind that of the thought."""
        if self.marks is None:
            return None, None
        opened, closed = self.marks
        if not opened:
            return None, closing_of(closed)
        behind = self.text.partition(closed if closed in self.text else opened)[2]
        for mark in self._of_answers(behind):
            closing = closing_of(mark)
            if closing and (closing in behind or closed not in self.text):
                return mark, closing
        return None, None

    @cached_property
    def lasts(self) -> bool:
        """A system message of the caller does not take the request away."""
        asked = [{"role": "system", "content": "Be brief."}, user(QUESTION)]
        text = (self.prompt.template.render(asked, **self._on) or "").partition(QUESTION)[0]
        return self.marks is not None and all(mark in text for mark in self.marks if mark in self.text)

    @property
    def _on(self) -> dict[str, Any]:
        return dict(self.prompt.switch.on) if self.prompt.switch else {}

    @property
    def _pair(self) -> tuple[str, str] | None:
        for mark in (m[0] for m in MARK.finditer(self.text) if THINKS.search(m[0])):
            closing = closing_of(mark)
            if closing and closing in self.text:
                return mark, closing
        return None

    @property
    def _sentences(self) -> tuple[str, str] | None:
        said = _QUOTED.findall(self.text)
        first = next((i for i, sentence in enumerate(said[:-1]) if THINKS.search(sentence)), None)
        return None if first is None else (said[first], said[first + 1])

    @property
    def _openings(self) -> tuple[str, str] | None:
        """Of two pairs, one for the thought and one for the answer, only the openings are named."""
        for mark in (m[0] for m in MARK.finditer(self.text) if THINKS.search(m[0]) and m[0][1:-1].isalpha()):
            if self._of_answers(self.text) and (closing := closing_of(mark)):
                return mark, closing
        return None

    @property
    def _final(self) -> tuple[str, str] | None:
        """The text asks for thoughts and marks only where they end and the answer begins."""
        for mark in self._of_answers(self.text):
            before, _, behind = self.text.partition(mark)
            closing = closing_of(mark)
            if THINKS.search(before) and closing and closing in behind:
                return "", mark
        return None

    def _of_answers(self, text: str) -> list[str]:
        marks = [m[0] for m in MARK.finditer(text)]
        return [m for m in marks if _ANSWERS.search(m) and "tool" not in m.lower() and m not in self.prompt.header]
