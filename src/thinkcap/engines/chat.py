"""Any `/chat/completions`: text in, text out, for servers that take no ids. Nothing can be cut here.

Reasoning arrives under one of two names, or inside the content between tags; a cut inside the thought and one
inside the answer are told apart. Tokens are the server's own count where it gives one.

    engine = ChatEngine(client, card, speech, "qwen3-8b", "template", "/v1/chat/completions")
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from thinkcap.core.engine import Emit, EngineCard, Output, Prompt
from thinkcap.core.errors import EngineGarbled, EngineRefused, Unsupported
from thinkcap.core.prompts import HERE
from thinkcap.core.turn_rules import TurnRules, find_turn_rules
from thinkcap.core.types import Message, Mode, Request, Sampling, Span
from thinkcap.engines.answers import CUT, ChatAnswer, ChatReply, Usage, fitting, overran, read_answer, read_event
from thinkcap.engines.canary import ServedName
from thinkcap.engines.client import Client, HangUp
from thinkcap.engines.speech import Speech

_REJECTS = (400, 422, 500)
"""With which servers report what their chat template raises."""
SwitchField = str
"""The name a server has for its thinking switch."""


def switched(wire: SwitchField, mode: Mode, template: Mapping[str, Any]) -> dict[str, Any]:
    """The request fields that turn thinking on or off; `template`: the arguments its dialect takes."""
    on = mode == "think"
    if wire == "template":
        return {"chat_template_kwargs": dict(template)} if template else {}
    if wire == "effort":
        return {} if on else {"reasoning_effort": "none"}
    if wire == "type":
        return {"thinking": {"type": "enabled" if on else "disabled"}}
    if wire == "enabled":
        return {"reasoning": {"enabled": on}}
    return {}


WIRES: tuple[SwitchField, ...] = ("template", "effort", "type", "enabled")


async def probe_turn_rules(client: Client, path: str, model: str) -> TurnRules:
    """Ask a server that shows no template for one token behind short conversations."""

    async def can_render(messages: Sequence[Message]) -> bool:
        body = {"model": model, "messages": messages, "max_tokens": 1, "temperature": 0}
        try:
            await client.post(path, body)
        except EngineRefused as err:
            if err.status in _REJECTS:
                return False
            raise
        return True

    return await find_turn_rules(can_render)


class ChatEngine:
    """`count` asks the server how many tokens a text has; without it, and without usage, they are estimated."""

    def __init__(
        self,
        client: Client,
        card: EngineCard,
        speech: Speech,
        served: str,
        wire: SwitchField,
        path: str,
        count: Callable[[str], Awaitable[int]] | None = None,
        cuts_overrun: bool = False,
    ) -> None:
        self.card = card
        self._client = client
        self._model = served
        self._speech = speech
        self._wire = wire
        self._path = path
        self._count = count
        self._cuts_overrun = cuts_overrun
        self._slots = asyncio.Semaphore(card.concurrency)
        self._served = ServedName(card.model)
        self._limit_name = "max_tokens"

    async def prompt(self, request: Request) -> Prompt:
        question = request.question
        messages = inserted(self._speech.messages(request.messages, request.mode), request.inserts, request.stage)
        begun = self._speech.block(request.mode) + "".join(
            p.text if isinstance(p, Span) else p for p in request.prefill
        )
        body: dict[str, Any] = {
            "messages": messages,
            **switched(self._wire, request.mode, self._speech.switches(request.mode, request.effort)),
        }
        if request.effort and self._wire != "template":
            body["reasoning_effort"] = request.effort
        if request.held is not None:
            body[self.card.holds] = request.held
        if begun:
            if not self.card.prefills:
                raise Unsupported(
                    f"'{self.card.model}' over chat does not let thinkcap prefill the assistant's turn; "
                    f"use --nothink-by native or prompt, or a server with an ids transport"
                )
            messages.append({"role": "assistant", "content": begun})
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        if request.final:
            body |= {k: v for k, v in question.options.items() if v is not None}
            if question.format is not None:
                body["response_format"] = dict(question.format)
            if question.tools:
                body["tools"] = list(map(dict, question.tools))
        ours = [await self._counted(p) for p in request.prefill if isinstance(p, str)]
        opened, closed = self._speech.state(request)
        return Prompt(None, body, forced=sum(ours), opened=opened, closed=closed)

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        body = {**prompt.body, "model": self._model, "temperature": sampling.temperature}
        if not sampling.greedy:
            body |= {"top_p": sampling.top_p, "seed": sampling.seed}
        async with self._slots:
            try:
                reply = await self._reply(body, limit, emit)
            except EngineRefused as err:
                # OpenAI's reasoning models know the limit only under its newer name.
                if (
                    err.status != 400
                    or "max_completion_tokens" not in str(err)
                    or self._limit_name != "max_tokens"
                ):
                    raise
                self._limit_name = "max_completion_tokens"
                reply = await self._reply(body, limit, emit)
        self._served.check(reply.model)
        return await self._output(reply, limit)

    async def read(self, ids: Sequence[int]) -> str:
        raise Unsupported(f"'{self.card.model}' is asked over chat and has no token ids to read")

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _reply(self, body: Mapping[str, Any], limit: int, emit: Emit | None) -> ChatReply:
        body = {**body, self._limit_name: limit}
        if emit is None:
            return await self._client.send(
                self._path, msgspec.json.encode(body), lambda raw: ChatReply.whole(read_answer(raw))
            )
        reply = ChatReply()

        def take(event: ChatAnswer) -> bool:
            for delta in reply.add(event):
                emit(delta)
            if overran(reply.pieces, reply.characters, limit):
                raise HangUp
            return reply.finish is not None

        streaming = {**body, "stream": True, "stream_options": {"include_usage": True}}
        await self._client.stream(self._path, streaming, take, lambda raw: read_event(raw)[0])
        if overran(reply.pieces, reply.characters, limit):
            reply.finish, reply.usage = "length", Usage(completion_tokens=max(reply.pieces, limit + 1))
        return reply

    async def _output(self, reply: ChatReply, limit: int) -> Output:
        if reply.finish == "content_filter":
            raise EngineRefused(f"the server's content filter stopped an answer of '{self.card.model}'")
        if reply.finish not in ("stop", "tool_calls", "function_call", *CUT):
            raise EngineGarbled(f"the server stopped for '{reply.finish}'; wanted stop, length or tool_calls")
        usage = reply.usage or Usage()
        finish, tokens, over = reply.finish, usage.completion_tokens, 0
        if tokens is not None and tokens > limit:
            finish, tokens, over = "length", limit, tokens - limit
            self._cut(reply, limit, limit + over)
        text, thought, answer, marks = reply.content, None, None, self.card.marks
        if reply.thought.strip():
            thought, answer = reply.thought.strip("\n"), reply.content.lstrip("\n") or None
            text = f"{marks.open_tag}\n{thought}" + ("" if answer is None else f"\n{marks.close_tag}\n\n{answer}")
        extras: dict[str, Any] = {"over_limit": over} if over else {}
        if reply.calls:
            extras["tool_calls"] = [reply.calls[i] for i in sorted(reply.calls)]
        if reply.logprobs is not None:
            extras["logprobs"] = reply.logprobs
        if tokens is None:
            tokens = min(limit, await self._counted(text) + (finish != "length"))
            extras["tokens_source"] = "counted" if self._count else "estimated"
        return Output(
            text,
            finish not in CUT,
            tokens,
            thought=thought,
            answer=answer,
            generated=tokens + over,
            prompt_tokens=usage.prompt_tokens or 0,
            think_tokens=min(tokens, usage.reasoning_tokens or 0),
            finish=finish,
            extras=extras,
        )

    def _cut(self, reply: ChatReply, limit: int, tokens: int) -> None:
        """A server that writes beyond its limit: who serves others hands on what fits and says so, a study cannot
        use it."""
        if not self._cuts_overrun:
            raise EngineRefused(
                f"the server generated {tokens} tokens where {self._limit_name} was {limit}: it does not keep the "
                f"limit, so no cap can be promised"
            )
        kept = len(fitting(reply.thought + reply.content, tokens, limit))
        reply.content = reply.content[: max(0, kept - len(reply.thought))]
        reply.thought = reply.thought[:kept]

    async def _counted(self, text: str) -> int:
        # About four characters a token where nobody can say.
        return await self._count(text) if self._count else -(-len(text) // 4)


def inserted(messages: Sequence[Mapping[str, Any]], inserts: Sequence[Span], stage: str) -> list[dict[str, Any]]:
    """Over chat a trace goes in as text."""
    spans = iter(inserts)
    filled = []
    for message in messages:
        content = message.get("content")
        if inserts and isinstance(content, str) and HERE in content:
            first, *rest = content.split(HERE)
            for tail in rest:
                span = next(spans, None)
                if span is None:
                    raise Unsupported(
                        f"stage '{stage}' has more marks U+FFFC in its messages than traces to insert"
                    )
                first += span.text + tail
            content = first
        filled.append({**message, "content": content})
    return filled
