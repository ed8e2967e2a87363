"""How an engine speaks its model's dialect: what turns a thought on, off or over, and what is open already.

What the template promises is checked against what the engine really renders. Which dialect it was, and how it was
found, stands on the card, so that every run says it.

    speech = await Speech.found(render, await found_dialect(template), "auto", PROMPTS)
    speech.messages(request.messages, "nothink")
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from thinkcap.core.engine import SwitchWay
from thinkcap.core.errors import ConfigError, DataError, EngineRefused, Unsupported
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.turn_rules import ANY_ORDER, TurnRules, find_turn_rules
from thinkcap.core.types import EMPTY, Message, Mode, Request, Span
from thinkcap.dialects import COMMON, QWEN, Dialect, chosen, of_model, of_prompts, of_template

NothinkBy = Literal["auto", "native", "block", "prompt"]
Render = Callable[[Sequence[Message], Mapping[str, Any]], Awaitable[str]]
"""Messages and template switches in, the text the model would read out."""

_GREETING = ({"role": "user", "content": "Hi"},)
_read_template = lru_cache(maxsize=64)(of_template)


def check_nothink_by(value: str) -> None:
    if value not in get_args(NothinkBy):
        raise ConfigError(f"unknown way '{value}' to turn thinking off{nearest(value, get_args(NothinkBy))}")


async def found_dialect(
    template: str, wanted: str = "", *, model: str = "", render: Render | None = None
) -> Dialect:
    """The one that was asked for, else the template's, else what the server's own rendering or the name shows."""
    if mine := chosen(wanted):
        return mine
    read = await _read(template) if template else None
    if read:
        known = None if read.thinks else of_model(model)
        # A template may know of thoughts only to cut them out of earlier turns; the name says who writes them.
        return known if known and known.close_tag and known.close_tag in template else read
    shown = await _rendered(render, model) if render else of_model(model)
    return shown or Dialect(on={}, off_writes="", found_by="nothing shown", name="none")


async def _read(template: str) -> Dialect | None:
    """A server may understand a template that we cannot parse: then it is asked for what it renders."""
    try:
        return await asyncio.to_thread(_read_template, template)
    except DataError:
        return None


async def _rendered(render: Render, model: str) -> Dialect | None:
    """For a server that hides its template but renders it: what prompts end with under the commonest switches."""
    shown = of_prompts(*[await render(_GREETING, COMMON.switches(mode)) for mode in get_args(Mode)])
    known = of_model(model)
    if shown is None or shown.found_by != "rendering":
        return known or shown
    if known is None or (known.open_tag, known.close_tag) != (shown.open_tag, shown.close_tag):
        return shown
    # The model's name adds what no prompt shows: how it lays out marks, wraps answers and calls tools.
    known = replace(known, prompt_opens_when_on=shown.prompt_opens_when_on, found_by="rendering and model name")
    if shown.thinking != "switch":
        # If it can be turned off, the switch has another name, which the model's name knows.
        return known
    return replace(known, thinking="switch", on=shown.on, off=shown.off, off_writes=shown.off_writes)


@dataclass(frozen=True)
class Speech:
    dialect: Dialect
    switch: SwitchWay
    prompts: Prompts
    opens: bool = False
    """The prompt itself opens the thought when thinking is on."""
    closes: bool = False
    """The prompt itself writes an empty thought when thinking is off."""
    by_effort: Mapping[str, Speech] = EMPTY
    """How it is spoken at levels of effort with marks of their own."""
    turn_rules: TurnRules = ANY_ORDER

    @classmethod
    async def found(cls, render: Render, dialect: Dialect, nothink_by: NothinkBy, prompts: Prompts) -> Speech:
        """Looks at what the engine makes of a greeting with thinking on and off."""
        native = cls(dialect, "native", prompts)
        on = await render(native.messages(_GREETING, "think"), dialect.switches("think"))
        off = await render(native.messages(_GREETING, "nothink"), dialect.switches("nothink"))
        able = dialect.thinking == "switch" and on != off
        best: SwitchWay = "native" if able else "none" if dialect.thinks else "prompt"
        switch = best if nothink_by == "auto" else nothink_by
        if switch == "native" and not able:
            raise Unsupported(
                "this model's chat template has no thinking switch; use --nothink-by block or --nothink-by prompt"
            )
        opening, written = (dialect.open_tag or "").strip(), (dialect.off_writes or "").strip()
        opens = bool(opening) and on.rstrip().endswith(opening)
        closes = switch == "native" and bool(written) and off.rstrip().endswith(written)
        closes = closes and not dialect.opens_when_off
        levels: dict[str, Speech] = {}
        for level in dialect.by_effort:
            spoken = dialect.at(level)
            at_level = await render(_GREETING, dialect.switches("think", level))
            begins = bool(spoken.marks.open_tag) and at_level.rstrip().endswith(spoken.marks.open_tag)
            levels[level] = cls(spoken, switch, prompts, begins, closes)
        rules = await _probe_turn_rules(render, dialect.switches("think"))
        return cls(dialect, switch, prompts, opens, closes, levels, rules)

    def at(self, effort: str) -> Speech:
        return self.by_effort.get(effort, self)

    def switches(self, mode: Mode, effort: str = "") -> dict[str, Any]:
        """The template's arguments for a mode, and for a level of effort in it."""
        return self.dialect.switches(mode, effort)

    def messages(self, messages: Sequence[Message], mode: Mode) -> tuple[Message, ...]:
        """The messages with the words that switch to a mode, merged where the template needs that."""
        return self.turn_rules.merge(self._switched(messages, mode))

    def _switched(self, messages: Sequence[Message], mode: Mode) -> tuple[Message, ...]:
        """Where no argument switches, a word or a wish stands at the end of the last message the user sent."""
        if self.switch == "native":
            word = self._word(mode)
            if word and self.dialect.off_word_in == "system":
                return _instructed(messages, word)
            return _said(messages, word) if word else tuple(messages)
        if self.switch != "prompt":
            return tuple(messages)
        return _said(
            messages, self.prompts.think_by_prompt if mode == "think" else self.prompts.no_think_by_prompt
        )

    def _word(self, mode: Mode) -> str | None:
        """What a message must say for a mode that no argument gives."""
        if mode == "think":
            return None if self.dialect.on else self.dialect.on_by_message
        return None if self.dialect.off else self.dialect.off_by_message

    def block(self, mode: Mode) -> str:
        """What follows the generation prompt so that the thought is over before it began."""
        if self.switch != "block" or mode == "think":
            return ""
        ours = self.prompts.no_think
        if ours == PROMPTS.no_think and not self._customary:
            empty = replace(self.dialect, prompt_opens_when_on=self.opens).empty_thought
            return empty + (self.dialect.answer_open or "")
        return ours.partition(self.dialect.marks.open_tag or "\0")[2] if self.opens else ours

    @property
    def closing(self) -> str:
        """What closes a thought by force; empty where the prompts' own words do."""
        if self._customary:
            return ""
        return (self.dialect.close or self.dialect.close_tag or "") + (self.dialect.answer_open or "")

    @property
    def _customary(self) -> bool:
        """No marks of its own, or the common ones without a hint of how they are laid out: then as most do."""
        dialect = self.dialect
        unsaid = dialect.close is None and dialect.close_tag == QWEN.close_tag and not dialect.answer_open
        bare = dialect.close == QWEN.close_tag and not (dialect.name or dialect.answer_open)
        return unsaid or bare or not dialect.thinks

    def opening(self, request: Request) -> str:
        """What opens the thought before our own words in it, unless the prompt has done so."""
        spoken = self.at(request.effort)
        needed = request.opens and request.mode == "think" and not spoken.opens
        return f"{spoken.dialect.marks.open_tag}\n" if needed and spoken.dialect.marks.open_tag else ""

    def state(self, request: Request) -> tuple[bool, bool]:
        """`(opened, closed)` when the first token is written."""
        spoken = self.at(request.effort)
        marks = spoken.dialect.marks
        begun = self.opening(request) + "".join(p.text if isinstance(p, Span) else p for p in request.prefill)
        off = self.switch == "native" and self.dialect.opens_when_off
        if spoken.opens if request.mode == "think" else off:
            begun = marks.open_tag + begun
        closed = marks.close_tag in begun or (
            request.mode == "nothink" and (self.closes or self.switch == "block")
        )
        opened = marks.open_tag in begun if marks.open_tag else request.mode == "think"
        return opened and not closed, closed

    def card(self) -> dict[str, Any]:
        """What an engine's card says of it."""
        return {
            "switch": self.switch,
            "marks": self.dialect.marks,
            "dialect": self.dialect.name,
            "dialect_by": self.dialect.found_by,
            "recommended": self.dialect.sampling,
            "levels": tuple(map(str, self.dialect.levels)),
            "closing": self.closing,
            "by_effort": {level: (s.dialect.marks, s.closing) for level, s in self.by_effort.items()},
            "switches": {mode: self.switches(mode) for mode in get_args(Mode)},
            "turn_rules": self.turn_rules,
        }


async def _probe_turn_rules(render: Render, switches: Mapping[str, Any]) -> TurnRules:
    """Some templates reject a second system message, others leave it out of the prompt."""

    async def can_render(messages: Sequence[Message]) -> bool:
        try:
            text = await render(messages, switches)
        except EngineRefused:
            return False
        return all(
            text.count(m["content"]) >= sum(m["content"] == o["content"] for o in messages) for m in messages
        )

    return await find_turn_rules(can_render)


def _instructed(messages: Sequence[Message], word: str) -> tuple[Message, ...]:
    """The word in the system message, which is made where there is none."""
    first = messages[0] if messages else {"role": "user", "content": ""}
    if first["role"] != "system" or not isinstance(first["content"], str):
        return ({"role": "system", "content": word}, *messages)
    return ({**first, "content": f"{first['content']}\n{word}"}, *messages[1:])


def _said(messages: Sequence[Message], wish: str) -> tuple[Message, ...]:
    last = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=None)
    if last is None or not isinstance(messages[last]["content"], str):
        return ({"role": "system", "content": wish}, *messages)
    asked = {**messages[last], "content": f"{messages[last]['content']}\n{wish}"}
    return (*messages[:last], asked, *messages[last + 1 :])
