"""How a model is put into its two modes: by its template, by an empty think block, or by asking for it.

Which of them it was stands on the card, so that every row says it.

    manner = await Manner.found(render, template, "auto", PROMPTS)
    manner.messages(request.messages, "nothink")
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from thinkcap.core.engine import Switch
from thinkcap.core.errors import ConfigError, Unsupported
from thinkcap.core.names import nearest
from thinkcap.core.prompts import Prompts
from thinkcap.core.types import Message, Mode, Request, Span

OPEN, CLOSE = "<think>", "</think>"

NothinkBy = Literal["auto", "native", "block", "prompt"]
Render = Callable[[Sequence[Message], Mapping[str, Any]], Awaitable[str]]
"""Messages and template switches in, the text the model would read out."""


def check_nothink_by(value: str) -> None:
    if value not in get_args(NothinkBy):
        raise ConfigError(f"unknown way '{value}' to turn thinking off{nearest(value, get_args(NothinkBy))}")


def switches(mode: Mode) -> dict[str, bool]:
    """Qwen's name and the one of Granite and DeepSeek; templates ignore what they do not know."""
    return {"enable_thinking": mode == "think", "thinking": mode == "think"}


@dataclass(frozen=True)
class Manner:
    switch: Switch
    prompts: Prompts
    opens: bool = False
    """The template itself opens the thought when thinking is on."""
    closes: bool = False
    """The template itself writes an empty thought when thinking is off."""

    @classmethod
    async def found(cls, render: Render, template: str, nothink_by: NothinkBy, prompts: Prompts) -> Manner:
        """Looks at what the template makes of a greeting with thinking on and off."""
        greeting = ({"role": "user", "content": "Hi"},)
        on = await render(greeting, switches("think"))
        off = await render(greeting, switches("nothink"))
        opens = on.rstrip().endswith(OPEN)
        able = opens or on != off or OPEN in template or CLOSE in template
        best: Switch = "native" if on != off else "none" if able else "prompt"
        switch = best if nothink_by == "auto" else nothink_by
        if switch == "native" and on == off:
            raise Unsupported(
                "this model's chat template has no thinking switch; use --nothink-by block or --nothink-by prompt"
            )
        return cls(switch, prompts, opens, closes=switch == "native" and off.rstrip().endswith(CLOSE))

    def messages(self, messages: Sequence[Message], mode: Mode) -> tuple[Message, ...]:
        """Where no switch exists, the wish stands at the end of the last message the user sent."""
        if self.switch != "prompt":
            return tuple(messages)
        wish = self.prompts.think_by_prompt if mode == "think" else self.prompts.no_think_by_prompt
        last = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=None)
        if last is None or not isinstance(messages[last]["content"], str):
            return ({"role": "system", "content": wish}, *messages)
        asked = {**messages[last], "content": f"{messages[last]['content']}\n{wish}"}
        return (*messages[:last], asked, *messages[last + 1 :])

    def block(self, mode: Mode) -> str:
        """What follows the generation prompt so that the thought is over before it began."""
        if self.switch != "block" or mode == "think":
            return ""
        return self.prompts.no_think.partition(OPEN)[2] if self.opens else self.prompts.no_think

    def state(self, request: Request) -> tuple[bool, bool]:
        """`(opened, closed)` when the first token is written."""
        begun = "".join(p.text if isinstance(p, Span) else p for p in request.prefill)
        if request.mode == "think":
            begun = (OPEN if self.opens else "") + begun
        closed = CLOSE in begun or (request.mode == "nothink" and (self.closes or self.switch == "block"))
        return OPEN in begun and not closed, closed
