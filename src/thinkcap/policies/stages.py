"""The stages methods are made of: probe, think, answer from a trace, answer in band. One place, so that all
methods ask in the same words and a stored stage serves every method.

    probe = yield from ask(stages.probe(question, 64))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from thinkcap.core.errors import Unsupported
from thinkcap.core.marks import PLAIN
from thinkcap.core.prompts import Prompts
from thinkcap.core.thinking import parted
from thinkcap.core.types import Completion, Message, Mode, Question, Request, Visibility
from thinkcap.grading import extract

if TYPE_CHECKING:
    from thinkcap.grading.extraction import Extracted


def probe(question: Question, budget: int, *, keep: int = 0) -> Request:
    """A try without thinking, hidden until it turns out to be the answer."""
    return Request(question, "nothink", budget, stage="probe", keep=keep, final=True)


def thinking(
    question: Question,
    budget: int,
    *,
    keep: int = 0,
    shown: Visibility = "thought",
    hint: str = "",
    stage: str = "think",
) -> Request:
    messages = with_text(question.messages, hint) if hint else ()
    return Request(question, "think", budget, stage, shown, keep, messages=messages)


def extraction(
    question: Question,
    trace: Completion | None,
    budget: int,
    prompts: Prompts,
    *,
    template: str | None = None,
    system: str = "",
    keep: int = 0,
    stage: str = "extract",
    shown: Visibility = "answer",
    mode: Mode = "nothink",
) -> Request:
    """The answer pass of its own: no thinking, the trace as context. Controls leave out the trace, or think."""
    form = question.answer_form if question.kind else ""
    text = prompts.extraction(form, template if trace else prompts.extract_bare)
    messages = with_text(question.messages, text)
    if system:
        messages = ({"role": "system", "content": system}, *messages)
    return Request(
        question,
        mode,
        budget,
        stage=stage,
        shown=shown,
        keep=keep,
        messages=messages,
        inserts=(trace.span(),) if trace else (),
        final=True,
    )


def in_band(question: Question, trace: Completion, budget: int, forced: str, stage: str) -> Request:
    """The same turn goes on, its thought closed by force unless the model has closed it already."""
    closed = not trace.thinking and (trace.answer is not None or trace.thought is not None)
    prefill = (trace.span(),) if closed else (trace.span(), forced)
    return Request(question, "think", budget, stage, "answer", prefill=prefill, final=True)


def answer_of(chain: Completion, rest: Completion) -> str:
    """What the turn says in the end. Markup before an answer belongs to it no more than the thought does."""
    if chain.answer:
        return chain.answer + rest.text
    return rest.text if rest.answer is None else rest.answer


def joined(chain: Completion, piece: Completion) -> Completion:
    """The turn so far: what was written before, and what the next step added."""
    if not piece.tokens:
        return chain
    ids = chain.ids + piece.ids if chain.ids is not None and piece.ids is not None else None
    thought = (chain.thought or "") + (piece.thought or "") if chain.answer is None else chain.thought
    answer = piece.answer if chain.answer is None else chain.answer + piece.text
    return replace(
        piece,
        text=chain.text + piece.text,
        ids=ids,
        thought=thought,
        answer=answer,
        tokens=chain.tokens + piece.tokens,
        think_tokens=chain.think_tokens + piece.think_tokens,
    )


def with_text(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """The conversation with a line of our own after the last user message."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.get("role") == "user":
            changed = {**message, "content": _joined(message.get("content"), text)}
            return (*messages[:at], changed, *messages[at + 1 :])
    raise Unsupported("the conversation has no user message to answer; add one")


def _joined(content: Any, text: str) -> Any:
    if isinstance(content, str):
        return f"{content}\n{text}"
    if isinstance(content, Sequence) and all(isinstance(part, Mapping) for part in content):
        return [*content, {"type": "text", "text": text}]
    raise Unsupported(f"a user message has content of type {type(content).__name__}; wanted text or parts")


def tagged(chain: Completion) -> str:
    """A chain in the tags that `read` knows, whatever its model's own are."""
    if chain.thought is None or PLAIN.close_tag in chain.text or chain.text.lstrip().startswith(PLAIN.open_tag):
        return chain.text
    if chain.answer is None:
        return f"{PLAIN.open_tag}{chain.thought}"
    return f"{PLAIN.open_tag}{chain.thought}{PLAIN.close_tag}{chain.answer}"


def read(question: Question, text: str | None, *, guess: bool = False) -> Extracted:
    """What the task's reader finds in a text; nothing in no text."""
    if text is None:
        return extract(None, question.kind or "math")
    thought, reply = parted(text, unclosed=guess)
    return extract(reply, question.kind or "math", thought=thought)


def shares(cap: int, *parts: int | None, default: Sequence[float]) -> tuple[int, ...]:
    """Stage budgets: the given ones, the others their default share of the cap (at least one token)."""
    return tuple(
        part if part is not None else max(1, round(cap * share))
        for part, share in zip(parts, default, strict=True)
    )
