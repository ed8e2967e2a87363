"""Anthropic's messages: what clients send, told as a chat; and what they get back, block by block.

Whoever does not ask for thinking gets no thinking blocks; the cap's policy may think all the same.

    call = read(b'{"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "Hi"}]}')
    call.cap                                                                               # 64
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace

from thinkcap.gateway.call import Call, Wishes
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.replies import Wire, encode
from thinkcap.gateway.wires.chat import Count, call_of
from thinkcap.gateway.wires.knobs import ThinkingField, wished
from thinkcap.gateway.wires.messages_written import NO_THREADS, MessagesEncoder, error_body, error_event
from thinkcap.gateway.wires.reading import read_as, refused

PATH = "/v1/messages"
ABSENT = {
    "container": "no code runs here",
    "mcp_servers": "the gateway calls no tools itself",
    "user_profile_id": "there are no user profiles",
}


class TextBlock(Struct, tag="text", tag_field="type"):
    text: str


class ImageSource(Struct):
    type: Literal["base64", "url"]
    media_type: str = ""
    data: str = ""
    url: str = ""


class ImageBlock(Struct, tag="image", tag_field="type"):
    source: ImageSource


class DocumentSource(Struct):
    type: Literal["text", "content", "base64", "url", "file"]
    data: str = ""
    content: str | list[TextBlock | ImageBlock] = ""


class DocumentBlock(Struct, tag="document", tag_field="type"):
    source: DocumentSource
    title: str | None = None
    context: str | None = None


class ThinkingBlock(Struct, tag="thinking", tag_field="type"):
    thinking: str
    signature: str = ""


class RedactedBlock(Struct, tag="redacted_thinking", tag_field="type"):
    data: str = ""


class ToolUse(Struct, tag="tool_use", tag_field="type"):
    id: str
    name: str
    input: dict[str, Any]


class ToolResult(Struct, tag="tool_result", tag_field="type"):
    tool_use_id: str
    content: str | list[TextBlock | ImageBlock | DocumentBlock] | None = None
    is_error: bool | None = None


Block = TextBlock | ImageBlock | DocumentBlock | ThinkingBlock | RedactedBlock | ToolUse | ToolResult


class Turn(Struct):
    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


class MessagesTool(Struct):
    name: str
    input_schema: dict[str, Any] | UnsetType = UNSET
    description: str | None = None
    type: str | None = None


class ToolChoice(Struct):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class OutputFormat(Struct):
    schema: dict[str, Any]
    type: Literal["json_schema"] = "json_schema"


class OutputConfig(Struct, forbid_unknown_fields=True):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None


class CountRequest(Struct):
    model: str
    messages: Annotated[list[Turn], Meta(min_length=1)]
    system: str | list[TextBlock] | None = None
    tools: list[MessagesTool] | None = None
    tool_choice: ToolChoice | None = None
    thinking: ThinkingField | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None
    cache_control: dict[str, Any] | None = None
    context_management: dict[str, Any] | None = None
    mcp_servers: list[Any] | None = None


class MessagesRequest(CountRequest, kw_only=True):
    max_tokens: Count
    stream: bool | None = None
    stop_sequences: Annotated[list[str], Meta(max_length=16)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    metadata: dict[str, Any] | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    speed: Literal["standard"] | None = None
    container: Any = None
    user_profile_id: str | None = None
    thread: dict[str, Any] | None = None
    thinkcap: Wishes | None = field(default=None)


def read(body: bytes, forward_unknown: bool = False) -> Call:
    raw, asked, unknown = read_as(MessagesRequest, body, forward_unknown)
    refused(raw, ABSENT)
    if asked.thread:
        raise Refusal(
            "'thread' is not offered here: nothing is stored; send the whole conversation as messages",
            code=NO_THREADS,
            param="thread",
        )
    chat = _chat(asked) | {"max_tokens": asked.max_tokens, "stream": bool(asked.stream)}
    for name in ("temperature", "top_p", "top_k", "thinkcap"):
        if raw.get(name) is not None:
            chat[name] = raw[name]
    if asked.stop_sequences:
        chat["stop"] = asked.stop_sequences
    more = {name: raw[name] for name in unknown}
    wish = wished(None, asked.thinking, efforts=(asked.output_config.effort if asked.output_config else None,))
    budget = wish.tokens
    if asked.thinking and asked.thinking.type == "enabled" and budget is None:
        raise Refusal("thinking 'enabled' needs budget_tokens", code="invalid_value", param="thinking")
    if budget is not None and budget >= asked.max_tokens:
        raise Refusal(
            f"`max_tokens` must be greater than `thinking.budget_tokens`; it is {asked.max_tokens}, and a thought "
            f"of {budget} leaves no room for an answer",
            code="invalid_value",
            param="thinking.budget_tokens",
        )
    return replace(
        call_of(chat | more, len(body)),
        unknown=more,
        usage_wanted=True,
        names_stop=True,
        ignored=tuple(
            f"tool {tool.type or tool.name}"[:80] for tool in asked.tools or () if not _runs_at_client(tool)
        ),
        nothink=wish.off,
        thought=budget,
        effort=wish.effort,
        hides_thought=asked.thinking is None or wish.hidden,
    )


def read_count(body: bytes) -> Call:
    """A request whose prompt is to be counted, not answered."""
    raw, asked, _ = read_as(CountRequest, body)
    refused(raw, ABSENT)
    return call_of(_chat(asked), len(body))


def _chat(asked: CountRequest) -> dict[str, Any]:
    if asked.messages[-1].role == "assistant":
        raise Refusal(
            "the last message is the assistant's, and answers cannot be prefilled here; end with a user message",
            code="unsupported",
            param="messages",
        )
    messages = [told for message in asked.messages for told in _told(message)]
    if asked.system:
        words = asked.system if isinstance(asked.system, str) else "\n".join(b.text for b in asked.system)
        messages.insert(0, {"role": "system", "content": words})
    chat: dict[str, Any] = {"model": asked.model, "messages": messages}
    ours = [tool for tool in asked.tools or () if _runs_at_client(tool)]
    if asked.tool_choice and asked.tool_choice.type == "tool":
        _check_named(asked.tool_choice.name, asked.tools or ())
    if ours:
        chat["tools"] = [_tool(tool) for tool in ours]
        chat |= _tool_choice(asked.tool_choice)
    form = (asked.output_config and asked.output_config.format) or asked.output_format
    if form:
        schema = {"name": "answer", "schema": form.schema, "strict": True}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    return chat


def _told(message: Turn) -> Iterator[dict[str, Any]]:
    """One message as chat has it: results of tools come first, each in a message of its own."""
    if isinstance(message.content, str):
        yield {"role": message.role, "content": message.content}
        return
    said: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    for block in message.content:
        if isinstance(block, ToolResult):
            yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": _result(block)}
        elif isinstance(block, ToolUse):
            function = {"name": block.name, "arguments": encode(block.input).decode()}
            said.setdefault("tool_calls", []).append({"id": block.id, "type": "function", "function": function})
        elif isinstance(block, ThinkingBlock):
            said["reasoning_content"] = said.get("reasoning_content", "") + block.thinking
        elif not isinstance(block, RedactedBlock):
            parts += _parts(block)
    if len(parts) == 1 and parts[0]["type"] == "text":
        yield {"role": message.role, "content": parts[0]["text"], **said}
    elif parts or said:
        yield {"role": message.role, "content": parts or None, **said}


def _parts(block: TextBlock | ImageBlock | DocumentBlock) -> list[dict[str, Any]]:
    if isinstance(block, TextBlock):
        return [{"type": "text", "text": block.text}]
    if isinstance(block, DocumentBlock):
        return _document(block)
    source = block.source
    url = source.url if source.type == "url" else f"data:{source.media_type};base64,{source.data}"
    return [{"type": "image_url", "image_url": {"url": url}}]


def _document(block: DocumentBlock) -> list[dict[str, Any]]:
    """A document that is text stands in the message as it is, under its title and what is said of it."""
    source = block.source
    if source.type not in ("text", "content"):
        raise Refusal(
            f"a document of type '{source.type}' cannot be read here; send its text as a source of type text",
            code="unsupported",
            param="messages",
        )
    about = [{"type": "text", "text": f"{words}\n"} for words in (block.title, block.context) if words]
    if source.type == "text" or isinstance(source.content, str):
        words = source.data if source.type == "text" else str(source.content)
        return [*about, {"type": "text", "text": f"{words}\n"}]
    return [*about, *(part for inner in source.content for part in _parts(inner))]


def _result(block: ToolResult) -> str | list[dict[str, Any]]:
    if not isinstance(block.content, list):
        return block.content or ""
    parts = [part for inner in block.content for part in _parts(inner)]
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _runs_at_client(tool: MessagesTool) -> bool:
    return tool.type in (None, "custom") and tool.input_schema is not UNSET


def _check_named(name: str | None, tools: Sequence[MessagesTool]) -> None:
    """A tool of the server's has no effect unless it is forced: then nothing could follow."""
    for tool in tools:
        if tool.name == name and not _runs_at_client(tool):
            raise Refusal(
                f"tool '{tool.name[:80]}' of type '{tool.type}' would run on the server; only tools with an "
                f"input_schema, which the client runs, are offered here",
                code="unsupported",
                param="tool_choice",
            )


def _tool(tool: MessagesTool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": {k: v for k, v in function.items() if v is not None}}


def _tool_choice(choice: ToolChoice | None) -> dict[str, Any]:
    if choice is None:
        return {}
    named = {"type": "function", "function": {"name": choice.name or ""}}
    found: dict[str, Any] = {
        "tool_choice": {"auto": "auto", "any": "required", "none": "none", "tool": named}[choice.type]
    }
    if choice.disable_parallel_tool_use:
        found["parallel_tool_calls"] = False
    return found


WIRE = Wire(read, MessagesEncoder, error_body, error_event, counts_first=True)
