"""What thinkcap needs of a model: three methods, and a card that says what the backend can do.

`prompt` turns a request into what the model will read, `generate` runs it, `read` turns ids into text. A
wrapper (the trace store's, a cluster's) is an engine too. `complete` below joins the three for the driver.

    completion = await complete(engine, request)
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from thinkcap.core.errors import Unsupported
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.thinking import PLAIN, Delta, Marks, Splitter, split
from thinkcap.core.types import EMPTY, GREEDY, NOTHING, Completion, Mode, Origin, Request, Sampling, Span

Transport = Literal["ids", "chat"]
SwitchWay = Literal["native", "block", "prompt", "none"]
Emit = Callable[[Delta], None]


@dataclass(frozen=True)
class EngineCard:
    """What a backend can do, found out at the start and written into every row's provenance."""

    engine: str
    model: str
    fingerprint: str
    """Names the weights; traces of another fingerprint are never reused."""
    transport: Transport
    switch: SwitchWay = "native"
    """How thinking is turned off: by the template, an empty think block, a prompt, or not at all."""
    context: int = 0
    """Context window in tokens; 0 where unknown."""
    marks: Marks = PLAIN
    """What stands around thoughts, answers and tool calls in what this model writes."""
    dialect: str = ""
    """Name of the way it thinks; empty where that has none, see `marks`."""
    dialect_by: str = ""
    """How the dialect was found: template, rendering, model name, option ..."""
    switches: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Arguments its chat template takes for each mode."""
    recommended: Sampling | None = None
    """How its makers want it sampled when it thinks."""
    levels: tuple[str, ...] = ()
    """Levels of effort it knows, the lowest first."""
    closing: str = ""
    """What closes its thought by force; empty where the prompts' own words do."""
    close_id: int | None = None
    prefills: bool = True
    """Whether the assistant's turn can be begun for the model (needed by `close` and projection)."""
    reasoning_field: str = "reasoning_content"
    formats: bool = False
    """Whether a JSON schema or grammar can constrain the answer."""
    tools: bool = False
    seeds: bool = True
    concurrency: int = 8
    dtype: str = ""
    version: str = ""
    hardware: str = ""
    batching: str = ""
    """How the engine writes several sequences at once, where it is ours."""

    @property
    def modes(self) -> tuple[Mode, ...]:
        return ("think",) if self.switch == "none" else ("think", "nothink")

    @property
    def open_tag(self) -> str:
        return self.marks.open_tag

    @property
    def close_tag(self) -> str:
        return self.marks.close_tag

    def spoken(self, prompts: Prompts) -> Prompts:
        """The prompts with this model's marks; texts that somebody has replaced stay as they are."""
        if not self.closing:
            return prompts
        told = {"close": self.closing, "project": self.closing + PROMPTS.project.removeprefix(PROMPTS.close)}
        ours = {k: v for k, v in told.items() if getattr(prompts, k) == getattr(PROMPTS, k) != v}
        return prompts.saying(**ours) if ours else prompts

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "open_tag": self.open_tag, "close_tag": self.close_tag}


@dataclass(frozen=True)
class Prompt:
    """What the model will read: token ids, or a chat body where the server takes no ids."""

    ids: tuple[int, ...] | None
    body: Mapping[str, Any] = EMPTY
    """Over chat: the messages and switches. Over ids: only what constrains decoding (grammar, stop)."""
    forced: int = 0
    opened: bool = False
    """The prompt has already opened the thought (R1's template does)."""
    closed: bool = False
    """Thinking is over before the first token (an empty block, a forced close)."""
    tokens: int = 0
    """Length of the prompt where known."""
    begun: int = 0
    """How many ids at its end are this very turn so far, nothing of ours among them: the turn goes on."""
    thought_only: bool = False
    """Generation stops where the thought does."""

    def key(self, fingerprint: str, sampling: Sampling) -> str:
        """Names a generation without its budget: a smaller budget is a cut of the same trace."""
        drawn = [] if sampling.greedy else [sampling.temperature, sampling.top_p, sampling.seed]
        ids = list(self.ids) if self.ids is not None else None
        plain = json.dumps([fingerprint, ids, self.body, drawn], sort_keys=True, default=dict)
        return hashlib.sha256(plain.encode()).hexdigest()


