"""What a policy needs around it to serve strangers: an answer in any case, and their wishes in the answer pass.

A policy is a generator, so these are generators around it: they see its requests before the driver does, and the
completions before it does. The driver still counts every token.

    flow = insured(structured(policy(question, cap)), question, cap)
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from msgspec.structs import replace

from thinkcap.core.errors import Unsupported
from thinkcap.core.flow import Ask, First, Flow, ask, wrapped
from thinkcap.core.types import Answer, Completion, Question, Request
from thinkcap.policies import stages
from thinkcap.policies.registry import PolicySpec, facts


def check_answer_pass(spec: PolicySpec) -> None:
    if not facts(spec).answer_pass:
        raise Unsupported(
            f"policy '{spec.name}' answers in the pass it thinks in, where tools, response_format, logprobs, "
            f"penalties and the like cannot be applied; use nothink, close, iris or two_pass"
        )


def structured(flow: Flow, close_id: int | None, close_tag: str) -> Flow:
    """Tools, a response format and the like bind the answer pass only: a thinking pass must not give the answer.

    A pass that went on to answer by itself is handed to the policy as its thought alone, not ended; the policy
    then goes on to its own answer pass. What was written beyond the thought the driver has counted already.
    """

    def each(effect: Ask | First) -> Generator[Ask | First, Any, tuple[Completion, ...]]:
        asked = tuple(_thought_only(r) for r in effect.requests)
        found = yield replace(effect, requests=asked)
        return tuple(
            c if r.final else _reopened(c, close_id, close_tag) for r, c in zip(asked, found, strict=True)
        )

    return wrapped(flow, each)


def _thought_only(request: Request) -> Request:
    if request.final or request.mode != "think":
        return request
    return replace(request, thought_only=True, shown="thought" if request.shown == "answer" else request.shown)


def _reopened(completion: Completion, close_id: int | None, close_tag: str) -> Completion:
    if completion.answer is None:
        return completion
    ids = completion.ids
    if ids is not None:
        ids = ids[: ids.index(close_id)] if close_id in ids else None
    text = completion.text.partition(close_tag)[0] if close_tag in completion.text else completion.thought or ""
    return replace(completion, text=text, ids=ids, answer=None, ended=False)


def insured(flow: Flow, question: Question, cap: int) -> Flow:
    """Where the policy ends without a word, what is left of the cap goes into an answer without thinking."""
    answer = readable((yield from flow), question)
    if answer.text is not None and answer.text.strip():
        return answer
    if answer.completion is not None and answer.completion.extras.get("tool_calls"):
        return answer
    last = yield from ask(Request(question, "nothink", cap, stage="fallback", shown="answer", final=True))
    if not last.tokens:
        return answer
    return Answer(last.answer, "fallback", last, notes={**answer.notes, "fallback": True})


def metered(flow: Flow, most: int) -> Flow:
    """At most this many requests, whatever the policy's options say."""
    made = 0

    def each(effect: Ask | First) -> Generator[Ask | First, Any, tuple[Completion, ...]]:
        nonlocal made
        made += len(effect.requests)
        if made > most:
            raise Unsupported(f"this policy makes more than {most} calls, the most that one request may make")
        return tuple((yield effect))

    return wrapped(flow, each)


def readable(answer: Answer, question: Question) -> Answer:
    """A guess out of an open thought is an answer only where somebody said what kind of answer to look for."""
    if not answer.guess:
        return answer
    chain = answer.completion
    if chain is not None and chain.answer is not None:
        return replace(answer, text=chain.answer, guess=False)
    found = stages.read(question, answer.text, guess=True).answer if question.kind else None
    # Without its completion the driver knows that nobody has seen this text yet.
    return replace(answer, text=found, guess=False, completion=None, notes={**answer.notes, "guessed": True})


class Stops:
    """Cuts the shown answer at the caller's stop words; holds back only what may still become one."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words
        self._held = ""
        self.word = ""
        """What the answer was cut at."""

    @property
    def hit(self) -> bool:
        return bool(self.word)

    def take(self, text: str) -> str:
        if not self._words:
            return text
        if self.hit:
            return ""
        self._held += text
        first, word = min(
            ((at, word) for word in self._words if (at := self._held.find(word)) >= 0), default=(-1, "")
        )
        if first >= 0:
            self.word = word
            ready, self._held = self._held[:first], ""
            return ready
        keep = max(_overlap(self._held, word) for word in self._words)
        ready, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return ready

    def rest(self) -> str:
        ready, self._held = self._held, ""
        return "" if self.hit else ready


def _overlap(text: str, word: str) -> int:
    return next((n for n in range(min(len(word) - 1, len(text)), 0, -1) if text.endswith(word[:n])), 0)
