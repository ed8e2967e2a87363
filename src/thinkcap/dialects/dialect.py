"""One way of thinking, as a value: how it is switched, what marks it, what becomes of it in later turns.

>>> QWEN.split("<think>\\n2+3\\n</think>\\n\\n5")
('2+3', '5')
>>> QWEN.switches("nothink")
{'enable_thinking': False}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from thinkcap.core.errors import ConfigError
from thinkcap.core.marks import Marks
from thinkcap.core.names import nearest
from thinkcap.core.thinking import Delta, Parts, Splitter, parts
from thinkcap.core.types import EMPTY, Mode, Sampling
from thinkcap.dialects.arguments import given, nested
from thinkcap.dialects.marks import closing_of
from thinkcap.settings import inside, load

Thinking = Literal["switch", "always", "prompted", "none"]
EffortArgument = Mapping[str, Any]
"""`{"name": ..., "values": [...], "default": ...}`: the argument that sets how hard a model thinks."""


@dataclass(frozen=True)
class Dialect:
    """What thinkcap has to know of a model's way of thinking. None: there is none, or nobody said."""

    thinking: Thinking = "none"
    """switch: it can be turned off; always: it cannot; prompted: a text asks for it; none: it does not think."""
    default: Literal["on", "off", "neither"] = "off"
    """What a prompt without any switch gives."""
    on: Mapping[str, Any] | None = None
    """Template arguments that turn thinking on."""
    off: Mapping[str, Any] | None = None
    on_by_message: str | None = None
    """Words in a message without which it does not think."""
    off_by_message: str | None = None
    """A word in a message that turns it off."""
    off_word_in: Literal["user", "system"] = "user"
    """The message in which such words are looked for."""
    open_tag: str | None = None
    close_tag: str | None = None
    open: str | None = None
    """The opening mark with the white space around it, as the model writes it."""
    close: str | None = None
    prompt_opens_when_on: bool = False
    """The prompt ends inside the thought, so that the model's text has no opening mark."""
    off_writes: str | None = None
    """What the prompt ends with when thinking is off: an empty thought, a bare close, or nothing."""
    answer_open: str | None = None
    """Markup before the answer, as it stands after a thought."""
    answer_close: str | None = None
    end_of_turn: str | None = None
    effort: EffortArgument | None = None
    by_effort: Mapping[str, Mapping[str, Any]] = EMPTY
    """Levels of effort at which thoughts are marked otherwise: the fields that have other values there."""
    native_budget: str | None = None
    """A template argument that bounds the thought."""
    interleaved: bool = False
    """A thought before a tool call stays in the prompt of the same turn."""
    history_keeps: Mapping[str, Any] | None = None
    """Whether an earlier thought is still in the prompt, by the way it was given (inline, field, blocks)."""
    closes_implicitly: tuple[str, ...] = ()
    """What ends a thought beside its closing mark."""
    found_by: str = "default"
    sampling: Sampling | None = None
    """What its makers recommend for thinking."""
    name: str = ""
    header: str | None = None
    """What the generation prompt writes before all else."""
    answer_open_alone: str | None = None
    """Markup before the answer where no thought came before it."""
    tool_open: str | None = None
    thought_fields: tuple[str, ...] = ()
    """Fields of a message from which the template reads an earlier thought, the preferred first."""
    keep_history_by: Mapping[str, Any] | None = None
    turn_close: str | None = None
    """Markup between the answer and the end of the turn."""
    markers_special: bool | None = None
    """The marks are control tokens, which servers hide unless told otherwise."""

    def __post_init__(self) -> None:
        # Records read from JSON have lists where a value needs tuples.
        for name in ("closes_implicitly", "thought_fields"):
            object.__setattr__(self, name, tuple(getattr(self, name) or ()))

    @classmethod
    def from_mapping(cls, said: Mapping[str, Any], where: str = "dialect") -> Dialect:
        """A dialect of one's own, as a TOML file has it; a mistake is one line with the nearest known name."""
        with inside(where):
            made = load(cls, said)
            if made.thinks and not made.close_tag:
                raise ConfigError("a dialect that thinks needs 'close_tag', the mark that ends a thought")
            if made.effort is not None and not _is_effort(made.effort):
                raise ConfigError(
                    "effort: wanted a table with `name`, the template's argument, and `values`, a list of its "
                    f"levels; saw {dict(made.effort)}"
                )
            for level, other in made.by_effort.items():
                _check_level(made, level, other)
        return made

    @property
    def thinks(self) -> bool:
        return self.thinking != "none"

    @property
    def levels(self) -> tuple[Any, ...]:
        """Levels of effort, the lowest first, without one that turns thinking off; empty where there are none."""
        if not self.effort:
            return ()
        off = given(self.off or {}, self.effort["name"])
        return tuple(level for level in self.effort["values"] if level != off)

    def switches(self, mode: Mode, effort: str = "") -> dict[str, Any]:
        """Template arguments for a mode and a level of effort in it; empty where nothing needs to be said."""
        said = dict((self.on if mode == "think" else self.off) or {})
        if not effort or not self.effort:
            return said
        level = next((value for value in self.effort["values"] if str(value) == effort), effort)
        return nested({**said, self.effort["name"]: level})

    def at(self, effort: str) -> Dialect:
        """The dialect that is spoken at a level of effort."""
        if effort not in self.by_effort:
            return self
        other = dict(self.by_effort[effort])
        for mark, laid_out in (("open_tag", "open"), ("close_tag", "close")):
            usual, whole = getattr(self, mark), getattr(self, laid_out)
            if mark in other and usual and whole:
                # Where it does not say how its marks are laid out, they are as the usual ones.
                other.setdefault(laid_out, whole.replace(usual, other[mark]))
        return replace(self, **other, by_effort=EMPTY)

    @property
    def every_level(self) -> tuple[Dialect, ...]:
        """Itself, and what is spoken at each level with marks of its own."""
        return (self, *map(self.at, self.by_effort))

    @property
    def tokens(self) -> tuple[str, ...]:
        """Marks that must not be hidden, at any level."""
        return tuple(dict.fromkeys(token for spoken in self.every_level for token in spoken.marks.tokens))

    @property
    def opens_when_off(self) -> bool:
        """The prompt begins a thought even when off, for the model to end it at once."""
        opening, written = (self.open_tag or "").strip(), (self.off_writes or "").strip()
        return bool(opening) and written.startswith(opening) and (self.close_tag or "").strip() not in written

    @cached_property
    def marks(self) -> Marks:
        """What the reader of texts needs (core/marks.py)."""
        if not self.close_tag:
            return Marks()
        header, alone = self._answer_header
        opening = (self.open_tag or "").strip()
        answers = _texts(self.answer_open)
        # Who does not name what begins a call names it among what ends a thought.
        calls = _texts(self.tool_open) or tuple(m for m in _texts(*self.closes_implicitly) if m not in answers)
        wrappers = _texts(self.answer_open, self.answer_close, alone, header)
        # A sentence that opens a thought may be said in an answer, whatever closes the thought.
        control = bool(self.markers_special) or _is_control(opening or self.close_tag)
        if header:
            # Messages with channels: what the user may see of a third channel is answer.
            wrappers += tuple(w.replace("final", "commentary") for w in _texts(alone) if "final" in w)
            wrappers += (self.close_tag,)
        if control and wrappers:
            wrappers += _texts(self.turn_close)
        tails = () if control or header else _texts(self.answer_close)
        ended = (self.end_of_turn or "").strip()
        if _ENDS.fullmatch(ended) and ended not in (opening, self.close_tag.strip(), *wrappers, *calls):
            tails += (ended,)
        return Marks(
            opening,
            self.close_tag.strip(),
            ends=_texts(*self.closes_implicitly),
            wrappers=tuple(dict.fromkeys(wrappers)),
            calls=calls,
            control=control,
            header=header,
            tails=tails,
            call_ends=tuple(end for call in calls if (end := closing_of(call))),
        )

    @property
    def _answer_header(self) -> tuple[str, str]:
        """What a message begins with between thought and answer, and the answer's own opening behind it."""
        whole, opening = (self.answer_open or "").strip(), (self.open_tag or "").strip()
        if self.answer_open_alone:
            alone = self.answer_open_alone.strip()
            return whole.removesuffix(alone).strip() if whole.endswith(alone) else "", alone
        for size in range(len(opening), 2, -1):
            at = whole.find(opening[:size])
            if at > 0:
                return whole[:at].strip(), whole[at:].strip()
        return "", whole

    def split(
        self, text: str, *, mode: Mode = "think", opened: bool = False, closed: bool = False
    ) -> tuple[str | None, str | None]:
        """`(thought, answer)` of a finished text; `opened`, `closed`: what the prompt did before it."""
        thought, answer, _ = self.parts(text, mode=mode, opened=opened, closed=closed)
        return thought, answer

    def parts(self, text: str, *, mode: Mode = "think", opened: bool = False, closed: bool = False) -> Parts:
        """The same with the tool calls, as they stand in the text."""
        if not self.thinks:
            return Parts(None, text, None)
        return parts(text, self.marks, mode, self._opened(mode, opened, closed), closed)

    def splitter(self, *, mode: Mode = "think", opened: bool = False, closed: bool = False) -> Splitter:
        """The same decision, piece by piece: `take = splitter.through(emit)`, then `splitter.finish(emit)`."""
        if not self.thinks:
            return Splitter(Marks(), "nothink", False, True)
        return Splitter(self.marks, mode, self._opened(mode, opened, closed), closed)

    def stream(
        self, emit: Callable[[Delta], None], *, mode: Mode = "think", opened: bool = False, closed: bool = False
    ) -> tuple[Callable[[str], None], Callable[[], None]]:
        """`(take, finish)` for texts that come without channels."""
        splitter = self.splitter(mode=mode, opened=opened, closed=closed)
        take = splitter.through(emit)
        return (lambda piece: take(Delta(piece))), (lambda: splitter.finish(emit))

    def _opened(self, mode: Mode, opened: bool, closed: bool) -> bool:
        # Where no mark opens a thought, it is open from the first token on.
        return opened or (not self.open_tag and mode == "think" and not closed)

    @property
    def empty_thought(self) -> str:
        """A thought that is over before it began, for models without a switch of their own."""
        opening, closing = self.open or self.open_tag or "", self.close or self.close_tag or ""
        return closing if self.prompt_opens_when_on else opening + closing


