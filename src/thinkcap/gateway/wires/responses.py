"""OpenAI's responses, stateless: what clients send, told as a chat; nothing is stored, so nothing is gone on from.

call = read(b'{"model": "m", "input": "Hi", "max_output_tokens": 64}')
call.cap                                                                               # 64
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from thinkcap.gateway.call import Call, Wishes
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.replies import Wire
from thinkcap.gateway.wires.chat import Count, call_of
from thinkcap.gateway.wires.knobs import Reasoning, wished
from thinkcap.gateway.wires.reading import read_as, refused
from thinkcap.gateway.wires.responses_written import ResponsesEncoder, error_body, error_event

PATH = "/v1/responses"
ABSENT = {
    "previous_response_id": "nothing is stored; send the whole conversation as input",
    "conversation": "nothing is stored; send the whole conversation as input",
    "prompt": "there are no stored prompts; send instructions and input",
    "background": "answers are given at once; leave it out, or use streaming",
    "context_management": "the conversation is answered as it is; shorten it yourself",
    "moderation": "nothing is moderated here",
}
_ECHOED = ("instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "reasoning", "temperature")
_ECHOED_TOO = ("text", "tool_choice", "tools", "top_p", "user")
_HANDED_ON = ("temperature", "top_p", "parallel_tool_calls", "thinkcap", "user", "metadata", "service_tier")
_HANDED_ON_TOO = ("safety_identifier", "prompt_cache_key")


class InputPart(Struct):
    type: Literal["input_text", "output_text", "text", "input_image", "refusal", "reasoning_text", "summary_text"]
    text: str = ""
    image_url: str | None = None
    detail: str | None = None
    refusal: str = ""


class InputItem(Struct):
    """One item of the conversation; which fields it needs depends on its type."""

    type: Literal["message", "function_call", "function_call_output", "reasoning"] = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[InputPart] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | list[InputPart] | None = None


class TextFormat(Struct):
    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None
    description: str | None = None


class TextOptions(Struct, forbid_unknown_fields=True):
    format: TextFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ResponsesTool(Struct):
    type: str
    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ResponsesStreamOptions(Struct, forbid_unknown_fields=True):
    include_obfuscation: bool | None = None


class ResponsesRequest(Struct):
    model: str
    input: str | Annotated[list[InputItem], Meta(min_length=1)]
    instructions: str | None = None
    max_output_tokens: Count | None = None
    stream: bool | None = None
    stream_options: ResponsesStreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    include: list[Literal["reasoning.encrypted_content", "message.output_text.logprobs"]] | None = None
    reasoning: Reasoning | None = None
    text: TextOptions | None = None
    tools: list[ResponsesTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: Count | None = None
    truncation: Literal["auto", "disabled"] | None = None
    store: bool | None = None
    metadata: dict[str, Any] | None = None
    client_metadata: dict[str, Any] | None = None
    user: str | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    previous_response_id: str | None = None
    conversation: Any = None
    prompt: Any = None
    background: bool | None = None
    context_management: list[Any] | None = None
    moderation: Any = None
    thinkcap: Wishes | None = None


def read(body: bytes, forward_unknown: bool = False) -> Call:
    raw, asked, unknown = read_as(ResponsesRequest, body, forward_unknown)
    refused(raw, ABSENT)
    if asked.truncation == "auto":
        raise Refusal(
            "'truncation' of auto is not offered here: conversations are never shortened; do it yourself",
            code="unsupported",
            param="truncation",
        )
    chat: dict[str, Any] = {"model": asked.model, "messages": _messages(asked), "stream": bool(asked.stream)}
    if asked.max_output_tokens is not None:
        chat["max_tokens"] = asked.max_output_tokens
    chat |= {name: raw[name] for name in _HANDED_ON + _HANDED_ON_TOO if raw.get(name) is not None}
    tools = [tool for tool in asked.tools or () if tool.type == "function"]
    if tools:
        chat["tools"] = [_tool(tool) for tool in tools]
    if asked.tool_choice is not None:
        chat["tool_choice"] = _tool_choice(asked.tool_choice)
    if asked.top_logprobs or "message.output_text.logprobs" in (asked.include or ()):
        chat |= {"logprobs": True, "top_logprobs": asked.top_logprobs or 0}
    chat |= _text(asked.text)
    more = {name: raw[name] for name in unknown}
    wish = wished(asked.reasoning, None)
    call = call_of(chat | more, len(body))
    return replace(
        call,
        unknown=more,
        usage_wanted=True,
        ignored=(
            *(f"tool {tool.type[:80]}" for tool in asked.tools or () if tool.type != "function"),
            *(("max_tool_calls",) if asked.max_tool_calls else ()),
        ),
        nothink=wish.off,
        thought=wish.tokens,
        effort=wish.effort,
        hides_thought=wish.hidden,
        echo={name: raw[name] for name in _ECHOED + _ECHOED_TOO if raw.get(name) is not None},
    )


def _messages(asked: ResponsesRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if asked.instructions:
        found.append({"role": "system", "content": asked.instructions})
    if isinstance(asked.input, str):
        return [*found, {"role": "user", "content": asked.input}]
    thought = ""
    for at, item in enumerate(asked.input):
        if item.type == "reasoning":
            thought = _joined(item.content)
            continue
        if item.type == "function_call_output":
            found.append(_returned(item, at))
            continue
        told = _called(item, at) if item.type == "function_call" else _said(item, at)
        if told["role"] == "assistant":
            # A turn's thought, words and calls are items of their own here and one message in a chat.
            if thought:
                told["reasoning_content"], thought = thought, ""
            if found and found[-1]["role"] == "assistant" and "tool_calls" in told:
                found[-1].setdefault("tool_calls", []).extend(told["tool_calls"])
                if more := told.get("reasoning_content"):
                    found[-1]["reasoning_content"] = found[-1].get("reasoning_content", "") + more
                continue
        found.append(told)
    return found


def _said(item: InputItem, at: int) -> dict[str, Any]:
    if item.role is None or item.content is None:
        raise Refusal(
            f"input[{at}] is a message without role or content", code="invalid_value", param=f"input[{at}]"
        )
    if isinstance(item.content, str):
        return {"role": item.role, "content": item.content}
    parts = [_part(part) for part in item.content]
    if all(part["type"] == "text" for part in parts):
        return {"role": item.role, "content": "".join(part["text"] for part in parts)}
    return {"role": item.role, "content": parts}


def _called(item: InputItem, at: int) -> dict[str, Any]:
    if not item.call_id or not item.name:
        raise Refusal(
            f"input[{at}] is a function_call without call_id or name", code="invalid_value", param=f"input[{at}]"
        )
    function = {"name": item.name, "arguments": item.arguments or "{}"}
    call = {"id": item.call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _returned(item: InputItem, at: int) -> dict[str, Any]:
    if not item.call_id or item.output is None:
        raise Refusal(
            f"input[{at}] is a function_call_output without call_id or output",
            code="invalid_value",
            param=f"input[{at}]",
        )
    told: dict[str, Any] = {"role": "tool", "tool_call_id": item.call_id}
    if isinstance(item.output, list) and any(part.type == "input_image" for part in item.output):
        return {**told, "content": [_part(part) for part in item.output]}
    return {**told, "content": _joined(item.output)}


def _part(part: InputPart) -> dict[str, Any]:
    if part.type == "input_image":
        if not part.image_url:
            raise Refusal(
                "input_image needs an image_url; no files are stored here", code="unsupported", param="input"
            )
        return {"type": "image_url", "image_url": {"url": part.image_url}}
    return {"type": "text", "text": part.text or part.refusal}


def _joined(content: str | Sequence[InputPart] | None) -> str:
    return content if isinstance(content, str) else "".join(part.text for part in content or ())


def _text(asked: TextOptions | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if asked and asked.verbosity not in (None, "medium"):
        found["verbosity"] = asked.verbosity
    form = asked.format if asked else None
    if form is None or form.type == "text":
        return found
    if form.type == "json_object":
        return {**found, "response_format": {"type": "json_object"}}
    if form.schema is None:
        raise Refusal("text.format 'json_schema' holds no schema", code="invalid_value", param="text.format")
    schema = {"name": form.name or "answer", "schema": form.schema, "strict": form.strict}
    return {**found, "response_format": {"type": "json_schema", "json_schema": schema}}


def _tool(tool: ResponsesTool) -> dict[str, Any]:
    if not tool.name:
        raise Refusal("a function in tools has no name", code="invalid_value", param="tools")
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": tool.strict,
    }
    return {"type": "function", "function": {k: v for k, v in function.items() if v is not None}}


def _tool_choice(choice: str | dict[str, Any]) -> str | dict[str, Any]:
    if isinstance(choice, str):
        return choice
    if choice.get("type") == "allowed_tools":
        some = choice.get("tools")
        named = [{"type": "function", "function": tool} for tool in some] if isinstance(some, list) else []
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.get("mode"), "tools": named}}
    if choice.get("type") != "function" or not isinstance(choice.get("name"), str):
        kind = str(choice.get("type"))[:80]
        raise Refusal(
            f"tool_choice asks for '{kind}', which does not run here; wanted none, auto, required, or a function "
            f"by name",
            code="unsupported",
            param="tool_choice",
        )
    return {"type": "function", "function": {"name": choice["name"]}}


WIRE = Wire(read, ResponsesEncoder, error_body, error_event)
