"""The nouns: what is asked, what comes back, and what became of it.

A budget is always a number of generated tokens. `ended` is an observed event (the model produced its
end-of-turn token); not ended means right-censored at the budget, whatever the text looks like.

    >>> q = Question("q1", ({"role": "user", "content": "2 + 3?"},), kind="number")
    >>> Request(q, mode="think", budget=64, stage="think").messages == q.messages
    True

What a flow makes for every row is a struct of msgspec's: frozen like a dataclass, but made in a tenth of the time.
`msgspec.structs.replace` makes one that differs. Values refer to older ones only, so the garbage collector need
not look for circles among them (`gc=False`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from thinkcap.core.errors import EngineError
from thinkcap.core.scores import Scores, Unsure

Mode = Literal["think", "nothink"]
Kind = Literal["number", "math", "label", "text"]
Visibility = Literal["hidden", "thought", "answer"]
Channel = Literal["thought", "answer"]
Verdict = Literal["right", "wrong", "unreadable"]
Origin = Literal["fresh", "cut", "continued"]
Message = Mapping[str, Any]
Ids = tuple[int, ...]
"""Token ids."""


class _Empty(Mapping[str, Any]):
    """No entries. A read-only view of a dict cannot be a default, be hashed or be pickled; this can."""

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


EMPTY: Mapping[str, Any] = _Empty()


class Question(msgspec.Struct, frozen=True, gc=False):
    """What a person asks. The gold answer is not here: it belongs to the task."""

    id: str
    messages: tuple[Message, ...]
    kind: Kind | None = None
    """How answers are compared; None where nobody declared it (then votes are refused by name)."""
    form: str = ""
    """Which answer form of the prompts is asked for; the kind's own where empty."""
    group: str = ""
    format: Mapping[str, Any] | None = None
    """OpenAI's `response_format`, applied in the answer pass only."""
    tools: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = EMPTY
    """What else the caller sent (stop, logprobs, tool_choice ...), passed to the engine as it is."""

    @property
    def answer_form(self) -> str:
        return self.form or self.kind or "math"


@dataclass(frozen=True, slots=True)
class Sampling:
    """Greedy at temperature 0, where the seed means nothing and is left out of every key."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0


GREEDY = Sampling()


class Span(msgspec.Struct, frozen=True, gc=False):
    """A stretch of a model's own output, put into a later prompt by its ids (over chat: by its text)."""

    text: str
    ids: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids) if self.ids is not None else 0


class Request(msgspec.Struct, frozen=True, gc=False):
    """One generation a policy asks for."""

    question: Question
    mode: Mode
    budget: int
    """Most tokens this call may cost: generated ones and forced ones (text of ours in `prefill`)."""
    stage: str
    shown: Visibility = "hidden"
    """What of it may reach a reader while it is being written."""
    keep: int = 0
    """Under a total cap: tokens that must remain for later stages after this one."""
    messages: tuple[Message, ...] = ()
    inserts: tuple[Span, ...] = ()
    """What stands where the mark HERE is in the messages, in order."""
    prefill: tuple[Span | str, ...] = ()
    """The assistant's turn so far: spans of its own, and text forced into its mouth."""
    sampling: Sampling | None = None
    """None: as the run is set. A policy that draws several samples sets its own temperature."""
    sample: int = 0
    """Which of several samples of one prompt; added to the run's seed."""
    final: bool = False
    """An answer pass: tools and response format apply."""
    effort: str = ""
    """A level of the model's own; empty: as its makers set it."""
    thought_only: bool = False
    """The pass is over where the thought is; engines that cannot stop there write on."""
    opens: bool = False
    """Our words in `prefill` begin inside the thought: it is opened first, where the prompt does not do so."""
    most: int | None = None
    """At most this many generated tokens, whatever the forced ones leave of the budget."""
    paid: int = 0
    """Forced tokens of `prefill` that an earlier request of this turn was charged for."""
    stop_at: tuple[str, ...] = ()
    """Texts that stop the writing: the first to be complete is its last. A stop is not an end of the turn."""
    scored: bool = False
    """Whether `Completion.scores` are wanted."""
    unsure: Unsure | None = None
    """Stop where the model becomes unsure; needs scores."""
    held: int | None = None
    """The server itself ends the thought after this many tokens, in its own way, and the turn goes on."""

    def __post_init__(self) -> None:
        if not self.messages:
            msgspec.structs.force_setattr(self, "messages", self.question.messages)


