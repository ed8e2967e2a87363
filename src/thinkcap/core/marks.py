"""The marks a model writes around its thoughts, answers and tool calls, and how they are looked for in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

_TOKEN = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]")
"""What a control token looks like inside a longer mark."""


@dataclass(frozen=True)
class Marks:
    """What stands around thoughts, answers and tool calls in a model's text, without the white space beside it."""

    open_tag: str = "<think>"
    close_tag: str = "</think>"
    ends: tuple[str, ...] = ()
    """What else ends a thought, and belongs to what follows it: a tool call, the wrapper of the answer."""
    wrappers: tuple[str, ...] = ()
    """Markup around the answer that nobody should read."""
    calls: tuple[str, ...] = ()
    """What begins a tool call; a call is no part of the answer."""
    control: bool = False
    """The marks are control tokens: nobody quotes them, a thought may begin anywhere, not only on a new line."""
    header: str = ""
    """What each message of a turn begins with, where there are several: a later thought has it before its mark."""
    tails: tuple[str, ...] = ()
    """Markup if nothing follows it, and words of the answer otherwise: its closing mark, the end of the turn."""
    call_ends: tuple[str, ...] = ()
    """What ends a tool call, behind which another thought may begin."""

    @cached_property
    def without_calls(self) -> Marks:
        """For a question without tools, whose answer may well speak about them."""
        if not self.calls:
            return self
        return replace(self, calls=(), ends=tuple(e for e in self.ends if e not in self.calls))

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The marks, and the control tokens that longer ones are made of."""
        whole = [m for m in (self.open_tag, self.close_tag, *self.ends, *self.wrappers, *self.calls) if m]
        parts = [part for mark in whole for part in _TOKEN.findall(mark)]
        return tuple(dict.fromkeys([*whole, *parts]))

    def unfinished(self, text: str) -> str:
        """Markup at the end of a text that a limit has cut in two: it is no answer, and may still go on.

        >>> Marks("<|think|>", "<|end|>", wrappers=("<|start|>final",), control=True).unfinished("5<|start|>fi")
        '<|start|>fi'
        """
        at = self.in_answer.begun(text, 0) if self.control else None
        return text[at:] if at is not None and _TOKEN.match(text, at) else ""

    @cached_property
    def in_thought(self) -> Search:
        return Search((self.close_tag, *self.ends))

    @cached_property
    def in_answer(self) -> Search:
        return Search((*self.openings, self.close_tag, *self.wrappers, *self.calls, *self.tails))

    @cached_property
    def openings(self) -> tuple[str, ...]:
        """The opening of a thought, alone and behind a header."""
        return (self.open_tag, self.header + self.open_tag) if self.header and self.open_tag else (self.open_tag,)


PLAIN = Marks()


@dataclass(frozen=True)
class Search:
    """Finds the first of several marks; of two that begin at one place, the longer."""

    marks: tuple[str, ...]

    def __post_init__(self) -> None:
        unique = sorted({m for m in self.marks if m}, key=len, reverse=True)
        object.__setattr__(self, "marks", tuple(unique))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.marks)) if self.marks else r"(?!)")

    @cached_property
    def _first_letters(self) -> frozenset[str]:
        return frozenset(m[0] for m in self.marks)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.marks), default=0)

    def full(self, text: str, start: int) -> re.Match[str] | None:
        return self._pattern.search(text, start)

    def begun(self, text: str, start: int) -> int | None:
        """Where a mark begins that the end of the text may have cut in two."""
        for at in range(max(start, len(text) - self._longest + 1), len(text)):
            if text[at] in self._first_letters:
                tail = text[at:]
                if any(m.startswith(tail) and m != tail for m in self.marks):
                    return at
        return None
