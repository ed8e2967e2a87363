"""Where thoughts end and answers begin, in a whole text and in a stream of pieces: one reader for both.

>>> split("<think>\\n2+3\\n</think>\\n\\n5")
('2+3', '5')
>>> split("<think>\\n2+3")
('2+3', None)

What the marks of a model are, a dialect says (`thinkcap.dialects`); how a text is parted by them is said here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

from thinkcap.core.types import Channel, Mode


class Delta(NamedTuple):
    """A piece of text as it is written. Engines leave the channel out unless their server parts it."""

    text: str
    channel: Channel | None = None
    tokens: int = 1
    """Written since the piece before. Its text may be empty, where a character is not whole yet."""


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
        at = self._in_answer.begun(text, 0) if self.control else None
        return text[at:] if at is not None and _TOKEN.match(text, at) else ""

    @cached_property
    def _in_thought(self) -> _Search:
        return _Search((self.close_tag, *self.ends))

    @cached_property
    def _in_answer(self) -> _Search:
        return _Search((*self.openings, self.close_tag, *self.wrappers, *self.calls, *self.tails))

    @cached_property
    def openings(self) -> tuple[str, ...]:
        """The opening of a thought, alone and behind a header."""
        return (self.open_tag, self.header + self.open_tag) if self.header and self.open_tag else (self.open_tag,)


PLAIN = Marks()


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
    reader = _Reader(marks, mode, opened, closed, lambda channel, piece: got[channel].append(piece))
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
    _reader: _Reader | None = None

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

    def _made(self, emit: Callable[[Delta], None]) -> _Reader:
        def send(channel: str, text: str) -> None:
            # A tool call is the server's to parse; its text is neither thought nor answer.
            if channel == "thought":
                emit(Delta(text, "thought"))
            elif channel == "answer":
                emit(Delta(text, "answer"))

        return _Reader(self.marks, self.mode, self.opened, self.closed, send, self.goes_on)

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


@dataclass(frozen=True)
class _Search:
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


@dataclass
class _Fence:
    """Whether the next line of an answer stands in a block of code, where marks are quoted.

    >>> _Fence().after("See:\\n```\\n"), _Fence().after("```\\na\\n```\\n")
    (True, False)
    """

    inside: bool = False
    _line: str = ""

    def read(self, text: str) -> None:
        line, *more = text.split("\n")
        self._line = (self._line + line)[:_FENCED]
        for line in more:
            self.inside ^= self._line.lstrip().startswith(("```", "~~~"))
            self._line = line[:_FENCED]

    def after(self, text: str) -> bool:
        then = _Fence(self.inside, self._line)
        then.read(text)
        return then.inside


_CALL_END = 80
"""Characters in which a call's closing mark and the white space behind it stand."""
_FENCED = 8
"""Characters of a line that show whether it begins or ends a block of code."""


