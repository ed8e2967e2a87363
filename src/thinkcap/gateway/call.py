"""A request as every wire hands it on: what is asked, under which cap, and what its sender wishes for.

A wire (`thinkcap.gateway.wires`) reads its own format into a Call and writes answers in it; between the two
nobody knows which wire it was. Messages, tools and formats are in OpenAI's chat form, the one servers speak.

    call = Call("qwen3-8b", ({"role": "user", "content": "Hi"},), cap=64)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from thinkcap.core.types import EMPTY

ReasoningField = Literal["upstream", "reasoning_content", "reasoning", "both"]


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

KNOBS = (
    "reasoning_effort",
    "reasoning",
    "thinking",
    "thinking_token_budget",
    "thinking_budget",
    "reasoning_budget_tokens",
    "enable_thinking",
    "include_reasoning",
)
"""How clients speak of thinking. They are obeyed here, and not handed on to be obeyed otherwise."""


class Wishes(Struct, forbid_unknown_fields=True, frozen=True):
    """The `thinkcap` field of a request, the same on every wire."""

    policy: Annotated[str, Meta(max_length=1000)] | None = None
    options: dict[str, bool | int | float | str] | None = None
    kind: Literal["number", "math", "label", "text"] | None = None
    reasoning_field: ReasoningField | None = None
    json: Literal["direct", "drafted"] | None = None
    """How an answer under a response format is come by; None: as suits the model."""
    answer_tokens: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    """Tokens of the cap no thought may take."""


NO_WISHES = Wishes()


class Call(Struct, frozen=True):
    model: str
    """As the caller wrote it, perhaps with a policy after `+`."""
    messages: Sequence[Mapping[str, Any]]
    cap: int | None = None
    wishes: Wishes = NO_WISHES
    stream: bool = False
    usage_wanted: bool = False
    """A stream shall end with what was spent."""
    n: int = 1
    nothink: bool = False
    """The client turned thinking off in one of the ways servers know."""
    thought: int | None = None
    """Most tokens the thought may take."""
    effort: Effort | None = None
    """How much of the cap the thought may take, in the words clients have for it."""
    hides_thought: bool = False
    """The thought is held and counted, and not sent."""
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stops: tuple[str, ...] = ()
    names_stop: bool = False
    """The reply says at which of these words the answer ended."""
    format: Mapping[str, Any] | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = EMPTY
    """What else changes the answer, without values that mean the same as silence."""
    bookkeeping: Mapping[str, Any] = EMPTY
    """Of hosted services: handed on over chat, of no effect on an embedded model."""
    unknown: Mapping[str, Any] = EMPTY
    """Fields nobody here knows, where the operator lets them through."""
    template_kwargs: Mapping[str, Any] = EMPTY
    """The caller's own switches of the chat template, without the thinking switch, which is the policy's."""
    media: bool = False
    """A message holds something that is not text."""
    size: int = 0
    """Bytes of the body, and so more than the tokens of its messages."""
    raw: Mapping[str, Any] | None = None
    """The body in a chat server's own format, for whoever hands it on; None where nobody can."""
    ignored: tuple[str, ...] = ()
    """What was sent and has no effect here, as the reply says."""
    prompt_tokens: int = 0
    """How long the prompt is, where it was counted before the answer."""
    echo: Mapping[str, Any] = EMPTY
    """What the wire repeats in its answer."""

    @property
    def forces_call(self) -> bool:
        """The caller wants a tool called, whatever the model would rather do."""
        return self.options.get("tool_choice") not in (None, "auto", "none")