class Completion(msgspec.Struct, frozen=True, gc=False):
    """What came back for a request, as the policy sees it."""

    text: str
    ended: bool
    tokens: int
    """Its length, the end-of-turn token included."""
    thought: str | None = None
    answer: str | None = None
    """What follows the thought; None when thinking never closed."""
    thinking: bool = False
    """It ends inside a thought, the first or a later one."""
    ids: tuple[int, ...] | None = None
    forced: int = 0
    """Tokens that we inserted into the assistant's turn for it; they count."""
    generated: int = 0
    """Tokens this run really produced for it; fewer than `tokens` where a stored trace served."""
    think_tokens: int = 0
    prompt_tokens: int = 0
    reread: int = 0
    """Trace tokens that had to be read again as prompt."""
    origin: Origin = "fresh"
    claim: tuple[str, int] | None = None
    """The stored trace this run is the first to account for, and the tokens produced for it so far."""
    wall_s: float = 0.0
    finish: str = "length"
    """The engine's own word: stop, length, tool_calls ...; `stopped` at a text of `stop_at`, `unsure` there."""
    extras: Mapping[str, Any] = EMPTY
    """tool_calls, logprobs: what the caller wants handed through."""
    before: Span | None = None
    """Where a text of `stop_at` was met: what stands before the token it begins in."""
    scores: Scores | None = None
    """One a token, where they were asked for."""
    limit: int = 0
    """The budget its stored chain was generated under; 0 where none is stored that can be cut."""

    @property
    def charged(self) -> int:
        """What this request alone would have cost."""
        return self.tokens + self.forced

    def span(self) -> Span:
        """This completion as material for a later prompt, without its end-of-turn token."""
        return Span(self.text, self.ids[:-1] if self.ids is not None and self.ended else self.ids)


NOTHING = Completion(text="", ended=False, tokens=0)
"""What a request without any room left gives."""


class Step(msgspec.Struct, frozen=True, gc=False):
    """One request, with the budget it really had after clipping to the cap, and what it gave."""

    request: Request
    completion: Completion


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What a policy settles on. `text` is read by the task's grader; None where there is nothing to read."""

    text: str | None
    stage: str
    completion: Completion | None = None
    guess: bool = False
    """The answer may be read out of an unfinished thought (the heuristic pipeline says so)."""
    notes: Mapping[str, Any] = EMPTY
    """rounds, converged, votes ...: what the tables of a method need."""


class Run(msgspec.Struct, frozen=True, gc=False):
    """A policy's flow driven to its end."""

    answer: Answer
    steps: tuple[Step, ...]

    @property
    def charged(self) -> int:
        """What this method alone would have cost."""
        return sum(s.completion.charged for s in self.steps)

    @property
    def generated(self) -> int:
        """What this run really produced for it."""
        return sum(s.completion.generated for s in self.steps)

    @property
    def reread(self) -> int:
        return sum(s.completion.reread for s in self.steps)


class Graded(msgspec.Struct, frozen=True, gc=False):
    """An outcome with a verdict."""

    run: Run
    verdict: Verdict
    answer: str | None
    level: int


class Failed(msgspec.Struct, frozen=True, gc=False):
    """An outcome without one: a failure can never be counted as a wrong answer."""

    error: EngineError
    steps: tuple[Step, ...] = ()


Outcome = Graded | Failed
