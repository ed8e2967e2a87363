"""OpenAI's chat completions: what clients send, read once and checked, nothing dropped; and what they get back.

Fields OpenAI or the common servers know are typed here; a field nobody knows is refused with the nearest known
name, unless the operator lets unknown fields through to the model server.

    call = read(b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 64}')
    call.cap                                                                               # 64
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from thinkcap.core.types import EMPTY
from thinkcap.gateway.call import KNOBS, NO_WISHES, Call, Effort, Wishes
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.replies import DONE, Finished, Wire, encode, usage
from thinkcap.gateway.wires.knobs import SILENT, Budget, Reasoning, ThinkingField, wished
from thinkcap.gateway.wires.reading import converted, read_as
from thinkcap.gateway.wires.tools import ChatTool, offered

PATH = "/v1/chat/completions"
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]


class TextPart(Struct, tag="text", tag_field="type"):
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


class RefusalPart(Struct, tag="refusal", tag_field="type"):
    """What a model once said instead of an answer: words like any others of its turn."""

    refusal: str


class Function(Struct):
    name: str
    arguments: str


class ToolCall(Struct):
    id: str
    function: Function
    type: Literal["function"] = "function"


class ChatMessage(Struct):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart | RefusalPart | Image | Audio | File] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None


class StreamOptions(Struct, forbid_unknown_fields=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class JsonSchema(Struct):
    schema: dict[str, Any]
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class ResponseFormat(Struct):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


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
    seed: Int64 | None = None
    stop: str | Annotated[list[str], Meta(max_length=16)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    tools: list[ChatTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    top_k: Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(gt=0, le=10)] | None = None
    prediction: dict[str, Any] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    reasoning_effort: Effort | None = None
    reasoning: Reasoning | None = None
    thinking: ThinkingField | None = None
    thinking_token_budget: Budget | None = None
    thinking_budget: Budget | None = None
    reasoning_budget_tokens: Budget | None = None
    enable_thinking: bool | None = None
    include_reasoning: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    modalities: list[Literal["text"]] | None = None
    thinkcap: Wishes | None = None


WITHOUT_EFFECT = frozenset(
    (
        "user",
        "metadata",
        "store",
        "service_tier",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "prompt_cache_options",
        "modalities",
    )
)
"""Bookkeeping of hosted services: handed on over HTTP, of no effect on an embedded model."""

_SILENT: Mapping[str, tuple[Any, ...]] = {
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "top_k": (0, -1),
    "min_p": (0,),
    "repetition_penalty": (1,),
    "prediction": ({},),
    "verbosity": ("medium",),
}
"""Options of the answer pass, each with the values that mean the same as silence."""

_SWITCHES = ("enable_thinking", "thinking")


def read(body: bytes, forward_unknown: bool = False) -> Call:
    raw, asked, unknown = read_as(ChatRequest, body, forward_unknown)
    return _checked(raw, asked, unknown, len(body))


def call_of(raw: dict[str, Any], size: int) -> Call:
    """Another wire's request, told as a chat: the same checks, the same call."""
    return _checked(raw, converted(ChatRequest, raw), (), size)


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
    if any(message.role == "developer" for message in asked.messages):
        # It is what system was called before. Templates of open models know it by that name, and many leave out,
        # without a word, what a role they do not know has said.
        raw = {**raw, "messages": [_as_system(message) for message in raw["messages"]]}
    ignored: tuple[str, ...] = ()
    if asked.tools or asked.tool_choice is not None:
        raw, ignored = offered(raw, asked.tools or ())
    call = _call(raw, asked, unknown, min(caps) if caps else None, size)
    return replace(call, ignored=ignored) if ignored else call


def _as_system(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "role": "system"} if message["role"] == "developer" else message


