"""The ways clients speak of thinking, made one wish: off or not, so many tokens, so much effort, shown or not.

wished(Reasoning(effort="low", exclude=True), None)           # Wish(effort="low", hidden=True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct

from thinkcap.gateway.call import Effort
from thinkcap.gateway.effort import SHARES

Budget = Annotated[int, Meta(ge=-1, le=2**31 - 1)]
"""Tokens of a thought: 0 is no thought, -1 no bound, as llama.cpp and vLLM have it."""


class Reasoning(Struct, forbid_unknown_fields=True):
    """OpenRouter's and OpenAI's field. The thought itself is written, so a summary asks for nothing more."""

    effort: Effort | None = None
    max_tokens: Budget | None = None
    exclude: bool | None = None
    enabled: bool | None = None
    summary: str | None = None
    generate_summary: str | None = None


class ThinkingField(Struct, forbid_unknown_fields=True):
    """Anthropic's field, which others have taken over."""

    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    display: Literal["summarized", "omitted"] | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    off: bool = False
    tokens: int | None = None
    effort: Effort | None = None
    hidden: bool = False


SILENT = Wish()


def wished(
    reasoning: Reasoning | None,
    thinking: ThinkingField | None,
    *,
    efforts: Sequence[Effort | None] = (),
    budgets: Sequence[int | None] = (),
    switch: bool | None = None,
    shown: bool | None = None,
) -> Wish:
    """Where several say something the least holds: the smallest budget, the lowest effort, off before on."""
    reasoning = reasoning or Reasoning()
    tokens = [*budgets, reasoning.max_tokens]
    off = switch is False or reasoning.enabled is False
    hidden = shown is False or bool(reasoning.exclude)
    if thinking is not None:
        off |= thinking.type == "disabled"
        hidden |= thinking.display == "omitted"
        tokens.append(None if thinking.type == "disabled" else thinking.budget_tokens)
    bounds = [one for one in tokens if one is not None and one >= 0]
    named: list[Effort] = [effort for effort in (*efforts, reasoning.effort) if effort is not None]
    lowest = sorted(named, key=_share)[:1]
    return Wish(
        off=off or "none" in named or 0 in bounds,
        tokens=min((one for one in bounds if one), default=None),
        effort=lowest[0] if lowest else None,
        hidden=hidden,
    )


def _share(effort: Effort) -> float:
    return SHARES.get(effort, 0.0)
