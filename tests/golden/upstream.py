"""A scripted model server: any chat server, vLLM, or llama.cpp's server, with the same words every time.

The last user message decides what it writes: `fail:500` and the like fail, `break:error` fails within a stream,
`long` reasons at length, `silent` writes no answer. With tools it calls the first one, then answers from the
result. A chat server counts one word as one token; the other two count one character or tag as one token.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import uvicorn

Kind = Literal["chat", "vllm", "llama"]
OPEN, CLOSE, END = "<think>", "</think>", 0
STREAM_BEGAN = threading.Event()
"""Set by the client that reads a stream, as soon as something arrived."""
_TAGS = {OPEN: 0x110001, CLOSE: 0x110002}
_TEXTS = {END: "", **{number: tag for tag, number in _TAGS.items()}}
_PIECES = re.compile(r"<think>|</think>|[\s\S]")
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_REASONING = "Forty plus two is forty-two. Let me check that: forty-two minus two is forty."
_CONTEXT = 20_000


def encode(text: str) -> list[int]:
    return [_TAGS.get(piece) or ord(piece) for piece in _PIECES.findall(text)]


def decode(ids: Sequence[int]) -> str:
    return "".join(_TEXTS[i] if i in _TEXTS else chr(i) for i in ids)


class Upstream:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        raw = b""
        more = True
        while more:
            message = await receive()
            raw += message.get("body", b"")
            more = bool(message.get("more_body"))
        body = json.loads(raw or b"{}")
        answer = {**_COMMON, **_OWN[self.kind]}.get(scope["path"])
        if answer is None:
            await _send(send, {"error": {"message": "no such path"}}, 404)
        elif not await _failed(_asked(body), bool(body.get("stream")), send):
            await answer(self, body, send)

    async def models(self, body: Any, send: Any) -> None:
        entry: dict[str, Any] = {"id": "scripted", "object": "model"}
        if self.kind == "vllm":
            entry |= {"owned_by": "vllm", "max_model_len": _CONTEXT}
        await _send(send, {"data": [entry]})

    async def props(self, body: Any, send: Any) -> None:
        can = {"supports_tools": True}
        settings = {"n_ctx": _CONTEXT}
        await _send(send, {"default_generation_settings": settings, "total_slots": 1, "chat_template_caps": can})

    async def version(self, body: Any, send: Any) -> None:
        await _send(send, {"version": "0.0"})

    async def template(self, body: Any, send: Any) -> None:
        await _send(send, {"prompt": _rendered(body)})

    async def tokenize(self, body: Any, send: Any) -> None:
        text = _rendered(body) if "messages" in body else body.get("content", body.get("prompt"))
        await _send(send, {"tokens": encode(text)})

    async def detokenize(self, body: Any, send: Any) -> None:
        text = decode(body["tokens"])
        await _send(send, {"content": text, "prompt": text})

    async def derender(self, body: Any, send: Any) -> None:
        (choice,) = body["generate_response"]["choices"]
        _, content, calls = _parsed(decode(choice["token_ids"]))
        message = {"role": "assistant", "content": content or None, "tool_calls": calls}
        await _send(send, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    async def llama_completion(self, body: Any, send: Any) -> None:
        ids, word = _limited(decode(body["prompt"]), body, body["n_predict"], bool(body.get("grammar")))
        text = decode(ids).partition(word)[0] if word else decode(ids)
        stop = "word" if word else "eos" if ids[-1:] == [END] else "limit"
        last = {"stop_type": stop, "stopping_word": word, "tokens_predicted": len(ids), "stop": True}
        last |= {"truncated": False, "model": "scripted"}
        if body.get("stream"):
            pieces = [{"content": piece, "tokens": some, "stop": False} for piece, some in _steps(ids, text)]
            await _events(send, [*pieces, {**last, "content": "", "tokens": []}])
        else:
            await _send(send, {**last, "content": text, "tokens": ids})

    async def completion(self, body: Any, send: Any) -> None:
        """vLLM's by token ids; from a chat server a legacy completion of words."""
        if self.kind == "chat":
            await _legacy(body, send)
            return
        bound = bool(body.get("structured_outputs"))
        ids, word = _limited(decode(body["prompt"]), body, body["max_tokens"], bound)
        text = decode(ids).partition(word)[0] if word else decode(ids)
        finish = {"finish_reason": "stop" if word or ids[-1:] == [END] else "length", "stop_reason": word or None}
        if body.get("stream"):
            steps = [{"text": piece, "token_ids": some} for piece, some in _steps(ids, text)]
            choices = [*steps, {"text": "", "token_ids": [], **finish}]
            await _events(send, [{"model": "scripted", "choices": [choice]} for choice in choices])
        else:
            await _send(send, {"model": "scripted", "choices": [{"text": text, "token_ids": ids, **finish}]})

    async def chat(self, body: Any, send: Any) -> None:
        begun = _rendered(body).rpartition("[assistant]")[2]
        rest = _rest(_rendered(body), body, "response_format" in body)
        words = encode(rest) if self.kind != "chat" else re.findall(r"<think>|</think>|\s*[^\s<]+|\s*<", rest)
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 10**6
        ended = len(words) < limit
        kept = words[:limit]
        text = decode(kept) if self.kind != "chat" else "".join(kept)
        reasoning, content, calls = _parsed(begun + text)
        if begun and OPEN in begun:
            reasoning = reasoning.removeprefix(begun.partition(OPEN)[2].partition(CLOSE)[0])
        count = len(words) if self.kind == "chat" else 0
        usage: dict[str, Any] = {"prompt_tokens": 7, "completion_tokens": len(kept) + ended}
        usage["total_tokens"] = 7 + usage["completion_tokens"]
        if reasoning:
            thought = len(encode(reasoning)) if not count else len(reasoning.split())
            usage["completion_tokens_details"] = {"reasoning_tokens": thought}
        finish = "tool_calls" if calls else "stop" if ended else "length"
        head = {"id": "up-1", "created": 1, "model": "scripted"}
        odds = _odds(content.split(), body) if body.get("logprobs") else None
        if not body.get("stream"):
            message: dict[str, Any] = {"role": "assistant", "content": content or None}
            message |= {"reasoning_content": reasoning} if reasoning else {}
            message |= {"tool_calls": calls} if calls else {}
            choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": odds}
            await _send(send, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": word} for word in re.findall(r"\s*\S+", reasoning)]
        deltas += [{"content": word} for word in re.findall(r"\s*\S+", content)]
        deltas += [{"tool_calls": [{"index": at, **call}]} for at, call in enumerate(calls)]
        chosen = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        for at, choice in enumerate([c for c in chosen if c["delta"].get("content")]):
            choice["logprobs"] = {"content": [odds["content"][at]]} if odds else None
        chosen.append({"index": 0, "delta": {}, "finish_reason": finish})
        events: list[dict[str, Any]] = [{"choices": [choice]} for choice in chosen]
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append({"choices": [], "usage": usage})
        broken = _asked(body).partition("break:")[2]
        events = [{**head, "object": "chat.completion.chunk", **event} for event in events]
        await _events(send, events[: len(events) // 2] if broken else events, broken)


_COMMON = {"/v1/models": Upstream.models, "/v1/chat/completions": Upstream.chat}
_IDS = {"/tokenize": Upstream.tokenize, "/detokenize": Upstream.detokenize}
_OWN: Mapping[Kind, Mapping[str, Any]] = {
    "chat": {"/v1/completions": Upstream.completion},
    "vllm": {
        **_IDS,
        "/version": Upstream.version,
        "/v1/completions": Upstream.completion,
        "/v1/chat/completions/derender": Upstream.derender,
    },
    "llama": {
        **_IDS,
        "/props": Upstream.props,
        "/apply-template": Upstream.template,
        "/completion": Upstream.llama_completion,
    },
}


def _asked(body: Mapping[str, Any]) -> str:
    """The last text of the user."""
    messages = [m for m in body.get("messages") or () if m["role"] == "user"]
    content = messages[-1]["content"] if messages else body.get("prompt", "")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content)


def _rendered(body: Mapping[str, Any]) -> str:
    """The chat template: every message with its role, then the assistant's turn."""
    messages = list(body["messages"])
    begun = _begun(messages.pop()) if messages[-1]["role"] == "assistant" else None
    text = "[tools]" if body.get("tools") and body.get("tool_choice") != "none" else ""
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, list):
            content = _asked({"messages": [message]}) if message["role"] == "user" else str(content)
        text += f"[{message['role']}]{content}"
        text += "".join(f"<call {call['function']['name']}>" for call in message.get("tool_calls") or ())
    text += "[assistant]"
    if begun is not None:
        return text + begun
    reasons = (body.get("chat_template_kwargs") or {}).get("enable_thinking", True)
    return text if reasons else f"{text}{OPEN}{CLOSE}"


def _begun(turn: Mapping[str, Any]) -> str:
    """An assistant's turn that the model continues."""
    reasoning = turn.get("reasoning_content")
    return (f"{OPEN}{reasoning}{CLOSE}" if reasoning else "") + str(turn.get("content") or "")


def _rest(prompt: str, body: Mapping[str, Any], bound: bool) -> str:
    """What the model writes after this prompt if nothing limits it."""
    head, _, begun = prompt.rpartition("[assistant]")
    asked = head.rpartition("[user]")[2]
    results = re.findall(r"\[tool\]([^\[]*)", head)
    reasoning = " ".join([_REASONING] * (6 if "long" in asked else 1))
    if "[tools]" in head and not results:
        call = {"name": "look_up", "arguments": {"step": 1}}
        grammar = str(body.get("grammar") or body.get("structured_outputs") or body.get("tool_choice") or "")
        answer = f"<tool_call>{json.dumps(call)}</tool_call>"
        if bound and grammar:
            answer = json.dumps([{"name": "look_up", "parameters": {"step": 1}}])
            answer = answer.replace("parameters", "arguments") if "arguments" in grammar else answer
            answer = answer if "look_up" in grammar else json.dumps({"step": 1})
    elif results:
        answer = f"It says: {results[-1]}"
    elif bound:
        answer = '{"sum": 42}'
    elif "silent" in asked:
        answer = ""
    else:
        answer = "The answer is 42." if not (body.get("seed") or 0) % 2 else "I get 42 for the sum."
    whole = f"{OPEN}{reasoning}{CLOSE}{answer}"
    if CLOSE in begun:
        return answer
    return whole[len(begun) :] if begun and whole.startswith(begun) else whole


def _limited(prompt: str, body: Mapping[str, Any], limit: int, bound: bool) -> tuple[list[int], str]:
    """Token ids under the limit, and the stop word that ended them."""
    rest = _rest(prompt, body, bound)
    words = [word for word in body.get("stop") or () if word in rest]
    word = min(words, key=rest.index, default="")
    ids = encode(rest[: rest.index(word)] + word) if word else [*encode(rest), END]
    return (ids[:limit], "") if len(ids) > limit else (ids, word)


def _steps(ids: Sequence[int], text: str) -> Iterator[tuple[str, list[int]]]:
    left = len(text)
    for at in ids:
        piece = decode([at])[: max(0, left)]
        left -= len(piece)
        yield piece, [at]


def _parsed(text: str) -> tuple[str, str, list[dict[str, Any]]]:
    reasoning, closed, said = text.partition(CLOSE)
    if not closed and OPEN not in text:
        reasoning, said = "", text
    found = [json.loads(call) for call in _CALL.findall(said)]
    calls = [
        {
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for at, call in enumerate(found)
    ]
    return reasoning.replace(OPEN, ""), _CALL.sub("", said), calls


def _odds(words: Sequence[str], body: Mapping[str, Any]) -> dict[str, Any]:
    others = [{"token": "x", "logprob": -9.0, "bytes": [120]}] * (body.get("top_logprobs") or 0)
    entries = [
        {"token": word, "logprob": -0.25, "bytes": list(word.encode()), "top_logprobs": others} for word in words
    ]
    return {"content": entries}


async def _legacy(body: Mapping[str, Any], send: Any) -> None:
    words = re.findall(r"\s*\S+", " and then there were more of them" * 3)[: body["max_tokens"]]
    head = {"id": "up-1", "object": "text_completion", "created": 1, "model": "scripted"}
    if body.get("stream"):
        choices: list[dict[str, Any]] = [{"index": 0, "text": word, "finish_reason": None} for word in words]
        choices[-1]["finish_reason"] = "length"
        await _events(send, [{**head, "choices": [choice]} for choice in choices])
        return
    usage = {"prompt_tokens": 3, "completion_tokens": len(words), "total_tokens": 3 + len(words)}
    choice = {"index": 0, "text": "".join(words), "finish_reason": "length"}
    await _send(send, {**head, "choices": [choice], "usage": usage})


async def _failed(asked: str, stream: bool, send: Any) -> bool:
    match asked.partition("fail:")[2]:
        case "400":
            await _send(send, {"error": {"message": "maximum context length exceeded"}}, 400)
        case "429":
            await _send(send, {"error": {"message": "busy"}}, 429)
        case "500":
            await _send(send, {"error": {"message": "out of memory"}}, 500)
        case "garbage":
            await _raw(send, b"<html>busy</html>", b"text/html")
        case _:
            return False
    return True


async def _send(send: Any, body: Any, status: int = 200) -> None:
    await _raw(send, json.dumps(body).encode(), b"application/json", status)


async def _raw(send: Any, body: bytes, kind: bytes, status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": body})


async def _events(send: Any, events: Sequence[Any], broken: str = "") -> None:
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
    )
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    ends = {"": b"data: [DONE]\n\n", "error": b'data: {"error": {"message": "slot lost", "code": 500}}\n\n'}
    await send({"type": "http.response.body", "body": b"".join(lines), "more_body": True})
    if broken:
        # The failure must come after the first event reached the client, or it would be a plain error.
        assert await asyncio.to_thread(STREAM_BEGAN.wait, 60), "no event reached the client"
    await send({"type": "http.response.body", "body": ends.get(broken, b"data: {not json}\n\n")})


@contextmanager
def running(kind: Kind) -> Iterator[str]:
    """The address of such a server, in a thread of its own."""
    config = uvicorn.Config(Upstream(kind), port=0, log_level="critical", lifespan="off", timeout_keep_alive=600)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the scripted server did not start"
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
