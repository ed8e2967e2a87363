"""What clients send to `/v1/chat/completions`, read once and checked, nothing dropped.

Fields OpenAI or the common servers know are typed here; a field nobody knows is refused with the nearest known
name, unless the operator lets unknown fields through to the model server.

    call = read(b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 64}')
    call.cap                                                                               # 64
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from thinkcap.core.names import nearest
from thinkcap.gateway.refusal import Refusal

Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Field = Literal["upstream", "reasoning_content", "reasoning", "both"]


class Text(Struct, tag="text", tag_field="type"):
    text: str


class ImageUrl(Struct):
    url: str
    detail: str | None = None


class Image(Struct, tag="image_url", tag_field="type"):
    image_url: ImageUrl


class Audio(Struct, tag="input_audio", tag_field="type"):
    input_audio: dict[str, Any]


class File(Struct, tag="file", tag_field="type"):
    file: dict[str, Any]


class Function(Struct):
    name: str
    arguments: str


class ToolCall(Struct):
    id: str
    function: Function
    type: Literal["function"] = "function"


class ChatMessage(Struct):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Text | Image | Audio | File] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None


class StreamOptions(Struct, forbid_unknown_fields=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class ToolFunction(Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(Struct):
    function: ToolFunction
    type: Literal["function"] = "function"


class JsonSchema(Struct):
    schema: dict[str, Any]
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(Struct):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class Wishes(Struct, forbid_unknown_fields=True):
    """The `thinkcap` field of a request."""

    policy: Annotated[str, Meta(max_length=200)] | None = None
    options: dict[str, bool | int | float | str] | None = None
    kind: Literal["number", "math", "label"] | None = None
    reasoning_field: Field | None = None
    json: Literal["direct", "drafted"] | None = None
    """How an answer under a response format is come by; None: as suits the model."""


class ChatRequest(Struct):
    model: str
    messages: Annotated[list[ChatMessage], Meta(min_length=1)]
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    n: Annotated[int, Meta(ge=1, le=64)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    seed: Whole | None = None
    stop: str | Annotated[list[str], Meta(max_length=16)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    thinkcap: Wishes | None = None


KNOWN = frozenset(ChatRequest.__struct_fields__)
WITHOUT_EFFECT = ("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key")
"""Bookkeeping of hosted services: handed on over HTTP, of no effect on an embedded model."""

_SWITCHES = ("enable_thinking", "thinking")
_NO_WISHES = Wishes()


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has been read and checked. `raw` is what came, for whoever hands it on."""

    raw: dict[str, Any]
    asked: ChatRequest
    wishes: Wishes
    cap: int | None
    stream: bool
    nothink: bool
    """The client turned thinking off in one of the ways servers know."""
    unknown: tuple[str, ...]
    size: int
    """Bytes of the body, and so more than the tokens of its messages."""

    @property
    def n(self) -> int:
        return self.asked.n or 1

    @property
    def stops(self) -> tuple[str, ...]:
        stop = self.asked.stop
        return () if not stop else (stop,) if isinstance(stop, str) else tuple(s for s in stop if s)

    @property
    def format(self) -> dict[str, Any] | None:
        wanted = self.asked.response_format
        return self.raw["response_format"] if wanted is not None and wanted.type != "text" else None

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self.raw.get("tools") or ())

    @property
    def media(self) -> bool:
        """Whether a message holds anything but text."""
        parts = (part for m in self.asked.messages if isinstance(m.content, list) for part in m.content)
        return any(not isinstance(part, Text) for part in parts)

    @property
    def usage_wanted(self) -> bool:
        options = self.asked.stream_options
        return bool(options and options.include_usage)

    def options(self) -> dict[str, Any]:
        """What else changes the answer, without values that mean the same as silence."""
        asked = self.asked
        found: dict[str, Any] = {}
        if self.stops:
            found["stop"] = list(self.stops)
        for name in ("presence_penalty", "frequency_penalty", "logit_bias"):
            if getattr(asked, name):
                found[name] = self.raw[name]
        if asked.logprobs:
            found |= {"logprobs": True, **({"top_logprobs": asked.top_logprobs} if asked.top_logprobs else {})}
        if asked.tools:
            for name in ("tool_choice", "parallel_tool_calls"):
                if self.raw.get(name) is not None:
                    found[name] = self.raw[name]
        return found

    def template_kwargs(self) -> dict[str, Any]:
        """The caller's own switches of the chat template, without the thinking switch, which is the policy's."""
        return {k: v for k, v in (self.asked.chat_template_kwargs or {}).items() if k not in _SWITCHES}


def read(body: bytes, *, forward_unknown: bool = False) -> Call:
    try:
        raw = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as err:
        raise Refusal(f"the body is not JSON: {err}", code="invalid_json") from err
    except RecursionError:
        raise Refusal("the body is nested too deeply", code="invalid_json") from None
    if not isinstance(raw, dict):
        raise Refusal(f"the body is a JSON {type(raw).__name__}; wanted an object", code="invalid_json")
    unknown = tuple(name for name in raw if name not in KNOWN)
    if unknown and not forward_unknown:
        raise Refusal(
            f"unknown field '{unknown[0][:80]}'{nearest(unknown[0][:80], KNOWN)}",
            code="unknown_field",
            param=unknown[0][:80],
        )
    try:
        asked = msgspec.convert(raw, ChatRequest)
    except msgspec.ValidationError as err:
        words, _, at = str(err).partition(" - at `$")
        param = at.rstrip("`").lstrip(".") or None
        raise Refusal(f"{words}{f' in {param}' if param else ''}", code="invalid_value", param=param) from None
    except RecursionError:
        raise Refusal("the body is nested too deeply", code="invalid_json") from None
    return _checked(raw, asked, unknown, len(body))


def _checked(raw: dict[str, Any], asked: ChatRequest, unknown: tuple[str, ...], size: int) -> Call:
    caps = [cap for cap in (asked.max_tokens, asked.max_completion_tokens) if cap is not None]
    wanted = asked.response_format
    if wanted is not None and wanted.type == "json_schema" and wanted.json_schema is None:
        raise Refusal(
            "response_format 'json_schema' holds no schema; wanted json_schema.schema",
            code="invalid_value",
            param="response_format",
        )
    if asked.top_logprobs and not asked.logprobs:
        raise Refusal("top_logprobs needs logprobs: true", code="invalid_value", param="top_logprobs")
    if asked.stream_options is not None and not asked.stream:
        raise Refusal("stream_options needs stream: true", code="invalid_value", param="stream_options")
    if asked.tool_choice not in (None, "none", "auto") and not asked.tools:
        raise Refusal("tool_choice needs tools", code="invalid_value", param="tool_choice")
    kwargs = asked.chat_template_kwargs or {}
    off = asked.reasoning_effort == "none" or any(kwargs.get(name) is False for name in _SWITCHES)
    wishes = asked.thinkcap or _NO_WISHES
    return Call(raw, asked, wishes, min(caps) if caps else None, bool(asked.stream), off, unknown, size)