_ENDS = re.compile(r"<[^<>\s]+>|\[[^\[\]\s]+\]")
"""An end of turn that can be told from words."""


def _texts(*marks: str | None) -> tuple[str, ...]:
    return tuple(m.strip() for m in marks if m and m.strip())


def _is_control(mark: str) -> bool:
    """`<|...|>`, `[THINK]` and the like: nobody writes them in a sentence."""
    return ("<|" in mark and "|>" in mark) or (mark.startswith("[") and mark.endswith("]"))


QWEN = Dialect(
    thinking="switch",
    default="on",
    on={"enable_thinking": True},
    off={"enable_thinking": False},
    open_tag="<think>",
    close_tag="</think>",
    open="<think>\n",
    close="\n</think>\n\n",
    off_writes="<think>\n\n</think>\n\n",
    end_of_turn="<|im_end|>",
    interleaved=True,
    closes_implicitly=("<tool_call>",),
    tool_open="<tool_call>",
    thought_fields=("reasoning_content",),
    header="<|im_start|>assistant\n",
    name="qwen3",
)
"""The most common one, and the bundled model's."""


MARKED = ("open_tag", "close_tag", "open", "close", "prompt_opens_when_on", "answer_open", "answer_close")
"""Fields that may have other values at another level of effort."""


def _check_level(made: Dialect, level: str, other: Mapping[str, Any]) -> None:
    levels = [str(known) for known in made.levels]
    if level not in levels:
        raise ConfigError(f"by_effort: unknown level '{level}'{nearest(level, levels)}; effort has {levels}")
    for name in other:
        if name not in MARKED:
            raise ConfigError(f"by_effort: {level}: unknown key '{name}'{nearest(name, MARKED)}")
    with inside(f"by_effort: {level}"):
        load(Dialect, dict(other))


def _is_effort(said: EffortArgument) -> bool:
    return isinstance(said.get("name"), str) and isinstance(said.get("values"), list | tuple)
