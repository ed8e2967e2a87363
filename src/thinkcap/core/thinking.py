"""Where a thought ends and an answer begins, in a whole text and in a stream of pieces.

>>> split("<think>\\n2+3\\n</think>\\n\\n5", "<think>", "</think>", "think")
('2+3', '5')
>>> split("<think>\\n2+3", "<think>", "</think>", "think")
('2+3', None)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from thinkcap.core.types import Channel, Mode


class Delta(NamedTuple):
    """A piece of text as it is written. Engines leave the channel out unless their server parts it."""

    text: str
    channel: Channel | None = None


def split(
    text: str, open_tag: str, close_tag: str, mode: Mode, opened: bool = False, closed: bool = False
) -> tuple[str | None, str | None]:
    """`(thought, answer)`: no answer while the thought is open, no thought where none was opened."""
    body = text.lstrip()
    starts = body.startswith(open_tag)
    if closed or (mode == "nothink" and not starts and not opened):
        return None, text.lstrip("\n") if closed else text
    if starts:
        body = body[len(open_tag) :]
    elif mode == "think" and open_tag.startswith(body):
        return "", None
    elif not opened and close_tag not in body:
        # Asked to think, the model answered without opening a thought: that text is an answer.
        return None, text
    thought, tag, answer = body.partition(close_tag)
    return thought.strip("\n"), answer.lstrip("\n") if tag else None


@dataclass
class Splitter:
    """The same decision made piece by piece; holds back only what may still be part of a tag.

    What is sent adds up to what `split` says of the whole text. One thing a stream cannot know: that a thought
    nobody opened will be closed; until the tag comes, such text is an answer.
    """

    open_tag: str
    close_tag: str
    mode: Mode
    opened: bool = False
    closed: bool = False
    _held: str = ""
    _channel: Channel | None = None
    _at_start: bool = False
    """Nothing but line ends so far in a part that begins after a tag: they are not part of it."""
    _parted_thought: bool = False
    _line_ends: str = ""

    def __post_init__(self) -> None:
        if self.closed:
            self._enter("answer", "")

    def through(self, emit: Callable[[Delta], None]) -> Callable[[Delta], None]:
        def take(delta: Delta) -> None:
            if delta.channel == "thought":
                self._parted(emit, delta.text)
            elif delta.channel == "answer":
                emit(delta)
            else:
                self._held += delta.text
                self._drain(emit)

        return take

    def finish(self, emit: Callable[[Delta], None]) -> None:
        """Let go of what was held back: no tag can follow any more."""
        if self._channel is None:
            body = self._held.lstrip()
            if self.mode == "think" and self.open_tag.startswith(body):
                return
            self._settle(body)
        self._send(emit, self._held.rstrip("\n") if self._channel == "thought" else self._held)
        self._held = ""

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

    def _drain(self, emit: Callable[[Delta], None]) -> None:
        if self._channel is None:
            body = self._held.lstrip()
            if len(body) < len(self.open_tag) and self.open_tag.startswith(body):
                return
            self._settle(body)
        if self._channel == "thought":
            thought, tag, rest = self._held.partition(self.close_tag)
            if not tag:
                ready = len(self._held) - _tail(self._held, self.close_tag)
                self._send(emit, self._held[:ready])
                self._held = self._held[ready:]
                return
            self._send(emit, thought.rstrip("\n"))
            self._enter("answer", rest)
        self._send(emit, self._held)
        self._held = ""

    def _settle(self, body: str) -> None:
        """Enough has come to say what the text begins with."""
        if body.startswith(self.open_tag):
            self._enter("thought", body[len(self.open_tag) :])
        elif self.opened:
            self._enter("thought", body)
        else:
            self._channel = "answer"

    def _enter(self, channel: Channel, text: str) -> None:
        self._channel, self._held, self._at_start = channel, text, True

    def _send(self, emit: Callable[[Delta], None], text: str) -> None:
        if self._at_start:
            text = text.lstrip("\n")
            self._at_start = not text
        if text:
            emit(Delta(text, self._channel))


def _tail(text: str, tag: str) -> int:
    """How many last characters must wait: newlines before a tag, and any beginning of the tag."""
    begun = next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:n])), 0)
    head = text[: len(text) - begun]
    return begun + len(head) - len(head.rstrip("\n"))
