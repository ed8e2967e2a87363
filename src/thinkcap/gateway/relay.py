"""The short way for policies of one call in front of an HTTP server: the request goes through, little is touched.

The body is read once (for the checks every request gets) and sent on with the cap, the thinking switch and the
model's own name; the answer is looked at in passing and handed on as the bytes that came.

    relay = Relay(address, key, model, switches)
    body, header = await relay.whole(call, choice, cap)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from thinkcap.core.types import Mode
from thinkcap.engines.masking import Mask, sentence
from thinkcap.gateway import replies
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.metrics import Metrics
from thinkcap.gateway.passing import Passing, Usage, garbled, read_whole, renamed
from thinkcap.gateway.refusal import UPSTREAM, Refusal, of_status
from thinkcap.gateway.upstream import Broken, Exchange, Nonsense, Upstream
from thinkcap.gateway.wire import Call

_AGAIN = frozenset({500, 502, 503, 504})
_ERROR_BYTES = 8192
_READY_S = 2.0


class _Again(Exception):
    """Failed before anybody saw a byte, in a way that may pass."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


@dataclass(frozen=True)
class Waits:
    connect_s: float
    stall_s: float
    total_s: float
    attempts: int


class Relay:
    """One server. Opened inside a running loop; as many connections as requests are let in."""

    def __init__(
        self,
        address: str,
        key: str | None,
        model: str,
        name: str,
        switches: Mapping[Mode, Mapping[str, Any]],
        waits: Waits,
        metrics: Metrics,
        temperature: float,
    ) -> None:
        path = urlsplit(address).path.rstrip("/")
        self._path = f"{path}/chat/completions"
        self._root = path.removesuffix("/v1")
        self._models = f"{path}/models"
        self._model = model
        self._name = name
        self._switches = switches
        self._waits = waits
        self._metrics = metrics
        self._temperature = temperature
        self._mask = Mask(key, address)
        self._upstream = Upstream(address, key, waits.connect_s)

    async def aclose(self) -> None:
        await self._upstream.aclose()

    async def whole(self, call: Call, choice: Choice, cap: int, fields: tuple[str, ...]) -> tuple[bytes, bytes]:
        body = self._body(call, choice, cap)
        attempt = 0
        while True:
            try:
                raw = await self._read(body)
                break
            except _Again as err:
                attempt += 1
                await self._pause(attempt, err)
        answer = read_whole(raw)
        one = answer.choices[0]
        if not one.message.answers:
            raise replies.no_answer(one.finish_reason == "length", cap)
        about = self._about(call, choice, cap, one.finish_reason, answer.usage, one.message.content or "")
        if fields:
            raw = renamed(raw, fields)
        return raw.rstrip()[:-1] + b',"thinkcap":' + replies.encode(about) + b"}", replies.header(about)

    async def streamed(
        self, call: Call, choice: Choice, cap: int, fields: tuple[str, ...]
    ) -> AsyncIterator[bytes]:
        """Events as they come; the first yield holds the first that shows anything."""
        body = self._body(call, choice, cap)
        attempt = 0
        while True:
            state = Passing(call, fields, cap, self._mask)
            try:
                async with self._upstream.ask("POST", self._path, body, self._waits.stall_s) as reply:
                    await self._check(reply, self._waits.stall_s)
                    while (piece := await reply.piece(self._waits.stall_s)) is not None:
                        if out := state.take(piece):
                            yield out
                        if state.over:
                            break
                break
            except (Broken, Nonsense, TimeoutError, _Again) as err:
                again = _named(err)
                if state.begun or not isinstance(again, _Again):
                    raise _final(again) from err
                attempt += 1
                await self._pause(attempt, again)
        if state.finish is None:
            raise Refusal(
                "the model server stopped in the middle of an answer",
                status=502,
                kind=UPSTREAM,
                code="upstream_unreachable",
            )
        if not state.answers:
            raise replies.no_answer(state.finish == "length", cap)
        about = self._about(call, choice, cap, state.finish, state.usage, state.content)
        yield state.end(about)

    def _body(self, call: Call, choice: Choice, cap: int) -> bytes:
        body = {k: v for k, v in call.raw.items() if v is not None}
        for name in ("thinkcap", "max_completion_tokens", "reasoning_effort"):
            body.pop(name, None)
        body["model"] = self._model
        body["max_tokens"] = cap
        body.setdefault("temperature", self._temperature)
        mode: Mode = "think" if choice.spec.name == "think" else "nothink"
        switches = self._switches[mode]
        body.update(switches)
        if "chat_template_kwargs" in switches:
            body["chat_template_kwargs"] = {**call.template_kwargs(), **switches["chat_template_kwargs"]}
        if call.stream:
            body["stream_options"] = {"include_usage": True}
        return replies.encode(body)

    async def _read(self, body: bytes) -> bytes:
        """A whole answer takes as long as the model writes; the request's own time limit bounds it."""
        wait_s = self._waits.total_s
        try:
            async with self._upstream.ask("POST", self._path, body, wait_s) as reply:
                await self._check(reply, wait_s)
                return await reply.read(wait_s)
        except (Broken, Nonsense, TimeoutError) as err:
            raise _named(err) from err

    async def _check(self, reply: Exchange, wait_s: float) -> None:
        """Anything but a 200 is a refusal; some are worth another try."""
        if reply.status == 200:
            return
        words = (await reply.read(wait_s, _ERROR_BYTES, cut=True)).decode("utf-8", "replace")
        found = of_status(reply.status, self._mask(sentence(words)), _seconds(reply.header(b"retry-after")))
        raise _Again(found) if reply.status in _AGAIN and found.status >= 500 else found

    async def _pause(self, attempt: int, err: _Again) -> None:
        if attempt >= self._waits.attempts:
            raise err.refusal from err
        self._metrics.retries.inc()
        await asyncio.sleep(0.05 * 2**attempt)

    def _about(
        self, call: Call, choice: Choice, cap: int, finish: str, usage: Usage | None, content: str
    ) -> dict[str, Any]:
        tokens = usage.completion_tokens if usage else None
        details = usage.completion_tokens_details if usage else None
        thought = (details.reasoning_tokens or 0) if details else 0
        stage = "think" if choice.spec.name == "think" else "answer"
        about: dict[str, Any] = {
            "policy": choice.label,
            "chosen_by": choice.by,
            "cap": cap,
            "tokens": tokens,
            "stages": [
                {
                    "stage": stage,
                    "budget": cap,
                    "tokens": tokens,
                    "reasoning_tokens": thought,
                    "forced_tokens": 0,
                    "ended": finish != "length",
                }
            ],
            "answered_by": stage,
            "complete": finish != "length",
            "fallback": False,
        }
        if tokens is not None:
            self._metrics.spent(self._name, stage, tokens, thought, usage.prompt_tokens if usage else 0)
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
        wait_s = self._waits.total_s
        try:
            async with self._upstream.ask("POST", self._root + path, body, wait_s, content_type) as reply:
                kind = reply.header(b"content-type") or "application/octet-stream"
                return reply.status, kind, await reply.read(wait_s)
        except (Broken, Nonsense, TimeoutError) as err:
            raise _final(_named(err)) from err

    async def takes_tools(self) -> bool:
        """llama-server drops tools without a word where its template has no place for them, and says so here."""
        try:
            async with self._upstream.ask("GET", f"{self._root}/props", b"", _READY_S) as reply:
                found = msgspec.json.decode(await reply.read(_READY_S)) if reply.status == 200 else None
        except (Broken, Nonsense, TimeoutError, msgspec.DecodeError, RecursionError):
            return True
        caps = found.get("chat_template_caps") if isinstance(found, dict) else None
        return not isinstance(caps, dict) or caps.get("supports_tools") is not False

    async def ready(self) -> bool:
        try:
            async with self._upstream.ask("GET", self._models, b"", _READY_S) as reply:
                await reply.read(_READY_S)
                return reply.status < 500
        except (Broken, Nonsense, TimeoutError):
            return False


def _named(err: Exception) -> Refusal | _Again:
    if isinstance(err, _Again):
        return err
    if isinstance(err, Broken):
        words = f"the connection to the model server broke {err}"
        return _Again(Refusal(words, status=502, kind=UPSTREAM, code="upstream_unreachable"))
    if isinstance(err, Nonsense):
        return garbled(f"broken HTTP ({err})")
    return Refusal("the model server did not answer in time", status=504, kind=UPSTREAM, code="upstream_timeout")


def _final(found: Refusal | _Again) -> Refusal:
    return found.refusal if isinstance(found, _Again) else found


def _seconds(retry_after: str | None) -> float | None:
    try:
        return max(0.0, float(retry_after)) if retry_after else None
    except ValueError:
        return None
