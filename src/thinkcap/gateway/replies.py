"""What an answer is before a wire writes it: its choices, what happened in each, what was spent.

about = described(choice, cap, done)             # the `thinkcap` field of every wire
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Protocol

import msgspec

from thinkcap.core.types import Run
from thinkcap.engines.answers import REPETITION
from thinkcap.gateway.call import Call
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.refusal import Refusal

encode = msgspec.json.Encoder().encode
DONE = b"data: [DONE]\n\n"
_WORDS = {True: "true", False: "false"}
_NOTES = frozenset(
    [
        "votes",
        "agree",
        "rounds",
        "converged",
        "trials",
        "trial_tokens",
        "stopped",
        "guessed",
        "drafted",
        "json_closed",
    ]
)
"""What policies note down of an answer and callers are told."""


@dataclass(frozen=True, slots=True)
class Finished:
    """One choice, done."""

    index: int
    run: Run
    content: str | None
    reasoning: str
    finish: str
    json_complete: bool | None = None
    stop_word: str = ""
    """The caller's word the answer was cut at."""

    @property
    def tool_calls(self) -> Sequence[Mapping[str, Any]]:
        final = self.run.answer.completion
        return final.extras.get("tool_calls", ()) if final is not None else ()

    @property
    def logprobs(self) -> Any:
        final = self.run.answer.completion
        return final.extras.get("logprobs") if final is not None else None

    @property
    def fallback(self) -> bool:
        return bool(self.run.answer.notes.get("fallback"))

    @property
    def over_cap(self) -> int:
        """Tokens a server wrote beyond its limits; they were cut off, and somebody paid for them."""
        return sum(step.completion.extras.get("over_limit", 0) for step in self.run.steps)

    @property
    def empty(self) -> bool:
        return not self.tool_calls and not (self.content or "").strip()

    def report(self) -> dict[str, Any]:
        """Every pass with the budget it had and the tokens it took, and how it ended."""
        answer = self.run.answer
        found: dict[str, Any] = {
            "tokens": self.run.charged,
            "stages": [
                {
                    "stage": step.request.stage,
                    "budget": step.request.budget,
                    "tokens": step.completion.charged,
                    "reasoning_tokens": step.completion.think_tokens,
                    "forced_tokens": step.completion.forced,
                    "ended": step.completion.ended,
                    **({"repeats": True} if step.completion.finish == REPETITION else {}),
                }
                for step, following in zip_longest(self.run.steps, self.run.steps[1:])
                # A pass that found no room and was tried again with less to say is not told.
                if step.completion.charged or not following or following.request.stage != step.request.stage
            ],
            "answered_by": answer.stage,
            "complete": self.finish != "length",
            "fallback": self.fallback,
        }
        sources = {step.completion.extras.get("tokens_source") for step in self.run.steps} - {None}
        if sources:
            # The server gave no usage: say how the tokens were come by.
            found["tokens_source"] = "estimated" if "estimated" in sources else "counted"
        if self.over_cap:
            found["over_cap"] = self.over_cap
        if self.json_complete is not None:
            found["json_complete"] = self.json_complete
        return {**found, **{k: v for k, v in answer.notes.items() if k in _NOTES}}


class Encoder(Protocol):
    """Writes one answer in a wire's format: whole, or event by event."""

    def whole(self, done: Sequence[Finished], about: Mapping[str, Any]) -> bytes: ...

    def open(self, index: int) -> bytes:
        """Before the first piece of a choice."""
        ...

    def content(self, index: int, text: str) -> bytes: ...

    def thought(self, index: int, text: str) -> bytes: ...

    def end(self, one: Finished, about: Mapping[str, Any] | None) -> bytes:
        """A choice is complete; the last one tells what happened to all."""
        ...

    def last(self, done: Sequence[Finished], with_usage: bool) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Wire:
    """A format clients speak."""

    read: Callable[[bytes, bool], Call]
    """From a body and whether unknown fields are let through."""
    encoder: Callable[[Call, Sequence[str]], Encoder]
    """From the request and the names thoughts go under; none where they stay hidden."""
    error: Callable[[Refusal], bytes]
    error_event: Callable[[Refusal, int], bytes]
    """The same once the headers and this many events have been sent."""
    servers_own: bool = False
    """Chat servers write it themselves: their answers can be handed on as they are."""
    counts_first: bool = False
    """A stream begins with the length of the prompt."""


def decided(call: Call, choice: Choice, cap: int) -> dict[str, Any]:
    """What was made of the request before anything was asked."""
    found: dict[str, Any] = {"policy": choice.label, "chosen_by": choice.by, "cap": cap}
    if call.cap is not None and cap < call.cap:
        # The context has less room than that.
        found["cap_asked"] = call.cap
    if choice.held_by:
        found["thought_held_by"] = choice.held_by
    if call.ignored:
        found["ignored"] = list(call.ignored)
    return found


def described(call: Call, choice: Choice, cap: int, done: Sequence[Finished]) -> dict[str, Any]:
    top = decided(call, choice, cap)
    if len(done) == 1:
        return {**top, **done[0].report()}
    return {**top, "choices": [{"index": one.index, **one.report()} for one in done]}


def told(body: bytes, about: Mapping[str, Any]) -> bytes:
    """A server's own bytes with one field more; an answer that was read is never the empty object."""
    return body.rstrip()[:-1] + b',"thinkcap":' + encode(about) + b"}"


def header(about: Mapping[str, Any]) -> bytes:
    """The same in one line; before a stream ends, what is known at its start."""
    told = f"policy={about['policy']}; chosen_by={about['chosen_by']}; cap={about['cap']}"
    for one in about.get("choices", (about,) if "tokens" in about else ()):
        stages = ",".join([f"{s['stage']}:{s['tokens']}/{s['budget']}" for s in one["stages"]])
        told += f"; tokens={one['tokens']}; stages={stages}"
        told += f"; complete={_WORDS[one['complete']]}; fallback={_WORDS[one['fallback']]}"
    return told.encode("ascii", "replace")[:4096]


def usage(done: Sequence[Finished]) -> dict[str, Any]:
    """Every token of every pass; what was read is summed over the passes too."""
    steps = [step.completion for one in done for step in one.run.steps]
    prompt = sum(c.prompt_tokens for c in steps)
    spent = sum(c.charged for c in steps)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": spent,
        "total_tokens": prompt + spent,
        "completion_tokens_details": {"reasoning_tokens": sum(c.think_tokens for c in steps)},
    }


def is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def no_answer(cut: bool, cap: int, stopped: bool = False) -> Refusal:
    """Said instead of an empty 200."""
    if stopped:
        return Refusal("a stop word ended the answer before its first word", code="stopped_at_once", param="stop")
    if cut:
        return Refusal(
            f"max_tokens of {cap} ended before there was any answer; raise it, or choose a policy that keeps a "
            f"share for the answer (nothink, close, iris)",
            code="answer_not_reached",
            param="max_tokens",
        )
    return Refusal(
        "the model ended its turn without an answer", status=502, kind="upstream_error", code="empty_answer"
    )
