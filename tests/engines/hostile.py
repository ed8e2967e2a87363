"""An OpenAI-compatible server that misbehaves on cue, for engines and whole studies.

A plan says for each generation (its number, its body) what happens: `ok`, `drop` (the connection breaks in the
middle of the answer), `429`, `500`, `malformed`, `empty` (no choices), `never` (no answer at all) or `swap`
(another model answers). One word is one token; a thought comes in its own field.

    async with Hostile(plan=lambda n, body: "429" if n == 0 else "ok") as server:
        engine = await open_engine(server.url + "#small")
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import web

Plan = Callable[[int, dict[str, Any]], str]


def well(number: int, body: dict[str, Any]) -> str:
    return "ok"


def is_canary(body: dict[str, Any]) -> bool:
    """Probes at the opening and the canary are small; a plan may leave them alone."""
    return int(body.get("max_tokens", 0)) <= 16


class Hostile:
    def __init__(
        self,
        plan: Plan = well,
        *,
        think: Callable[[str], str] = lambda question: "let me see it is clear now",
        answer: Callable[[str], str] = lambda question: "the answer is 42",
        field: str = "reasoning_content",
        model: str = "small",
        retry_after: str = "0.05",
        usage: bool = True,
        owner: str = "test",
    ) -> None:
        self.plan, self.think, self.answer = plan, think, answer
        self.field, self.model, self.retry_after, self.usage = field, model, retry_after, usage
        self.owner = owner
        self.seen: Counter[str] = Counter()
        """How often each behaviour was shown."""
        self.bodies: list[dict[str, Any]] = []
        self.aborted = 0
        self.key: str | None = None
        """The last Authorization header."""

    async def __aenter__(self) -> Hostile:
        app = web.Application()
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_routes(self.more())
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    def more(self) -> list[web.RouteDef]:
        """Addresses that only some servers have."""
        return []

    def thinks(self, body: dict[str, Any]) -> bool:
        return bool(body.get("chat_template_kwargs", {}).get("enable_thinking", True))

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": self.model, "owned_by": self.owner}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.key = request.headers.get("Authorization")
        behaviour = self.plan(len(self.bodies), body)
        self.bodies.append(body)
        self.seen[behaviour] += 1
        if behaviour == "429":
            return web.json_response(
                {"error": {"message": "slow down"}}, status=429, headers={"Retry-After": self.retry_after}
            )
        if behaviour == "500":
            return web.json_response({"error": {"message": f"broken; your key was {self.key}"}}, status=500)
        if behaviour == "malformed":
            return web.Response(text='{"choices": [{"message": {"content": "4', content_type="application/json")
        if behaviour == "empty":
            return web.json_response({"model": self.model, "choices": [], "usage": {"completion_tokens": 0}})
        if behaviour == "never":
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                self.aborted += 1
                raise
        return await self._reply(request, body, behaviour)

    def _words(self, body: dict[str, Any], behaviour: str) -> tuple[list[str], list[str], bool]:
        """Thought and answer as words, cut to the limit; whether the end was reached."""
        question = str(body["messages"][-1]["content"])
        thought = self.think(question).split() if self.thinks(body) else []
        answer = self.answer(question).split()
        if behaviour == "swap":
            answer = ["quite", "another", "model", *answer]
        limit = int(body["max_tokens"])
        cut = answer[: max(0, limit - len(thought))]
        # The end-of-turn token counts too.
        return thought[:limit], cut, limit > len(thought) + len(answer)

    async def _reply(self, request: web.Request, body: dict[str, Any], behaviour: str) -> web.StreamResponse:
        thought, answer, ended = self._words(body, behaviour)
        finish = "stop" if ended else "length"
        model = "large" if behaviour == "swap" else self.model
        usage = {"prompt_tokens": 7, "completion_tokens": len(thought) + len(answer) + ended}
        if not body.get("stream"):
            message = {"role": "assistant", "content": " ".join(answer), self.field: " ".join(thought) or None}
            whole = {"model": model, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}
            raw = json.dumps(whole | ({"usage": usage} if self.usage else {})).encode()
            response = web.StreamResponse(headers={"Content-Length": str(len(raw))})
            await response.prepare(request)
            await response.write(raw[: len(raw) // 2] if behaviour == "drop" else raw)
            if behaviour == "drop" and request.transport:
                request.transport.abort()
            return response
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        deltas = [{self.field: w + " "} for w in thought] + [{"content": w + " "} for w in answer]
        for number, delta in enumerate(deltas):
            if behaviour == "drop" and number >= len(deltas) // 2 and request.transport:
                request.transport.abort()
                return response
            await self._event(response, {"model": model, "choices": [{"index": 0, "delta": delta}]})
        await self._event(
            response, {"model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
        )
        if self.usage:
            await self._event(response, {"model": model, "choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        return response

    @staticmethod
    async def _event(response: web.StreamResponse, event: dict[str, Any]) -> None:
        """In two halves, cut anywhere: a reader must not depend on whole events."""
        raw = f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        middle = len(raw) // 3
        await response.write(raw[:middle])
        await asyncio.sleep(0)
        await response.write(raw[middle:])
