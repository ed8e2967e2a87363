"""One request through a policy: the flow is built, driven, and what it settles on becomes an answer.

body, header = await whole(job)
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from thinkcap.core.engine import Engine
from thinkcap.core.flow import Flow, Judge, Piece, drive
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Question, Request, Run, Sampling
from thinkcap.engines.answers import clean
from thinkcap.gateway import replies
from thinkcap.gateway.answering.flows import Stops, check_answer_pass, insured, metered, readable, structured
from thinkcap.gateway.answering.json_answers import Held
from thinkcap.gateway.budget import estimate_room
from thinkcap.gateway.call import Call
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.replies import Encoder, Finished
from thinkcap.gateway.telemetry.visit import Visit
from thinkcap.policies.registry import facts

_MARGIN = 128
"""Tokens our own words may add to the prompts of later passes, where the context is nearly full."""

_LEAST_ROOM = 16
"""Less of a context leaves no answer worth having."""

_TEMPLATE_TOKENS = 256
"""More than any template adds to a short conversation."""


@dataclass(frozen=True, slots=True)
class Job:
    """A request with everything decided: what to ask, how, under which cap."""

    call: Call
    engine: Engine
    visit: Visit
    question: Question
    choice: Choice
    cap: int
    encoder: Encoder
    judge: Judge
    temperature: float
    ping_s: float = 15.0
    room: int | None = None
    """Tokens the context window leaves after the prompt; None where nobody can say."""

    held: Held | None = None
    """What a response format holds the answer to."""
    most_calls: int = 256

    def flow(self) -> Flow:
        if self.held is not None and self.held.draft:
            return self.held.drafted(self._policy, self.question, self.inner_cap)
        flow = self._policy(self.question, self.inner_cap)
        return flow if self.held is None else self.held.direct(flow, self.inner_cap)

    def _policy(self, question: Question, cap: int) -> Flow:
        spec = self.choice.spec
        bound = bool(question.tools or question.format or question.options.keys() - {"stop"})
        flow = spec.bind(self.engine.card.spoken(PROMPTS))(question, cap)
        if bound and spec.name != "nothink":
            check_answer_pass(spec)
            card = self.engine.card.at(str(spec.options.get("effort", "")))
            flow = structured(flow, card.close_id, card.close_tag)
        if spec.name == "nothink" or "nothink" not in self.engine.card.modes:
            return _read(flow, question)
        return insured(flow, question, cap)

    @property
    def inner_cap(self) -> int:
        """The cap less what later passes' prompts may add, where the context is nearly full."""
        if self.room is None or facts(self.choice.spec).one_call:
            return self.cap
        return max(1, min(self.cap, self.room - _MARGIN))

    def sampling(self, index: int) -> Sampling:
        asked = self.call
        temperature = asked.temperature
        if temperature is None:
            # Several greedy choices would all be the same one; OpenAI's default is 1.
            temperature = 1.0 if asked.n > 1 else self.temperature
        seed = asked.seed if asked.seed is not None else secrets.randbits(31) if temperature else 0
        return Sampling(temperature, asked.top_p if asked.top_p is not None else 1.0, seed + index)


def _read(flow: Flow, question: Question) -> Flow:
    return readable((yield from flow), question)


def question_of(call: Call, engine: Engine) -> Question:
    """The conversation as the engine can take it; what it cannot take is refused by name."""
    card = engine.card
    options = dict(call.options)
    if card.transport == "chat":
        # A chat server is told everything it may know; the embedded engine has no use for bookkeeping.
        options |= {**call.bookkeeping, **call.unknown}
    elif call.unknown:
        name = next(iter(call.unknown))
        raise Refusal(f"'{card.model}' cannot apply field '{name[:80]}'", code="unsupported", param=name[:80])
    if call.template_kwargs:
        name = next(iter(call.template_kwargs))
        raise Refusal(
            f"this policy cannot pass chat_template_kwargs.{name} on",
            code="unsupported",
            param="chat_template_kwargs",
        )
    if call.tools and not card.tools:
        raise Refusal(f"model '{card.model}' cannot call tools here", code="unsupported", param="tools")
    if call.format and not card.formats:
        raise Refusal(
            f"model '{card.model}' cannot be held to a response_format here",
            code="unsupported",
            param="response_format",
        )
    messages: Sequence[Mapping[str, Any]] = call.messages
    if card.transport == "ids":
        messages = [_plain(m, at, card.model, card.tools) for at, m in enumerate(messages)]
    return Question(
        "chat", tuple(messages), kind=call.wishes.kind, format=call.format, tools=call.tools, options=options
    )


def _plain(message: Mapping[str, Any], at: int, model: str, tools: bool) -> Mapping[str, Any]:
    role, content = message["role"], message.get("content")
    where = f"messages[{at}]"
    if not tools and (role == "tool" or message.get("tool_calls")):
        raise Refusal(f"model '{model}' cannot read tool messages here", code="unsupported", param=where)
    if isinstance(content, list):
        for part in content:
            if part["type"] not in ("text", "refusal"):
                raise Refusal(
                    f"model '{model}' takes text only here, not {part['type']}", code="unsupported", param=where
                )
        content = "".join(part[part["type"]] for part in content)
    if content is None:
        if role != "assistant":
            raise Refusal(f"a {role} message has no content", code="invalid_value", param=where)
        content = ""
    # Templates know a thought by one name.
    said = {**message, "content": content}
    if thought := said.pop("reasoning", None):
        said.setdefault("reasoning_content", thought)
    return said


