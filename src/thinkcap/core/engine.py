"""What thinkcap needs of a model: three methods, and a card that says what the backend can do.

`prompt` turns a request into what the model will read, `generate` runs it, `read` turns ids into text. A
wrapper (the trace store's, a cluster's) is an engine too. `core.complete` joins the three for the driver.

    output = await engine.generate(await engine.prompt(request), 64, GREEDY)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol

import msgspec

from thinkcap.core.marks import PLAIN, Marks
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.scores import Scores, Unsure
from thinkcap.core.thinking import Delta
from thinkcap.core.turn_rules import ANY_ORDER, TurnRules
from thinkcap.core.types import EMPTY, Mode, Origin, Request, Sampling, Span

Transport = Literal["ids", "chat"]
SwitchWay = Literal["native", "block", "prompt", "none"]
Scoring = Literal["", "written", "any"]
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
    turn_rules: TurnRules = ANY_ORDER
    """How messages are merged before its chat template renders them."""
    recommended: Sampling | None = None
    """How its makers want it sampled when it thinks."""
    levels: tuple[str, ...] = ()
    """Levels of effort it knows, the lowest first."""
    by_effort: Mapping[str, tuple[Marks, str]] = field(default_factory=dict)
    """Levels at which it marks its thoughts otherwise: those marks, and what closes a thought by force there."""
    closing: str = ""
    """What closes its thought by force; empty where the prompts' own words do."""
    close_id: int | None = None
    prefills: bool = True
    """Whether the assistant's turn can be prefilled for the model (needed by `close` and projection)."""
    reasoning_field: str = "reasoning_content"
    formats: bool = False
    """Whether a JSON schema or grammar can constrain the answer."""
    tools: bool = False
    seeds: bool = True
    stops: bool = False
    """Whether it stops at a text while it writes, and still gives the ids."""
    scores: Scoring = ""
    """Whether it says how sure it was of each token: as it writes, or also of a text written before."""
    holds: str = ""
    """The field by which its server ends a thought after a number of tokens; empty if it has none."""
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
    def least(self) -> str:
        """The level of effort that a pass without thinking gets where thinking cannot be turned off."""
        return self.levels[0] if self.switch == "none" and self.levels else ""

    @property
    def open_tag(self) -> str:
        return self.marks.open_tag

    @property
    def close_tag(self) -> str:
        return self.marks.close_tag

    def at(self, effort: str) -> EngineCard:
        """The card as it is at a level of effort."""
        if effort not in self.by_effort:
            return self
        marks, closing = self.by_effort[effort]
        return replace(self, marks=marks, closing=closing, close_id=None, by_effort={})

    @property
    def tokens(self) -> tuple[str, ...]:
        """Marks that must not be hidden, at any level."""
        every = (self.marks, *(marks for marks, _ in self.by_effort.values()))
        return tuple(dict.fromkeys(token for marks in every for token in marks.tokens))

    @cached_property
    def dialect_shown(self) -> str:
        """The dialect's name, or its marks where it has none: `qwen3`, `<reason> ... </reason>`."""
        return self.dialect or f"{self.open_tag} ... {self.close_tag}".strip()

    def spoken(self, prompts: Prompts) -> Prompts:
        """The prompts with this model's marks; texts that somebody has replaced stay as they are."""
        if not self.closing:
            return prompts
        told = {"close": self.closing, "project": self.closing + PROMPTS.project.removeprefix(PROMPTS.close)}
        ours = {k: v for k, v in told.items() if getattr(prompts, k) == getattr(PROMPTS, k) != v}
        return prompts.saying(**ours) if ours else prompts

    def to_dict(self) -> dict[str, Any]:
        marks = {"open_tag": self.open_tag, "close_tag": self.close_tag}
        return {**asdict(self), **marks} | ({"nothink_as": f"think(effort={self.least})"} if self.least else {})


class Prompt(msgspec.Struct, frozen=True, dict=True):
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
    """How many ids at its end are the model's own since our last word in this turn: there the turn goes on."""
    stop_at: tuple[str, ...] = ()
    unsure: Unsure | None = None
    scored: bool = False

    def key(self, fingerprint: str, sampling: Sampling) -> str:
        """Names a generation without its budget and its stops: both only cut the same trace."""
        drawn = None if sampling.greedy else sampling
        known = self._keys.get((fingerprint, drawn))
        return known or self._keys.setdefault((fingerprint, drawn), self._key(fingerprint, sampling))

    @cached_property
    def _keys(self) -> dict[tuple[str, Sampling | None], str]:
        """Names it was asked for: the prompt of a question serves many budgets."""
        return {}

    def _key(self, fingerprint: str, sampling: Sampling) -> str:
        # JSON of a list, put together by hand: there are thousands of ids, and Python writes them as JSON does.
        ids = "null" if self.ids is None else str(list(self.ids))
        body = json.dumps(self.body, sort_keys=True, default=dict) if self.body else "{}"
        drawn = "[]"
        if not sampling.greedy:
            drawn = json.dumps([sampling.temperature, sampling.top_p, sampling.seed])
        plain = f"[{_quoted(fingerprint)}, {ids}, {body}, {drawn}]"
        return hashlib.sha256(plain.encode()).hexdigest()


_quoted = lru_cache(maxsize=16)(json.dumps)


class Output(msgspec.Struct, frozen=True, gc=False):
    """What the model wrote. `ids` end with the end-of-turn token when `ended`."""

    text: str
    ended: bool
    tokens: int
    ids: tuple[int, ...] | None = None
    thought: str | None = None
    """Set by chat transports, whose server has already parted thought and answer."""
    answer: str | None = None
    generated: int = 0
    """Tokens this run really produced for it; fewer than `tokens` where a stored trace served."""
    origin: Origin = "fresh"
    claim: tuple[str, int] | None = None
    prompt_tokens: int = 0
    think_tokens: int = 0
    finish: str = "length"
    extras: Mapping[str, Any] = EMPTY
    wall_s: float = 0.0
    """How long it took to write, where that was before now."""
    before: Span | None = None
    """What stands before the text it stopped at."""
    scores: Scores | None = None
    limit: int = 0
    """The budget its stored chain was generated under; 0 where none is stored that can be cut."""


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


class Scorer(Engine, Protocol):
    """An engine whose card says that it scores `any` text: in one pass over the prompt, nothing generated."""

    async def score(self, prompt: Prompt, ids: Sequence[int]) -> Scores: ...
