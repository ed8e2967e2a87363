"""A model server that speaks OpenAI's chat protocol, thinks unless told not to, and misbehaves on cue.

One word is one token. The last user message may name a fault: `fault:kill`, `fault:stall` and so on. Faults in
`server.faults` are used up one a request, so that a retry meets a healthy server.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from typing import Any

THOUGHT = [f"thought{i}" for i in range(14)]
ANSWER = ["the", "answer", "is", "42", "."]


class Stub:
    def __init__(
        self,
        field: str = "reasoning_content",
        delay_s: float = 0.0,
        usage: bool = True,
        thought: int = len(THOUGHT),
        lies: tuple[str, ...] = (),
        images: bool = True,
    ) -> None:
        """`lies`: switch (thinks all the same), limit (writes on), budget (ignores it)."""
        self.thought = thought
        self.lies = lies
        self.images = images
        self.field = field
        self.delay_s = delay_s
        self.usage = usage
        self.gate: threading.Event | None = None
        """Answers asked for while it is there stop in the middle until it is set."""
        self.stalled = False
        """Takes whatever it is asked and says nothing to anybody."""
        self.faults: deque[str] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.active = 0
        self.cancelled = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if self.stalled:
            while (await receive())["type"] != "http.disconnect":
                pass
        elif scope["path"] == "/v1/models":
            await _json(send, {"data": [{"id": "stub", "object": "model"}]})
        elif scope["path"] == "/v1/embeddings":
            await _json(send, {"object": "list", "data": [{"embedding": [0.5], "index": 0}]})
        elif scope["path"] == "/v1/completions":
            await self._completion(json.loads(await _body(receive)), send)
        elif scope["path"] == "/v1/chat/completions":
            await self._chat(json.loads(await _body(receive)), receive, send)
        else:
            await _json(send, {"error": {"message": "no such path"}}, 404)

    async def _completion(self, body: dict[str, Any], send: Any) -> None:
        self.bodies.append(body)
        limit = 100 if "limit" in self.lies else body["max_tokens"]
        words = (ANSWER * 20)[:limit]
        chunks: list[dict[str, Any]] = [
            {"object": "text_completion", "choices": [{"index": 0, "text": word + " "}]} for word in words
        ]
        if body.get("stream"):
            options = body.get("stream_options")
            if isinstance(options, dict) and options.get("include_usage"):
                chunks.append(
                    {"object": "text_completion", "choices": [], "usage": {"completion_tokens": len(words)}}
                )
            events = [json.dumps(chunk).encode() for chunk in chunks] + [b"[DONE]"]
            await _raw(send, b"".join(b"data: " + e + b"\n\n" for e in events), b"text/event-stream")
            return
        usage = {"prompt_tokens": 3, "completion_tokens": len(words), "total_tokens": 3 + len(words)}
        choice = {"index": 0, "text": " ".join(words), "finish_reason": "length"}
        await _json(
            send, {"id": "c", "object": "text_completion", "model": "stub", "choices": [choice], "usage": usage}
        )

    async def _chat(self, body: dict[str, Any], receive: Any, send: Any) -> None:
        gate = self.gate
        self.bodies.append(body)
        content = body["messages"][-1].get("content")
        said = content if isinstance(content, str) else ""
        if "image_url" in json.dumps(body["messages"]) and not self.images:
            # llama-server's words and status.
            await _json(send, {"error": {"message": "image input is not supported - hint: mmproj"}}, 500)
            return
        fault = self.faults.popleft() if self.faults else ""
        if said.startswith("fault:"):
            fault = said.removeprefix("fault:")
        thinks = body.get("chat_template_kwargs", {}).get("enable_thinking", True)
        length = self.thought if "budget" in self.lies else body.get("thinking_token_budget", self.thought)
        thoughts = [f"thought{i}" for i in range(min(self.thought, length))]
        words = [("thought", w) for w in thoughts] if thinks or "switch" in self.lies else []
        words += [("answer", w) for w in ANSWER] if "say nothing" not in said else []
        limit = 10**6 if fault == "over" or "limit" in self.lies else body.get("max_tokens", 10**6)
        kept, finish = words[:limit], "stop" if len(words) < limit else "length"
        self.active += 1
        try:
            work = self._stream if body.get("stream") else self._whole
            task = asyncio.ensure_future(work(body, kept, finish, fault, send, gate))
            gone = asyncio.ensure_future(receive())
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self.cancelled += 1
                task.cancel()
            gone.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)
        finally:
            self.active -= 1

    def _usage(self, kept: list[tuple[str, str]], finish: str) -> dict[str, Any]:
        thought = sum(channel == "thought" for channel, _ in kept)
        spent = len(kept) + (finish == "stop")
        return {
            "prompt_tokens": 7,
            "completion_tokens": spent,
            "total_tokens": 7 + spent,
            "completion_tokens_details": {"reasoning_tokens": thought},
        }

    async def _whole(
        self, body: Any, kept: Any, finish: str, fault: str, send: Any, gate: threading.Event | None
    ) -> None:
        if fault == "stall":
            await asyncio.sleep(3600)
        if fault == "500":
            await _json(send, {"error": {"message": "out of memory"}}, 500)
            return
        if fault == "429":
            await _json(send, {"error": {"message": "busy"}}, 429, [(b"retry-after", b"7")])
            return
        if fault == "400":
            await _json(send, {"error": {"message": "maximum context length exceeded"}}, 400)
            return
        if fault == "kill":
            _abort(send)
            return
        if fault == "garbage":
            await _raw(send, b'{"choices": [{"message": {"content": "\xff\xfe\xed\xa0\x80"}}', b"application/json")
            return
        if fault == "html":
            await _raw(send, b"<html>busy</html>", b"text/html")
            return
        if fault == "half":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5000")]})
            await send({"type": "http.response.body", "body": b'{"choices": [', "more_body": True})
            _abort(send)
            return
        await _opened(gate)
        await asyncio.sleep(self.delay_s * len(kept))
        message: dict[str, Any] = {"role": "assistant", "content": _words(kept, "answer") or None}
        if thought := _words(kept, "thought"):
            message[self.field] = thought
        if body.get("tools") and body.get("tool_choice") != "none":
            message = {"role": "assistant", "content": None, "tool_calls": [_call(body)]}
            finish = "tool_calls"
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
        if body.get("logprobs"):
            choice["logprobs"] = _odds([word for channel, word in kept if channel == "answer"], body)
        reply = {
            "id": "up-1",
            "object": "chat.completion",
            "created": 1,
            "model": "stub",
            "choices": [choice],
        }
        if self.usage:
            reply["usage"] = self._usage(kept, finish)
        await _json(send, reply)

    async def _stream(
        self, body: Any, kept: Any, finish: str, fault: str, send: Any, gate: threading.Event | None
    ) -> None:
        if fault in ("500", "429", "400", "html") or fault == "kill":
            await self._whole(body, kept, finish, fault, send, gate)
            return
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
        )

        async def put(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        await put(_event({"role": "assistant", "content": ""}))
        middle = max(1, len(kept) // 2)
        for at, (channel, word) in enumerate(kept):
            if at == middle:
                await _opened(gate)
                await self._break(fault, put)
                if fault in ("reset", "half"):
                    _abort(send)
                    return
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            text = word + " "
            odds = _odds([word], body) if body.get("logprobs") and channel == "answer" else None
            await put(_event({"content" if channel == "answer" else self.field: text}, odds=odds))
        if body.get("tools") and body.get("tool_choice") != "none":
            finish = "tool_calls"
            await put(_event({"tool_calls": [{"index": 0, **_call(body)}]}))
        if fault == "nofinish":
            await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
            return
        await put(_event({}, finish))
        if self.usage and body.get("stream_options", {}).get("include_usage"):
            chunk = {"id": "up-1", "model": "stub", "choices": [], "usage": self._usage(kept, finish)}
            await put(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})

    async def _break(self, fault: str, put: Any) -> None:
        if fault == "stall":
            await asyncio.sleep(3600)
        if fault == "half":
            await put(b'data: {"id": "up-1", "choices": [{"index": 0, "delta": {"content": "hal')
        if fault == "garbage":
            await put(b'data: {"choices": [{"delta": {"content": "\xff\xfe"}}]}\n\n')
        if fault == "badjson":
            await put(b"data: {not json}\n\n")
        if fault == "error":
            await put(b'data: {"error": {"message": "slot lost", "code": 500}}\n\n')
        if fault == "null":
            await put(b"data: null\n\n")
        if fault == "types":
            await put(b'data: {"choices": [{"delta": {"content": 5}}]}\n\n')
        if fault == "comments":
            await put(b": ping\r\n\r\nevent: ping\r\ndata: \r\n\r\n")
        if fault == "surrogate":
            await put(b'data: {"choices": [{"delta": {"content": "\\ud800 "}}]}\n\n')
        if fault == "deep":
            await put(b"data: " + b"[" * 100_000 + b"\n\n")
        if fault == "endless":
            for _ in range(40):
                await put(b"data: " + b"x" * 65536)


async def _opened(gate: threading.Event | None) -> None:
    while gate and not gate.is_set():  # noqa: ASYNC110 - set from another thread
        await asyncio.sleep(0.01)


async def _body(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


def _abort(send: Any) -> None:
    """A reset in the middle: uvicorn's own transport, since ASGI has no word for it."""
    send.__self__.transport.abort()


def _words(kept: Any, channel: str) -> str:
    return " ".join(word for c, word in kept if c == channel)


def _call(body: Any) -> dict[str, Any]:
    name = body["tools"][0]["function"]["name"]
    return {"id": "call-1", "type": "function", "function": {"name": name, "arguments": '{"city": "Oslo"}'}}


def _odds(words: list[str], body: Any) -> dict[str, Any]:
    others = [{"token": "x", "logprob": -9.0, "bytes": [120]}] * body.get("top_logprobs", 0)
    return {
        "content": [
            {"token": word, "logprob": -0.25, "bytes": list(word.encode()), "top_logprobs": others}
            for word in words
        ]
    }


def _event(delta: dict[str, Any], finish: str | None = None, odds: Any = None) -> bytes:
    chunk = {
        "id": "up-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "stub",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": odds}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def _json(send: Any, body: Any, status: int = 200, headers: Any = ()) -> None:
    await _raw(send, json.dumps(body).encode(), b"application/json", status, headers)


async def _raw(send: Any, body: bytes, kind: bytes, status: int = 200, headers: Any = ()) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), *headers]})
    await send({"type": "http.response.body", "body": body})