async def fitted(question: Question, engine: Engine, cap: int | None, bound: int) -> tuple[int, int | None]:
    """The cap that holds, and the room the context leaves. Little room shrinks the cap; none is a 400.

    `bound` is `cap`, or the most that a request without one may cost.
    """
    card = engine.card
    if card.transport != "ids" or not card.context:
        if cap is None and card.context:
            return min(bound, estimate_room(card.context, question.messages, question.tools)), None
        return bound, None
    # A pass that is not final: the caller's wishes are looked at where they apply, in the answer pass.
    prompt = await engine.prompt(Request(question, card.modes[-1], 1, stage="measure"))
    room = card.context - prompt.tokens
    if room < min(bound, _LEAST_ROOM):
        wanted = f"max_tokens of {cap}" if cap is not None else f"room for {_LEAST_ROOM} tokens of an answer"
        raise too_long(f"{prompt.tokens} prompt tokens and {wanted}", card.context)
    return min(bound, room), room


async def prompt_tokens(call: Call, engine: Engine) -> int:
    """How long the conversation is in the model's own tokens."""
    card = engine.card
    if card.transport != "ids" or (call.tools and not card.tools):
        what = "with tools" if call.tools else f"of '{card.model}', which is asked over chat,"
        raise Refusal(f"prompts {what} cannot be counted here", code="unsupported", param="messages")
    question = question_of(call, engine)
    return (await engine.prompt(Request(question, card.modes[-1], 1, stage="measure"))).tokens


async def counted(call: Call, engine: Engine) -> Call:
    """The call with the length of its prompt, where it can be counted."""
    if call.media or (call.tools and not engine.card.tools):
        return call
    return replace(call, prompt_tokens=await prompt_tokens(call, engine))


async def fits(call: Call, engine: Engine, cap: int) -> int:
    """The cap on the short way. Prompts are counted only where they might not fit: counting costs two requests."""
    card = engine.card
    if not card.context or call.size + cap + _TEMPLATE_TOKENS <= card.context:
        return cap
    if card.transport == "ids" and (card.tools or not call.tools) and not call.media:
        asked = question_of(call, engine)
        question = Question("chat", asked.messages, tools=asked.tools)
        return (await fitted(question, engine, call.cap, cap))[0]
    if call.cap is None:
        return min(cap, estimate_room(card.context, call.messages, call.tools))
    if call.cap > card.context:
        raise too_long(f"max_tokens of {call.cap}", card.context)
    return call.cap


def too_long(what: str, context: int) -> Refusal:
    return Refusal(
        f"{what} exceed the context window of {context}; shorten the messages or lower max_tokens",
        code="context_length_exceeded",
        param="messages",
    )


async def whole(job: Job) -> tuple[bytes, bytes]:
    tasks = [asyncio.ensure_future(driven(job, index, None)) for index in range(job.call.n)]
    runs = await _together(tasks)
    done = [finished(job, index, run) for index, run in enumerate(runs)]
    about = replies.described(job.call, job.choice, job.cap, done)
    return job.encoder.whole(done, about), replies.header(about)


async def _together(tasks: Sequence[asyncio.Future[Run]]) -> list[Run]:
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def driven(job: Job, index: int, show: Callable[[Piece], None] | None) -> Awaitable[Run]:
    return drive(
        metered(job.flow(), job.most_calls),
        job.engine,
        judge=job.judge,
        cap=job.inner_cap,
        sampling=job.sampling(index),
        show=show,
        each=job.visit.complete,
    )


def finished(job: Job, index: int, run: Run, shown: str | None = None, stopped: str = "") -> Finished:
    answer = run.answer
    content = shown
    if content is None:
        stops = Stops(job.call.stops)
        content = stops.take(clean(answer.text or ""))
        content += stops.rest()
        stopped = stops.word
    complete = replies.is_json(content) if job.call.format else None
    final = answer.completion
    if final is not None and final.extras.get("stop_word") in job.call.stops:
        # A server that stops at the word leaves it out of what it says.
        stopped = stopped or final.extras["stop_word"]
    if final is not None and final.extras.get("tool_calls"):
        finish = "tool_calls"
    elif (
        stopped
        or (final is not None and final.ended)
        or (final is None and not answer.notes.get("guessed"))
        or answer.notes.get("json_whole")
    ):
        finish = "stop"
    else:
        finish = "length"
    thoughts = [
        step.completion.thought for step in run.steps if step.request.shown != "hidden" and step.completion.thought
    ]
    done = Finished(index, run, content, clean("\n".join(thoughts)), finish, complete, stopped)
    job.visit.ran(run, finish, done.fallback)
    if done.over_cap:
        job.visit.metrics.upstream_error(job.visit.model, "cap_not_held")
    if done.empty:
        raise replies.no_answer(finish == "length" or run.charged >= job.inner_cap, job.cap, bool(stopped))
    return done
