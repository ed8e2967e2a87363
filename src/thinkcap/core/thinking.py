"""Where a thought ends and an answer begins, in a whole text and in a stream of pieces.

>>> split("<think>\\n2+3\\n</think>\\n\\n5", "<think>", "</think>", "think")
('2+3', '5')
>>> split("<think>\\n2+3", "<think>", "</think>", "think")
('2+3', None)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
    """The same decision made piece by piece; holds back only what may still be part of a tag."""

    open_tag: str
    close_tag: str
    mode: Mode
    opened: bool = False
    closed: bool = False
    _held: str = ""
    _channel: Channel | None = field(default=None)
    _fresh_answer: bool = True

    def __post_init__(self) -> None:
        if self.closed:
            self._channel = "answer"

    def through(self, emit: Callable[[Delta], None]) -> Callable[[Delta], None]:
        def take(delta: Delta) -> None:
            if delta.channel is not None:
                emit(delta)
                return
            self._held += delta.text
            self._drain(emit)

        return take

    def finish(self, emit: Callable[[Delta], None]) -> None:
        """Let go of what was held back: no tag can follow any more."""
        half_a_tag = (
            self._channel is None and self.mode == "think" and self.open_tag.startswith(self._held.lstrip())
        )
        if self._held and not half_a_tag:
            self._send(emit, self._held, self._channel or ("thought" if self.opened else "answer"))
            self._held = ""

    def _drain(self, emit: Callable[[Delta], None]) -> None:
        if self._channel is None:
            body = self._held.lstrip()
            if body.startswith(self.open_tag):
                self._channel, self._held = "thought", body[len(self.open_tag) :].lstrip("\n")
            elif body and not self.open_tag.startswith(body):
                self._channel = "thought" if self.opened else "answer"
            else:
                return
        if self._channel == "thought":
            thought, tag, rest = self._held.partition(self.close_tag)
            if tag:
                self._send(emit, thought.rstrip("\n"), "thought")
                self._channel, self._held = "answer", rest
            else:
                keep = _tail(self._held, self.close_tag)
                ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
                self._send(emit, ready, "thought")
                return
        self._send(emit, self._held, "answer")
        self._held = ""

    def _send(self, emit: Callable[[Delta], None], text: str, channel: Channel) -> None:
        if channel == "answer" and self._fresh_answer:
            text = text.lstrip("\n")
            self._fresh_answer = not text
        if text:
            emit(Delta(text, channel))


def _tail(text: str, tag: str) -> int:
    """How many last characters must wait: newlines before a tag, and any beginning of the tag."""
    begun = next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:n])), 0)
    head = text[: len(text) - begun]
    return begun + len(head) - len(head.rstrip("\n"))