def _call(raw: dict[str, Any], asked: ChatRequest, unknown: tuple[str, ...], cap: int | None, size: int) -> Call:
    kwargs = asked.chat_template_kwargs or {}
    wanted = asked.response_format
    wish = SILENT
    if not raw.keys().isdisjoint(KNOBS):
        wish = wished(
            asked.reasoning,
            asked.thinking,
            efforts=(asked.reasoning_effort,),
            budgets=(asked.thinking_token_budget, asked.thinking_budget, asked.reasoning_budget_tokens),
            switch=asked.enable_thinking,
            shown=asked.include_reasoning,
        )
    stop = asked.stop
    stops = () if not stop else (stop,) if isinstance(stop, str) else tuple(word for word in stop if word)
    return Call(
        model=asked.model,
        messages=raw["messages"],
        cap=cap,
        wishes=asked.thinkcap or NO_WISHES,
        stream=bool(asked.stream),
        usage_wanted=bool(asked.stream_options and asked.stream_options.include_usage),
        n=asked.n or 1,
        nothink=wish.off or (bool(kwargs) and any(kwargs.get(name) is False for name in _SWITCHES)),
        thought=wish.tokens,
        effort=wish.effort,
        hides_thought=wish.hidden,
        temperature=asked.temperature,
        top_p=asked.top_p,
        seed=asked.seed,
        stops=stops,
        format=raw["response_format"] if wanted is not None and wanted.type != "text" else None,
        tools=tuple(raw.get("tools") or ()),
        options=_options(raw, asked, stops),
        bookkeeping=EMPTY if WITHOUT_EFFECT.isdisjoint(raw) else _bookkeeping(raw),
        unknown={name: raw[name] for name in unknown} if unknown else EMPTY,
        template_kwargs={k: v for k, v in kwargs.items() if k not in _SWITCHES} if kwargs else EMPTY,
        media=any(
            not isinstance(part, TextPart | RefusalPart)
            for m in asked.messages
            if isinstance(m.content, list)
            for part in m.content
        ),
        size=size,
        raw=raw,
    )


def _bookkeeping(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name in WITHOUT_EFFECT and value is not None}


def _options(raw: dict[str, Any], asked: ChatRequest, stops: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {"stop": list(stops)} if stops else {}
    for name in _SILENT.keys() & raw.keys():
        if getattr(asked, name) not in (None, *_SILENT[name]):
            found[name] = raw[name]
    if asked.logprobs:
        found |= {"logprobs": True, **({"top_logprobs": asked.top_logprobs} if asked.top_logprobs else {})}
    if raw.get("tools"):
        for name in ("tool_choice", "parallel_tool_calls"):
            if raw.get(name) is not None:
                found[name] = raw[name]
    return found


class ChatEncoder:
    """Writes one answer; the unchanging head of each event is encoded once."""

    def __init__(self, call: Call, fields: Sequence[str]) -> None:
        self._identity = "chatcmpl-" + secrets.token_hex(12)
        self._model = model = call.model
        self._names = fields
        head = {
            "id": self._identity,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._head = b"data: " + encode(head)[:-1] + b',"choices":['
        self._fields = [encode(name) for name in fields]

    def whole(self, done: Sequence[Finished], about: Mapping[str, Any]) -> bytes:
        choices = []
        for one in done:
            message: dict[str, Any] = {"role": "assistant", "content": one.content or None}
            if one.reasoning:
                message |= dict.fromkeys(self._names, one.reasoning)
            if one.tool_calls:
                message["tool_calls"] = one.tool_calls
            choices.append(
                {"index": one.index, "message": message, "logprobs": one.logprobs, "finish_reason": one.finish}
            )
        return encode(
            {
                "id": self._identity,
                "object": "chat.completion",
                "created": int(time.time()),
                "model": self._model,
                "choices": choices,
                "usage": usage(done),
                "thinkcap": about,
            }
        )

    def open(self, index: int) -> bytes:
        return self._delta(index, b'{"role":"assistant","content":""}')

    def content(self, index: int, text: str) -> bytes:
        return self._delta(index, b'{"content":' + encode(text) + b"}")

    def thought(self, index: int, text: str) -> bytes:
        if not self._fields:
            return b""
        said = encode(text)
        return self._delta(index, b"{" + b",".join(name + b":" + said for name in self._fields) + b"}")

    def end(self, one: Finished, about: Mapping[str, Any] | None) -> bytes:
        calls = b""
        if one.tool_calls:
            numbered = [{"index": i, **call} for i, call in enumerate(one.tool_calls)]
            calls = self._delta(one.index, b'{"tool_calls":' + encode(numbered) + b"}")
        more = b"" if one.logprobs is None else b',"logprobs":' + encode(one.logprobs)
        choice = b'{"index":%d,"delta":{},"finish_reason":%b%b}' % (one.index, encode(one.finish), more)
        last = b"" if about is None else b',"thinkcap":' + encode(about)
        return calls + self._head + choice + b"]" + last + b"}\n\n"

    def last(self, done: Sequence[Finished], with_usage: bool) -> bytes:
        spent = self._head + b'],"usage":' + encode(usage(done)) + b"}\n\n" if with_usage else b""
        return spent + DONE

    def _delta(self, index: int, delta: bytes) -> bytes:
        return self._head + b'{"index":%d,"delta":%b,"finish_reason":null}]}\n\n' % (index, delta)


WIRE = Wire(read, ChatEncoder, Refusal.body, lambda err, sent: err.event(), servers_own=True)
