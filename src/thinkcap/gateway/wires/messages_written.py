"""Anthropic's messages as they are written: a whole message, or blocks that open, grow and stop.

encoder = MessagesEncoder(call, fields=("thinking",))
encoder.open(0) + encoder.thought(0, "so ...") + encoder.content(0, "It is 42.")
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from thinkcap.gateway.call import Call
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.replies import Finished, encode, usage

_SIGNATURE = "thinkcap"
"""Clients send a thought back with the signature it came with; nobody here checks it."""
NO_THREADS = "thread_unsupported_request"
"""By this word clients that would leave a conversation with the server learn to send it whole."""
_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


def error_body(err: Refusal) -> bytes:
    return encode(_error(err))


def error_event(err: Refusal, sent: int) -> bytes:
    return _event("error", _error(err))


def _error(err: Refusal) -> dict[str, Any]:
    kind = _KINDS.get(err.status, "api_error" if err.status >= 500 else "invalid_request_error")
    words = err.message.encode("utf-8", "replace").decode()
    error: dict[str, Any] = {"type": kind, "message": words, "code": err.code, "param": err.param}
    if err.code == NO_THREADS:
        error["details"] = {"error_code": err.code, "unsupported": [err.param]}
    return {"type": "error", "error": error, "request_id": err.request_id or None}


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + encode(data) + b"\n\n"


class MessagesEncoder:
    """Writes one message; there is one choice only on this wire."""

    def __init__(self, call: Call, fields: Sequence[str]) -> None:
        self._identity = "msg_" + secrets.token_hex(12)
        self._model = call.model
        self._thinks = bool(fields)
        self._prompt_tokens = call.prompt_tokens
        self._block = -1
        self._kind = ""

    def whole(self, done: Sequence[Finished], about: Mapping[str, Any]) -> bytes:
        (one,) = done
        content: list[dict[str, Any]] = []
        if one.reasoning and self._thinks:
            content.append({"type": "thinking", "thinking": one.reasoning, "signature": _SIGNATURE})
        if one.content:
            content.append({"type": "text", "text": one.content})
        content += [_tool_use(call) for call in one.tool_calls]
        spent = _usage(done)
        return encode({**self._message(content, spent), **_reason(one), "thinkcap": about})

    def open(self, index: int) -> bytes:
        message = self._message([], {"input_tokens": self._prompt_tokens, "output_tokens": 0})
        return _event("message_start", {"type": "message_start", "message": message})

    def content(self, index: int, text: str) -> bytes:
        begun = self._begin("text", {"type": "text", "text": ""})
        return begun + self._delta({"type": "text_delta", "text": text})

    def thought(self, index: int, text: str) -> bytes:
        if not self._thinks:
            return b""
        begun = self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        return begun + self._delta({"type": "thinking_delta", "thinking": text})

    def end(self, one: Finished, about: Mapping[str, Any] | None) -> bytes:
        out = self._stop()
        for call in one.tool_calls:
            block = _tool_use(call)
            written = encode(block["input"]).decode()
            out += self._begin("tool_use", {**block, "input": {}})
            out += self._delta({"type": "input_json_delta", "partial_json": written}) + self._stop()
        data = {"type": "message_delta", "delta": _reason(one), "usage": _usage([one])}
        return out + _event("message_delta", data if about is None else {**data, "thinkcap": about})

    def last(self, done: Sequence[Finished], with_usage: bool) -> bytes:
        return _event("message_stop", {"type": "message_stop"})

    def _message(self, content: Sequence[Any], spent: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": self._identity,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": spent,
        }

    def _begin(self, kind: str, block: Mapping[str, Any]) -> bytes:
        """Blocks follow one another; a piece of another kind ends the one before."""
        if self._kind == kind:
            return b""
        before = self._stop()
        self._kind = kind
        self._block += 1
        start = {"type": "content_block_start", "index": self._block, "content_block": block}
        return before + _event("content_block_start", start)

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        data = {"type": "content_block_delta", "index": self._block, "delta": delta}
        return _event("content_block_delta", data)

    def _stop(self) -> bytes:
        kind, self._kind = self._kind, ""
        if not kind:
            return b""
        signed = self._delta({"type": "signature_delta", "signature": _SIGNATURE}) if kind == "thinking" else b""
        return signed + _event("content_block_stop", {"type": "content_block_stop", "index": self._block})


def _reason(one: Finished) -> dict[str, Any]:
    if one.stop_word and one.finish == "stop":
        return {"stop_reason": "stop_sequence", "stop_sequence": one.stop_word}
    reason = {"length": "max_tokens", "tool_calls": "tool_use"}.get(one.finish, "end_turn")
    return {"stop_reason": reason, "stop_sequence": None}


def _tool_use(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        given = msgspec.json.decode(function["arguments"] or "{}")
    except (ValueError, RecursionError):
        # A call cut by the cap: the client sees what there is, and stop_reason says why.
        given = {"_incomplete": function["arguments"]}
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": given}


def _usage(done: Sequence[Finished]) -> dict[str, Any]:
    spent = usage(done)
    return {
        "input_tokens": spent["prompt_tokens"],
        "output_tokens": spent["completion_tokens"],
        "output_tokens_details": {"thinking_tokens": spent["completion_tokens_details"]["reasoning_tokens"]},
    }
