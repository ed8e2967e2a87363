"""The short way for policies of one call in front of an HTTP server: the request goes through, little is touched.

The body is read once (for the checks every request gets) and sent on with the cap, the thinking switch and the
model's own name, through the client the engines use; the answer is looked at in passing and handed on.

    relay = Relay(client, "/v1", "qwen3-8b", "small", switches, metrics, temperature=0.0)
    body, about = await relay.whole(call, choice, cap, (), visit)
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from thinkcap.core.errors import EngineError, EngineGarbled, EngineUnreachable
from thinkcap.core.turn_rules import ANY_ORDER, TurnRules
from thinkcap.core.types import Mode
from thinkcap.engines.answers import CUT, REPETITION, ChatAnswer, Usage, decoded, read_answer
from thinkcap.engines.client import Client
from thinkcap.gateway import replies
from thinkcap.gateway.answering.inspector import StreamError, StreamInspector, cut, known_finish, renamed
from thinkcap.gateway.call import KNOBS, Call
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.telemetry.metrics import Metrics, SpentPass
from thinkcap.gateway.telemetry.visit import Visit

_READY_S = 2.0
_OURS = b'"thinkcap"'
_TAKEN = frozenset(("thinkcap", "max_completion_tokens", *KNOBS))
"""Fields of a request that are obeyed here."""


class Relay:
    """One server. The client is the relay's to close."""

    def __init__(
        self,
        client: Client,
        prefix: str,
        model: str,
        name: str,
        switches: Mapping[Mode, Mapping[str, Any]],
        metrics: Metrics,
        temperature: float,
        turn_rules: TurnRules = ANY_ORDER,
    ) -> None:
        self._client = client
        self._path = f"{prefix}/chat/completions"
        self._completions = f"{prefix}/completions"
        self._root = prefix.removesuffix("/v1")
        self._models = f"{prefix}/models"
        self._model = model
        self._name = name
        self._switches = switches
        self._metrics = metrics
        self._temperature = temperature
        self._turn_rules = turn_rules

    async def aclose(self) -> None:
        await self._client.aclose()

    async def whole(
        self, call: Call, choice: Choice, cap: int, fields: Sequence[str], visit: Visit
    ) -> tuple[bytes, Mapping[str, Any]]:
        """The server's answer, and what is told about it."""
        raw, answer = await self._client.send(self._path, self._body(call, choice, cap), self._read)
        one = answer.choices[0]
        tokens = answer.usage.completion_tokens if answer.usage else None
        finish = str(one.finish_reason)
        if finish == REPETITION:
            raw = known_finish(raw)
        if tokens is not None and tokens > cap:
            finish, body = "length", cut(decoded(raw), tokens, cap)
            raw, one = replies.encode(body), msgspec.convert(body, ChatAnswer).choices[0]
        about = self._about(call, choice, cap, finish, answer.usage, one.text.content or "", visit)
        if not one.text.answers:
            raise replies.no_answer(finish == "length", cap)
        if fields:
            raw = replies.encode(renamed(decoded(raw), fields))
        return raw, about

    async def streamed(
        self, call: Call, choice: Choice, cap: int, fields: Sequence[str], visit: Visit
    ) -> AsyncIterator[bytes]:
        """Events as they come; the first yield holds the first that shows anything."""
        state, last = StreamInspector(call, fields, cap), b""
        body = self._body(call, choice, cap)
        events = self._client.events(self._path, body, lambda: state.begun, lambda: state.finish is not None)
        async with aclosing(events) as batches:
            try:
                async for batch in batches:
                    out = state.take(batch)
                    if state.finish is not None:
                        # The end of the stream is right behind: one write for all of it.
                        last += out
                    elif out:
                        yield out
                    if state.over:
                        break
            except StreamError as err:
                raise self._client.refused_inside(self._path, err.error) from err
            except ValueError as err:
                raise EngineGarbled(f"the model server sent a stream that does not fit: {err}") from err
        if state.finish is None:
            raise EngineUnreachable("the model server stopped in the middle of an answer")
        usage = state.usage
        if state.over and usage is None:
            usage = Usage(completion_tokens=max(state.shown, cap + 1))
        about = self._about(call, choice, cap, state.finish, usage, state.content, visit)
        if not state.answers:
            raise replies.no_answer(state.finish == "length", cap)
        yield last + state.end(about)

    @staticmethod
    def _read(raw: bytes) -> tuple[bytes, ChatAnswer]:
        """The answer, and bytes that any client can read: fields nobody here looks at may hold no text."""
        answer = read_answer(raw)
        if raw.isascii() and _OURS not in raw:
            return raw, answer
        # Behind another gateway there is one field of that name, not two.
        return replies.encode({k: v for k, v in decoded(raw).items() if k != "thinkcap"}), answer

    def _body(self, call: Call, choice: Choice, cap: int) -> bytes:
        assert call.raw is not None
        body = {k: v for k, v in call.raw.items() if v is not None and k not in _TAKEN}
        body["model"] = self._model
        body["messages"] = self._turn_rules.merge(call.messages)
        body["max_tokens"] = cap
        body.setdefault("temperature", self._temperature)
        mode: Mode = "think" if choice.spec.name == "think" else "nothink"
        switches = self._switches[mode]
        body.update(switches)
        body.update(choice.budget)
        if "chat_template_kwargs" in switches:
            body["chat_template_kwargs"] = {**call.template_kwargs, **switches["chat_template_kwargs"]}
        if call.stream:
            body["stream_options"] = {"include_usage": True}
        return replies.encode(body)

    def _about(
        self,
        call: Call,
        choice: Choice,
        cap: int,
        finish: str,
        usage: Usage | None,
        content: str,
        visit: Visit,
    ) -> dict[str, Any]:
        tokens = usage.completion_tokens if usage else None
        thought = (usage.reasoning_tokens or 0) if usage else 0
        stage = stage_of(choice)
        about: dict[str, Any] = {
            **replies.decided(call, choice, cap),
            "tokens": tokens,
            "stages": [
                {
                    "stage": stage,
                    "budget": cap,
                    "tokens": tokens,
                    "reasoning_tokens": thought,
                    "forced_tokens": 0,
                    "ended": finish not in CUT,
                    **({"repeats": True} if finish == REPETITION else {}),
                }
            ],
            "answered_by": stage,
            "complete": finish not in CUT,
            "fallback": False,
        }
        prompt = (usage.prompt_tokens or 0) if usage else 0
        visit.relayed(
            SpentPass(stage, cap, tokens or 0, thought, prompt, 0, finish not in CUT, visit.pass_s), finish
        )
        if tokens is not None:
            if tokens > cap:
                about["over_cap"] = tokens - cap
                self._metrics.upstream_error(self._name, "cap_not_held")
        else:
            about["tokens_source"] = "unknown"
        if finish == "length":
            self._metrics.cut(self._name, choice.spec.name)
        if call.format:
            about["json_complete"] = replies.is_json(content)
        return about

    async def forward(self, path: str, body: bytes, content_type: str) -> tuple[int, str, bytes]:
        """Another of OpenAI's paths, as it is. Status, content type and body come back."""
        return await self._client.forward(self._root + path, body, content_type)

    async def completed(self, body: Mapping[str, Any]) -> bytes:
        """A raw completion, whole; an answer that is no JSON object is asked for again."""
        return await self._client.send(self._completions, self._named(body), _object)

    async def completing(self, body: Mapping[str, Any]) -> AsyncGenerator[bytes, None]:
        """The same as events; the first may fail as a plain error."""
        begun = False
        async with aclosing(self._client.events(self._completions, self._named(body), lambda: begun)) as batches:
            async for batch in batches:
                begun = True
                yield b"".join(b"data: " + data + b"\n\n" for data in batch)

    async def count_tokens(self, text: str) -> int:
        """Of a raw prompt, at a server that takes token ids."""
        # Each of the two kinds reads its own field and ignores the other.
        body = {"model": self._model, "content": text, "prompt": text, "add_special": True}
        return await self._client.post(f"{self._root}/tokenize", body, lambda found: len(found["tokens"]))

    def _named(self, body: Mapping[str, Any]) -> bytes:
        return replies.encode({**body, "model": self._model})

    async def takes_tools(self) -> bool:
        """llama-server drops tools without a word where its template has no place for them, and says so here."""
        try:
            found: Any = await self._client.get(f"{self._root}/props", within_s=_READY_S)
        except EngineError:
            return True
        caps = found.get("chat_template_caps") if isinstance(found, dict) else None
        return not isinstance(caps, dict) or caps.get("supports_tools") is not False

    async def ready(self) -> bool:
        """A server that refuses the question is there all the same."""
        try:
            await self._client.get(self._models, within_s=_READY_S)
        except EngineError as err:
            return getattr(err, "status", 500) < 500
        return True


def stage_of(choice: Choice) -> str:
    """What the one pass is called."""
    return "think" if choice.spec.name == "think" else "answer"


def _object(raw: bytes) -> bytes:
    if not isinstance(msgspec.json.decode(raw), dict):
        raise ValueError("wanted a JSON object")
    return raw
