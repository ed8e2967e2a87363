"""What goes back to a client: OpenAI's objects, with a `thinkcap` field that says what happened.

reply = whole(job, [finished])           # bytes of a chat.completion
chunks.content(0, "Hel")                 # bytes of one chat.completion.chunk event
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import msgspec

from thinkcap.core.types import Run
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.refusal import Refusal

encode = msgspec.json.Encoder().encode
DONE = b"data: [DONE]\n\n"


def new_id() -> str:
    return "chatcmpl-" + secrets.token_hex(12)


@dataclass(frozen=True, slots=True)
class Finished:
    """One choice, done."""

    index: int
    run: Run
    content: str | None
    reasoning: str
    finish: str
    json_complete: bool | None = None

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
                    "tokens": step.completion.spent,
                    "reasoning_tokens": step.completion.think_tokens,
                    "forced_tokens": step.completion.forced,
                    "ended": step.completion.ended,
                }
                for step, following in zip_longest(self.run.steps, self.run.steps[1:])
                # A pass that found no room and was tried again with less to say is not told.
                if step.completion.spent or not following or following.request.stage != step.request.stage
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
        notes = {
            k: v
            for k, v in answer.notes.items()
            if k in ("votes", "agree", "rounds", "converged", "guessed", "drafted", "json_closed")
        }
        return {**found, **notes}


def described(choice: Choice, cap: int, done: Sequence[Finished]) -> dict[str, Any]:
    top: dict[str, Any] = {"policy": choice.label, "chosen_by": choice.by, "cap": cap}
    if len(done) == 1:
        return {**top, **done[0].report()}
    return {**top, "choices": [{"index": one.index, **one.report()} for one in done]}


def header(about: Mapping[str, Any]) -> bytes:
    """The same in one line; before a stream ends, what is known at its start."""
    parts = [f"policy={about['policy']}", f"chosen_by={about['chosen_by']}", f"cap={about['cap']}"]
    for one in about.get("choices", [about] if "tokens" in about else []):
        stages = ",".join(f"{s['stage']}:{s['tokens']}/{s['budget']}" for s in one["stages"])
        parts += [f"tokens={one['tokens']}", f"stages={stages}", f"complete={str(one['complete']).lower()}"]
        parts.append(f"fallback={str(one['fallback']).lower()}")
    return "; ".join(parts).encode("ascii", "replace")[:4096]


def usage(done: Sequence[Finished]) -> dict[str, Any]:
    """Every token of every pass; what was read is summed over the passes too."""
    steps = [step.completion for one in done for step in one.run.steps]
    prompt = sum(c.prompt_tokens for c in steps)
    spent = sum(c.spent for c in steps)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": spent,
        "total_tokens": prompt + spent,
        "completion_tokens_details": {"reasoning_tokens": sum(c.think_tokens for c in steps)},
    }


def whole(
    identity: str, model: str, choice: Choice, cap: int, done: Sequence[Finished], fields: Sequence[str]
) -> tuple[bytes, bytes]:
    """The body and the header of an answer that is not streamed."""
    about = described(choice, cap, done)
    choices = []
    for one in done:
        message: dict[str, Any] = {"role": "assistant", "content": one.content or None}
        if one.reasoning:
            message |= dict.fromkeys(fields, one.reasoning)
        if one.tool_calls:
            message["tool_calls"] = one.tool_calls
        choices.append(
            {"index": one.index, "message": message, "logprobs": one.logprobs, "finish_reason": one.finish}
        )
    body = {
        "id": identity,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": choices,
        "usage": usage(done),
        "thinkcap": about,
    }
    return encode(body), header(about)


class Chunks:
    """Builds the events of one stream; the unchanging head of each is encoded once."""

    def __init__(self, identity: str, model: str, fields: Sequence[str]) -> None:
        head = {"id": identity, "object": "chat.completion.chunk", "created": int(time.time()), "model": model}
        self._head = b"data: " + encode(head)[:-1] + b',"choices":['
        self._fields = [encode(name) for name in fields]

    def role(self, index: int) -> bytes:
        return self._delta(index, b'{"role":"assistant","content":""}')

    def content(self, index: int, text: str) -> bytes:
        return self._delta(index, b'{"content":' + encode(text) + b"}")

    def thought(self, index: int, text: str) -> bytes:
        said = encode(text)
        return self._delta(index, b"{" + b",".join(name + b":" + said for name in self._fields) + b"}")

    def tool_calls(self, index: int, calls: Sequence[Mapping[str, Any]]) -> bytes:
        numbered = [{"index": i, **call} for i, call in enumerate(calls)]
        return self._delta(index, b'{"tool_calls":' + encode(numbered) + b"}")

    def end(self, index: int, finish: str, logprobs: Any, about: Mapping[str, Any] | None) -> bytes:
        more = b"" if logprobs is None else b',"logprobs":' + encode(logprobs)
        choice = b'{"index":%d,"delta":{},"finish_reason":%b%b}' % (index, encode(finish), more)
        last = b"" if about is None else b',"thinkcap":' + encode(about)
        return self._head + choice + b"]" + last + b"}\n\n"

    def usage(self, spent: Mapping[str, Any]) -> bytes:
        return self._head + b'],"usage":' + encode(spent) + b"}\n\n"

    def _delta(self, index: int, delta: bytes) -> bytes:
        return self._head + b'{"index":%d,"delta":%b,"finish_reason":null}]}\n\n' % (index, delta)


def is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
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
