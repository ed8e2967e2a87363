"""Where thoughts end and answers begin, in a whole text and in a stream of pieces: one reader for both.

>>> split("<think>\\n2+3\\n</think>\\n\\n5")
('2+3', '5')
>>> split("<think>\\n2+3")
('2+3', None)

What the marks of a model are, a dialect says (`thinkcap.dialects`); how a text is parted by them is said here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from thinkcap.core.marks import PLAIN, Marks
from thinkcap.core.reader import Reader
from thinkcap.core.types import Channel, Mode


class Delta(NamedTuple):
    """A piece of text as it is written. Engines leave the channel out unless their server parts it."""

    text: str
    channel: Channel | None = None
    tokens: int = 1
    """Written since the piece before. Its text may be empty, where a character is not whole yet."""


class Parts(NamedTuple):
    """A text, parted. None: there was none; an empty thought was opened and closed at once."""

    thought: str | None
    answer: str | None
    calls: str | None


ThoughtSpans = tuple[tuple[int, int | None], ...]
"""Where thoughts stand in a text, their marks included; None: the last one is still open at its end."""


def split(
    text: str, marks: Marks = PLAIN, mode: Mode = "think", opened: bool = False, closed: bool = False
) -> tuple[str | None, str | None]:
    """`(thought, answer)`: no answer while the thought is open, no thought where none was opened."""
    return spanned(text, marks, mode, opened, closed)[0][:2]


def parts(
    text: str, marks: Marks = PLAIN, mode: Mode = "think", opened: bool = False, closed: bool = False
) -> Parts:
    """All thoughts, all of the answer, all tool calls as they stand in the text."""
    return spanned(text, marks, mode, opened, closed)[0]


@lru_cache(maxsize=16)  # a chain that ended is whole at every larger budget, and those rows follow each other
def spanned(
    text: str, marks: Marks = PLAIN, mode: Mode = "think", opened: bool = False, closed: bool = False
) -> tuple[Parts, ThoughtSpans]:
    """The parts of a text, and where its thoughts stand.

    >>> spanned("2+3</think>5\\n<think>hm", opened=True)
    (Parts(thought='2+3\\nhm', answer='5\\n', calls=None), ((0, 11), (13, None)))
    """
    got: dict[str, list[str]] = {"thought": [], "answer": [], "call": []}
    reader = Reader(marks, mode, opened, closed, lambda channel, piece: got[channel].append(piece))
    reader.take(text)
    reader.finish()
    thought, answer, calls = ("".join(got[channel]) for channel in ("thought", "answer", "call"))
    found = Parts(
        thought if reader.thought_seen else None,
        answer if answer or (reader.answer_seen and not calls) else None,
        calls or None,
    )
    return found, tuple(reader.spans)


class Parted(NamedTuple):
    """A stored text taken apart by its tags; no thought where none was closed."""

    thought: str | None
    reply: str


def parted(text: str, marks: Marks = PLAIN, *, unclosed: bool = False) -> Parted:
    """What was thought and what was said, in a stored text whose beginning may be missing: its last tags count.

    A thought that never closed was not said: only what stands before it is a reply. `unclosed=True` is for a
    pipeline that says it guesses, and gets the open thought as if it had been said.

    >>> parted("<think>2+3</think>5"), parted("<think>2+3"), parted("<think>2+3", unclosed=True)
    (Parted(thought=' 2+3', reply='5'), Parted(thought=None, reply=''), Parted(thought=None, reply=' 2+3'))
    """
    open_tag, close_tag = marks.open_tag, marks.close_tag
    closed, opened = text.rfind(close_tag), text.rfind(open_tag) if open_tag else -1
    if opened > closed and not unclosed:
        return Parted(None, text[closed + len(close_tag) if closed >= 0 else 0 : opened])
    thought, tag, reply = text.rpartition(close_tag)
    if open_tag:
        thought, reply = thought.replace(open_tag, " "), reply.replace(open_tag, " ")
    return Parted(thought if tag else None, reply)


@dataclass
class Splitter:
    """The same reader between an engine and whoever shows its pieces; it holds back only what may be a mark."""

    marks: Marks = PLAIN
    mode: Mode = "think"
    opened: bool = False
    closed: bool = False
    goes_on: str | None = None
    """The line ends at which an earlier pass of this thought left off: shown if more of it follows."""
    _parted_thought: bool = False
    _line_ends: str = ""
    _reader: Reader | None = None

    def through(self, emit: Callable[[Delta], None]) -> Callable[[Delta], None]:
        reader = self._reader = self._made(emit)

        def take(delta: Delta) -> None:
            if delta.channel == "thought":
                self._parted(emit, delta.text)
            elif delta.channel == "answer":
                emit(delta)
            else:
                reader.take(delta.text)

        return take

    def finish(self, emit: Callable[[Delta], None]) -> None:
        """Let go of what was held back: no mark can follow any more."""
        (self._reader or self._made(emit)).finish()

    def _made(self, emit: Callable[[Delta], None]) -> Reader:
        def send(channel: str, text: str) -> None:
            # A tool call is the server's to parse; its text is neither thought nor answer.
            if channel == "thought":
                emit(Delta(text, "thought"))
            elif channel == "answer":
                emit(Delta(text, "answer"))

        return Reader(self.marks, self.mode, self.opened, self.closed, send, self.goes_on)

    def _parted(self, emit: Callable[[Delta], None], text: str) -> None:
        """A thought the server has parted itself: only the line ends around it are left to drop."""
        text = self._line_ends + text
        if not self._parted_thought:
            text = text.lstrip("\n")
        ready = text.rstrip("\n")
        self._line_ends = text[len(ready) :]
        if ready:
            self._parted_thought = True
            emit(Delta(ready, "thought"))
