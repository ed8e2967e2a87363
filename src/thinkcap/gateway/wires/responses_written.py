"""OpenAI's responses as they are written: a whole response, or items that are added, grow and are done.

encoder = ResponsesEncoder(call, fields=("reasoning",))
encoder.open(0) + encoder.thought(0, "so ...") + encoder.content(0, "It is 42.")
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from thinkcap.gateway.call import Call
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.replies import Finished, encode, usage

_PARTS = {"reasoning": "reasoning_text", "message": "output_text"}
_CAP = re.compile(r"(?<![.\w])max_tokens\b")
_PREFIXES = {"reasoning": "rs_", "message": "msg_", "function_call": "fc_"}


def error_body(err: Refusal) -> bytes:
    return encode({"error": _error(err)})


def _error(err: Refusal) -> dict[str, Any]:
    """What everybody else calls max_tokens has a name of its own on this wire."""
    error: dict[str, Any] = msgspec.json.decode(err.body())["error"]
    if err.code == "unknown_field":
        # There it stands as the caller wrote it.
        return error
    named = {name: _CAP.sub("max_output_tokens", error[name]) for name in ("message", "param") if error[name]}
    return {**error, **named}


def error_event(err: Refusal, sent: int) -> bytes:
    error = _error(err)
    flat = {name: error[name] for name in ("code", "message", "param")}
    return _event({"type": "error", **flat, "error": error, "sequence_number": sent})


def _event(data: Mapping[str, Any]) -> bytes:
    return b"event: " + str(data["type"]).encode() + b"\ndata: " + encode(data) + b"\n\n"


class ResponsesEncoder:
    """Writes one response; there is one choice only on this wire."""

    def __init__(self, call: Call, fields: Sequence[str]) -> None:
        self._thinks = bool(fields)
        self._sequence = 0
        self._items: list[dict[str, Any]] = []
        self._text = ""
        self._open = ""
        """The type of the item that grows."""
        self._top: dict[str, Any] = {
            "id": "resp_" + secrets.token_hex(12),
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": call.model,
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "metadata": {},
            "previous_response_id": None,
            "store": False,
            **call.echo,
        }

    def whole(self, done: Sequence[Finished], about: Mapping[str, Any]) -> bytes:
        (one,) = done
        items = []
        if one.reasoning and self._thinks:
            items.append(_item("reasoning", one.reasoning))
        if one.content:
            items.append(_item("message", one.content, logprobs=_odds(one)))
        items += [_called(call) for call in one.tool_calls]
        return encode(self._ended(one, items, about))

    def open(self, index: int) -> bytes:
        return self._say("response.created", response=self._top) + self._say(
            "response.in_progress", response=self._top
        )

    def content(self, index: int, text: str) -> bytes:
        begun = self._begin("message")
        self._text += text
        return begun + self._say("response.output_text.delta", **self._place(), delta=text, logprobs=[])

    def thought(self, index: int, text: str) -> bytes:
        if not self._thinks:
            return b""
        begun = self._begin("reasoning")
        self._text += text
        return begun + self._say("response.reasoning_text.delta", **self._place(), delta=text)

    def end(self, one: Finished, about: Mapping[str, Any] | None) -> bytes:
        out = self._finish(_odds(one))
        for call in one.tool_calls:
            item = _called(call)
            at = {"output_index": len(self._items), "item_id": item["id"]}
            self._items.append(item)
            begun = {**item, "status": "in_progress", "arguments": ""}
            out += self._say("response.output_item.added", output_index=at["output_index"], item=begun)
            out += self._say("response.function_call_arguments.delta", **at, delta=item["arguments"])
            said = {"name": item["name"], "arguments": item["arguments"]}
            out += self._say("response.function_call_arguments.done", **at, **said)
            out += self._say("response.output_item.done", output_index=at["output_index"], item=item)
        ended = self._ended(one, self._items, about)
        return out + self._say(f"response.{ended['status']}", response=ended)

    def last(self, done: Sequence[Finished], with_usage: bool) -> bytes:
        return b""

    def _ended(self, one: Finished, items: Sequence[Any], about: Mapping[str, Any] | None) -> dict[str, Any]:
        cut = one.finish == "length"
        if cut and items and items[-1]["type"] == "message":
            items = [*items[:-1], {**items[-1], "status": "incomplete"}]
        return {
            **self._top,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": items,
            "usage": _usage(one),
            "thinkcap": about,
        }

    def _begin(self, kind: str) -> bytes:
        """Items follow one another; a piece of another kind ends the one before."""
        if self._open == kind:
            return b""
        before = self._finish([])
        self._open, self._text = kind, ""
        item = _item(kind, None)
        self._items.append(item)
        added = self._say("response.output_item.added", output_index=len(self._items) - 1, item=item)
        part = _part(kind, "", [])
        return before + added + self._say("response.content_part.added", **self._place(), part=part)

    def _finish(self, odds: Sequence[Any]) -> bytes:
        kind, self._open = self._open, ""
        if not kind:
            return b""
        place = self._place()
        item = _item(kind, self._text, self._items[-1]["id"], odds)
        self._items[-1] = item
        said: dict[str, Any] = {"text": self._text, **({"logprobs": odds} if kind == "message" else {})}
        return (
            self._say(f"response.{_PARTS[kind]}.done", **place, **said)
            + self._say("response.content_part.done", **place, part=item["content"][0])
            + self._say("response.output_item.done", output_index=len(self._items) - 1, item=item)
        )

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1, "content_index": 0}

    def _say(self, kind: str, **data: Any) -> bytes:
        self._sequence += 1
        return _event({"type": kind, "sequence_number": self._sequence - 1, **data})


def _item(kind: str, text: str | None, identity: str = "", logprobs: Sequence[Any] = ()) -> dict[str, Any]:
    """An item with its text; one that has only begun has none."""
    item: dict[str, Any] = {
        "id": identity or _PREFIXES[kind] + secrets.token_hex(12),
        "type": kind,
        "status": "in_progress" if text is None else "completed",
        "content": [] if text is None else [_part(kind, text, logprobs)],
    }
    return {**item, "role": "assistant"} if kind == "message" else {**item, "summary": []}


def _part(kind: str, text: str, logprobs: Sequence[Any]) -> dict[str, Any]:
    part = {"type": _PARTS[kind], "text": text}
    return {**part, "annotations": [], "logprobs": logprobs} if kind == "message" else part


def _called(call: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": _PREFIXES["function_call"] + secrets.token_hex(12),
        "type": "function_call",
        "status": "completed",
        "call_id": call["id"],
        "name": call["function"]["name"],
        "arguments": call["function"]["arguments"],
    }


def _odds(one: Finished) -> Sequence[Any]:
    return (one.logprobs or {}).get("content") or []


def _usage(one: Finished) -> dict[str, Any]:
    spent = usage([one])
    return {
        "input_tokens": spent["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": spent["completion_tokens"],
        "output_tokens_details": spent["completion_tokens_details"],
        "total_tokens": spent["total_tokens"],
    }
