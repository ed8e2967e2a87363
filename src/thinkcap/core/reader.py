"""The machine that parts a text into thought, answer and tool calls by its marks, whole or piece by piece.

`thinkcap.core.thinking` has the plain calls and the stream around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from thinkcap.core.marks import Marks, Search
from thinkcap.core.types import Mode


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
class Reader:
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
        text, search = self._held, self.marks.in_thought if self._state == "thought" else self.marks.in_answer
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

    def _cut_in_two(self, search: Search, at: int) -> int:
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
