"""A scripted model server that thinks and calls tools: as llama.cpp's server, as vLLM, or as any chat server.

One character is one token. For every result it has read it makes one call more, until it has `turns` of them;
then it answers with the last result. Its thoughts are longer than any budget of the tests.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import Any, Literal

from thinkcap.engines.scripted import CLOSE, END, OPEN, decode, encode

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks something up",
        "parameters": {"type": "object", "properties": {"step": {"type": "integer"}}, "required": ["step"]},
    },
}
THOUGHT = "I have to look this up before I can say anything about it. " * 8
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


class ToolServer:
    def __init__(
        self,
        kind: Literal["llama", "vllm", "chat"],
        turns: int = 2,
        thought: str = THOUGHT,
        step: int = 1,
        over: int = 0,
        finish: str = "length",
        context: int = 100_000,
        parses: bool = True,
    ) -> None:
        """`step` tokens come with an event; with `over` a limit is overshot, as by a speculative step."""
        self.kind, self.turns, self.thought, self.step, self.over = kind, turns, thought, step, over
        self.context, self.finish, self.parses = context, finish, parses
        """What it says when a limit ends a text."""
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.turned: list[str] = []
        """Prompts of chat and completion calls, as the model read them."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        raw = b""
        while True:
            message = await receive()
            raw += message.get("body", b"")
            if not message.get("more_body"):
                break
        body = json.loads(raw or b"{}")
        self.bodies.append((scope["path"], body))
        await self._answer(scope["path"], body, send)

    async def _answer(self, path: str, body: dict[str, Any], send: Any) -> None:
        own = {"llama": _LLAMA, "vllm": _VLLM, "chat": {}}[self.kind]
        made = {**_COMMON, **own}.get(path)
        if made is None:
            await _send(send, {"error": {"message": "no such path"}}, 404)
        else:
            await made(self, body, send)

    async def models(self, body: dict[str, Any], send: Any) -> None:
        entry: dict[str, Any] = {"id": "m"}
        if self.kind == "vllm":
            entry |= {"owned_by": "vllm", "max_model_len": self.context}
        await _send(send, {"data": [entry]})

    async def props(self, body: dict[str, Any], send: Any) -> None:
        settings = {"n_ctx": self.context}
        caps = {"supports_tools": True}
        await _send(send, {"default_generation_settings": settings, "total_slots": 4, "chat_template_caps": caps})

    async def version(self, body: dict[str, Any], send: Any) -> None:
        await _send(send, {"version": "0.0"})

    async def template(self, body: dict[str, Any], send: Any) -> None:
        await _send(send, {"prompt": _rendered(body)})

    async def tokenize(self, body: dict[str, Any], send: Any) -> None:
        text = _rendered(body) if "messages" in body else body.get("content", body.get("prompt"))
        await _send(send, {"tokens": encode(text)})

    async def detokenize(self, body: dict[str, Any], send: Any) -> None:
        text = decode(body["tokens"])
        await _send(send, {"content": text, "prompt": text})

    async def by_ids(self, body: dict[str, Any], send: Any) -> None:
        """llama.cpp's `/completion` and vLLM's `/v1/completions`."""
        prompt = decode(body["prompt"])
        limit = body.get("n_predict", body.get("max_tokens"))
        bound = body.get("grammar") or (body.get("structured_outputs") or {}).get("grammar")
        ids, stopped = self._written(prompt, limit, body.get("stop") or [], grammar=bound)
        ended = bool(ids) and ids[-1] == END
        text = decode(ids)
        for word in [stopped] if stopped else []:
            text = text.partition(word)[0]
        if self.kind == "llama":
            kind = "word" if stopped else "eos" if ended else "limit"
            last = {
                "stop_type": kind,
                "stopping_word": stopped,
                "tokens_predicted": len(ids),
                "stop": True,
                "truncated": False,
            }
            whole = {"content": text, "tokens": ids, "model": "m", **last}
            pieces = [{"content": t, "tokens": i, "stop": False} for t, i in self._pieces(ids, text)]
            events: list[Any] = [*pieces, {**whole, "content": "", "tokens": []}]
        else:
            finish = "stop" if stopped or ended else self.finish
            choice = {"finish_reason": finish, "stop_reason": stopped or None}
            whole = {"model": "m", "choices": [{"text": text, "token_ids": ids, **choice}]}
            pieces = [{"model": "m", "choices": [{"text": t, "token_ids": i}]} for t, i in self._pieces(ids, text)]
            events = [*pieces, {"model": "m", "choices": [{"text": "", "token_ids": [], **choice}]}]
        await (_events(send, events) if body.get("stream") else _send(send, whole))

    async def derender(self, body: dict[str, Any], send: Any) -> None:
        if not self.parses:
            await _send(send, {"error": {"message": "Scale-out endpoints are disabled."}}, 403)
            return
        (choice,) = body["generate_response"]["choices"]
        _, content, calls = _parsed(decode(choice["token_ids"]))
        message = {"role": "assistant", "content": content or None, "tool_calls": calls}
        await _send(send, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    async def chat(self, body: dict[str, Any], send: Any) -> None:
        prompt = _rendered(body)
        budget = body.get("thinking_token_budget") if self.kind != "llama" else None
        ids, _ = self._written(prompt, body["max_tokens"], [], budget)
        ended = bool(ids) and ids[-1] == END
        begun = prompt.rpartition("[assistant]")[2]
        thought, content, calls = _parsed(begun + decode(ids))
        message: dict[str, Any] = {"role": "assistant", "content": content or None}
        if thought:
            message["reasoning_content"] = thought
        if calls:
            message["tool_calls"] = calls
        finish = "tool_calls" if calls else "stop" if ended else self.finish
        read = len(encode(prompt))
        usage: dict[str, Any] = {
            "prompt_tokens": read,
            "completion_tokens": len(ids),
            "total_tokens": read + len(ids),
        }
        usage["completion_tokens_details"] = {"reasoning_tokens": len(encode(thought))}
        if not body.get("stream"):
            whole = {"index": 0, "message": message, "finish_reason": finish}
            head = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
            await _send(send, {**head, "choices": [whole], "usage": usage})
            return
        parts = [{name: message[name]} for name in ("reasoning_content", "content") if message.get(name)]
        parts += [{"tool_calls": [{"index": i, **call}]} for i, call in enumerate(calls)]
        events = [{"model": "m", "choices": [{"index": 0, "delta": part}]} for part in parts]
        events.append({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        await _events(send, [*events, {"model": "m", "choices": [], "usage": usage}])

    def _written(
        self, prompt: str, limit: int, stops: list[str], budget: int | None = None, grammar: str | None = None
    ) -> tuple[list[int], str]:
        """Ids of the rest of the turn under its limit, and the word that stopped it."""
        self.turned.append(prompt)
        begun = prompt.rpartition("[assistant]")[2]
        whole = self._turn(prompt, budget, grammar)
        thought = whole.partition(CLOSE)[0]
        if CLOSE in begun:
            rest = whole.partition(CLOSE)[2]
        elif begun and thought.startswith(begun.removesuffix(CLOSE)):
            rest = whole[len(begun) :]
        else:
            rest = whole
        stopped = min((w for w in stops if w in rest), key=rest.index, default="")
        ids = encode(rest[: rest.index(stopped)] + stopped) if stopped else [*encode(rest), END]
        if len(ids) > limit:
            return ids[: limit + self.over], ""
        return ids, stopped

    def _turn(self, prompt: str, budget: int | None, grammar: str | None) -> str:
        results = re.findall(r"\[tool\]([^\[]*)", prompt)
        if "[tools]" not in prompt:
            said = "Plain."
        elif grammar:
            said = self._forced(grammar, len(results))
        elif len(results) < self.turns:
            call = {"name": TOOL["function"]["name"], "arguments": {"step": len(results)}}
            said = f"<tool_call>{json.dumps(call)}</tool_call>"
        else:
            said = f"It says: {results[-1]}"
        thought = self.thought if budget is None else self.thought[:budget]
        return f"{OPEN}{thought}{CLOSE}{said}"

    def _forced(self, grammar: str, step: int) -> str:
        """A call in the form it is held to: a list of calls, or one tool's arguments."""
        arguments = {"step": step}
        name = TOOL["function"]["name"]
        if name not in grammar:
            return json.dumps(arguments)
        return json.dumps([{"name": name, "arguments" if "arguments" in grammar else "parameters": arguments}])

    def _pieces(self, ids: list[int], text: str) -> list[tuple[str, list[int]]]:
        """Several tokens an event, the text they make with the last stretch of it."""
        found, shown = [], 0
        for at in range(0, len(ids), self.step):
            some = ids[at : at + self.step]
            piece = decode(some)[: max(0, len(text) - shown)]
            shown += len(decode(some))
            found.append((piece, some))
        return found


_COMMON = {"/v1/models": ToolServer.models, "/v1/chat/completions": ToolServer.chat}
_IDS = {"/tokenize": ToolServer.tokenize, "/detokenize": ToolServer.detokenize}
_LLAMA = {
    **_IDS,
    "/props": ToolServer.props,
    "/apply-template": ToolServer.template,
    "/completion": ToolServer.by_ids,
}
_VLLM = {
    **_IDS,
    "/version": ToolServer.version,
    "/v1/completions": ToolServer.by_ids,
    "/v1/chat/completions/derender": ToolServer.derender,
}


def _rendered(body: dict[str, Any]) -> str:
    """The template: a thought stays in the prompt only behind the last thing the user said."""
    messages = list(body["messages"])
    last = messages.pop() if body.get("continue_final_message") else None
    asked = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=0)
    text = "[tools]" + ",".join(t["function"]["name"] for t in body["tools"]) if body.get("tools") else ""
    for at, message in enumerate(messages):
        text += f"[{message['role']}]"
        if message.get("reasoning_content") and at > asked:
            text += f"{OPEN}{message['reasoning_content']}{CLOSE}"
        text += message.get("content") or ""
        text += "".join(f"<call {c['function']['name']}>" for c in message.get("tool_calls") or ())
    text += "[assistant]"
    if last is not None:
        return f"{text}{OPEN}{last['reasoning_content']}{CLOSE}{last['content']}"
    thinks = body.get("chat_template_kwargs", {}).get("enable_thinking", True)
    return text if thinks else f"{text}{OPEN}{CLOSE}"


def _parsed(text: str) -> tuple[str, str, list[dict[str, Any]]]:
    thought, closed, said = text.partition(CLOSE)
    if not closed and not text.startswith(OPEN):
        thought, said = "", text
    found = [json.loads(call) for call in _CALL.findall(said)]
    calls = [
        {
            "id": f"call_{secrets.token_hex(4)}",
            "type": "function",
            "function": {**c, "arguments": json.dumps(c["arguments"])},
        }
        for c in found
    ]
    return thought.removeprefix(OPEN), _CALL.sub("", said), calls


async def _send(send: Any, found: Any, status: int = 200) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(found).encode()})


async def _events(send: Any, events: list[Any]) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    await send({"type": "http.response.body", "body": data + b"data: [DONE]\n\n"})