@dataclass
class _Reader:
    """A machine that is fed text in pieces of any size and decides nothing before it can be sure.

    So it says the same of a text however it is cut. One thing nobody can know before it comes: that a thought
    which nothing opened will be closed. Until then such text is answer, and so it stays.
    """

    marks: Marks
    mode: Mode
    opened: bool
    closed: bool
    send: Callable[[str, str], None]
    goes_on: str | None = None
    thought_seen: bool = False
    answer_seen: bool = False
    spans: list[tuple[int, int | None]] = field(default_factory=list)
    _gone: int = 0
    """Characters before those held."""
    _state: str = "start"
    _held: str = ""
    _kept: int = 0
    """Where that begins of what is held which must wait for more."""
    _waiting: str = ""
    """What is sent only if more of the present part follows: its line ends so far."""
    _fresh: bool = True
    """No word of the present part was sent yet."""
    _trims: bool = False
    """Line ends at the beginning of the present part are layout of a mark."""
    _new_line: bool = True
    """What comes next begins a line."""
    _thought_sent: bool = False
    _tailed: bool = False
    """What waits is markup unless a word follows it."""
    _fence: _Fence = field(default_factory=_Fence)
    _called: str = ""
    """The end of the tool call so far."""

    def __post_init__(self) -> None:
        self.thought_seen = self.opened and not self.closed
        if self.closed:
            self._enter("answer", trims=True)

    def take(self, text: str) -> None:
        self._held += text
        self._run(final=False)

    def finish(self) -> None:
        if self._held or self._state == "start":
            self._run(final=True)
        if self._state == "answer" and self._waiting and not self._tailed:
            self.send("answer", self._waiting)
            self._waiting = ""

    def _run(self, final: bool) -> None:
        at: int | None = 0
        while at is not None:
            at = self._start(at, final) if self._state == "start" else self._part(at, final)
        self._held = self._held[self._kept :]
        self._gone += self._kept
        self._kept = 0

    def _start(self, at: int, final: bool) -> int | None:
        """Before the first word: does the text open a thought?"""
        self._kept = at
        body = self._held[at:].lstrip()
        tag = self.marks.open_tag
        if tag and body.startswith(tag):
            # Some models open again what their prompt, or they themselves, have opened.
            self.opened = self.thought_seen = True
            return len(self._held) - len(body) + len(tag)
        if tag.startswith(body) and not final:
            return None
        if self.opened:
            self.spans.append((0, None))
            self._enter("thought", trims=self.goes_on is None)
            self._waiting = self.goes_on or ""
        elif self.mode == "think" and tag.startswith(body):
            # Cut inside the opening mark, or before it.
            self.thought_seen = True
            self._kept = len(self._held)
            return None
        else:
            self._enter("answer", trims=False)
        return at

    def _part(self, at: int, final: bool) -> int | None:
        text, search = self._held, self.marks._in_thought if self._state == "thought" else self.marks._in_answer
        found = search.full(text, at)
        while found and not self._counts(found[0], at, found.start()):
            found = search.full(text, found.start() + 1)
        until = len(text) if final else self._cut_in_two(search, at)
        if found and found.start() < until:
            self._put(text[at : found.start()])
            return self._met(found[0], found.end())
        cut = len(self.marks.unfinished(text[at:])) if final and self._state == "answer" else 0
        self._put(text[at : until - cut])
        self._kept = until
        return None

    def _cut_in_two(self, search: _Search, at: int) -> int:
        """Where a mark begins that the end of the text may have cut; the end itself where none does."""
        place = at - 1
        while (begun := search.begun(self._held, place + 1)) is not None:
            tail = self._held[begun:]
            if any(self._counts(m, at, begun) for m in search.marks if m.startswith(tail)):
                return begun
            place = begun
        return len(self._held)

    def _counts(self, mark: str, at: int, place: int) -> bool:
        """Whether a mark at this place is one, and not a word about it."""
        if self._state == "thought":
            return True
        if self._state == "call":
            # Arguments may quote anything but control tokens; behind a whole call they are over.
            over = (self._called + self._held[at:place]).rstrip().endswith(self.marks.call_ends or ("\0",))
            return mark in self.marks.openings and (self.marks.control or over)
        if mark in self.marks.calls or mark in self.marks.tails or self.marks.control:
            return True
        before = self._held[at:place]
        if mark in self.marks.wrappers:
            # Behind the first word of an answer it is a word itself.
            return bool(self.marks.header) or (self._fresh and not before.strip())
        if mark == self.marks.close_tag:
            # A close that nothing opened stands before the answer.
            return self._fresh and not before.strip()
        if self.closed:
            # We closed the thought ourselves: what follows is the answer, whatever it looks like.
            return False
        _, broken, line = before.rpartition("\n")
        begins = not line.strip() and (bool(broken) or self._new_line)
        return begins and not self._fence.after(before)

    def _met(self, mark: str, end: int) -> int:
        if self._state == "thought":
            end = end if mark == self.marks.close_tag else end - len(mark)
            self.spans[-1] = (self.spans[-1][0], self._gone + end)
            self._enter("answer", trims=True)
            return end
        if mark in self.marks.openings:
            self.thought_seen = True
            self.spans.append((self._gone + end - len(self.marks.open_tag), None))
            self._enter("thought", trims=True)
            # A second thought begins on a line of its own.
            self._waiting = "\n" if self._thought_sent else ""
        elif mark in self.marks.calls:
            self._enter("call", trims=False)
            self._called = mark
            self.send("call", mark)
        elif mark in self.marks.tails:
            self._waiting, self._tailed, self._new_line = self._waiting + mark, True, True
            # If words follow, it was one of them, and so is the line end behind it.
            self._trims = False
        else:
            self._waiting, self._trims, self._new_line = "", True, True
        return end

    def _enter(self, state: str, trims: bool) -> None:
        self._state, self._trims, self._fresh, self._new_line, self._waiting = state, trims, True, True, ""
        self._tailed, self._fence = False, _Fence()
        self.answer_seen = self.answer_seen or state == "answer"

    def _put(self, text: str) -> None:
        """Send text of the present part, less the line ends that are layout."""
        if self._state == "call":
            if text:
                self._called = (self._called + text)[-_CALL_END:]
                self.send("call", text)
            return
        if self._tailed and not text.strip():
            self._waiting += text
            return
        self._tailed = False
        if self._trims:
            text = text.lstrip("\n")
        if not text:
            return
        self._trims = False
        _, broken, line = text.rpartition("\n")
        self._new_line = not line.strip() and (bool(broken) or self._new_line)
        if self._state == "answer" and not self.marks.control:
            self._fence.read(text)
        text = self._waiting + text
        self._waiting = ""
        if self._state == "thought" or self.marks.wrappers:
            ready = text.rstrip("\n")
            self._waiting = text[len(ready) :]
            text = ready
        if text:
            self._fresh = self._fresh and not text.strip()
            self._thought_sent = self._thought_sent or self._state == "thought"
            self.send(self._state, text)