@dataclass(frozen=True)
class Output:
    """What the model wrote. `ids` end with the end-of-turn token when `ended`."""

    text: str
    ended: bool
    tokens: int
    ids: tuple[int, ...] | None = None
    thought: str | None = None
    """Set by chat transports, whose server has already parted thought and answer."""
    answer: str | None = None
    fresh: int = 0
    origin: Origin = "fresh"
    claim: tuple[str, int] | None = None
    prompt_tokens: int = 0
    think_tokens: int = 0
    finish: str = "length"
    extras: Mapping[str, Any] = EMPTY
    wall_s: float = 0.0
    """How long it took to write, where that was before now."""


class Engine(Protocol):
    """A model that can be asked. All methods may be called by many flows at once."""

    @property
    def card(self) -> EngineCard: ...

    async def prompt(self, request: Request) -> Prompt: ...

    async def generate(
        self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None
    ) -> Output: ...

    async def read(self, ids: Sequence[int]) -> str: ...

    async def aclose(self) -> None: ...


def check_effort(card: EngineCard, effort: str) -> None:
    if effort and effort not in card.levels:
        known = f"it knows {', '.join(card.levels)}" if card.levels else "it knows none"
        raise Unsupported(f"model '{card.model}' has no level of effort '{effort}'; {known}")


def check_mode(card: EngineCard, mode: Mode) -> None:
    if mode not in card.modes:
        raise Unsupported(
            f"model '{card.model}' always thinks and has no '{mode}' mode; "
            f"use policies that only think, or allow an empty think block (--nothink-by block)"
        )


async def complete(engine: Engine, request: Request, emit: Emit | None = None) -> Completion:
    """One request through an engine, thought and answer parted, tokens counted."""
    card = engine.card
    check_mode(card, request.mode)
    check_effort(card, request.effort)
    if request.prefill and not card.prefills:
        raise Unsupported(
            f"stage '{request.stage}' begins the assistant's turn, which '{card.engine}' at '{card.model}' "
            f"does not allow; use a policy that answers in a pass of its own (iris, two_pass)"
        )
    started = time.perf_counter()
    prompt = await engine.prompt(request)
    room = request.budget - prompt.forced
    if room <= 0:
        return NOTHING
    marks = card.marks if request.question.tools else card.marks.without_calls()
    splitter = Splitter(marks, request.mode, prompt.opened, prompt.closed)
    output = await engine.generate(
        prompt, room, request.sampling or GREEDY, splitter.through(emit) if emit else None
    )
    if emit:
        splitter.finish(emit)
    if output.ids is None and (output.thought is not None or output.answer is not None):
        thought, answer = output.thought, output.answer
    else:
        thought, answer = split(output.text, marks, request.mode, prompt.opened, prompt.closed)
    return Completion(
        text=output.text,
        ended=output.ended,
        generated=output.tokens,
        thought=thought,
        answer=answer,
        ids=output.ids,
        forced=prompt.forced,
        fresh=output.fresh,
        think_tokens=_think_tokens(output, card, thought, answer),
        prompt_tokens=output.prompt_tokens or prompt.tokens,
        reread_tokens=sum(len(p) for p in (*request.inserts, *request.prefill) if isinstance(p, Span)),
        origin=output.origin,
        claim=output.claim,
        wall_s=output.wall_s or time.perf_counter() - started,
        finish=output.finish,
        extras=output.extras,
    )


def _think_tokens(output: Output, card: EngineCard, thought: str | None, answer: str | None) -> int:
    if thought is None:
        return 0
    if answer is None:
        return output.tokens
    if output.ids is not None and card.close_id in output.ids:
        return output.ids.index(card.close_id) + 1
    # A tag of several tokens, or a server that hides them: its own count, or a share by length.
    return output.think_tokens or round(output.tokens * len(thought) / max(1, len(thought) + len(answer)))
