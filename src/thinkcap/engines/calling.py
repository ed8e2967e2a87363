"""Tool calls in a turn whose thought is held by token ids: the thought ends, then the call is written and parsed.

A pass that only thinks stops where its thought does. The answer pass goes on from there, and the server parses
what it writes: llama.cpp's continues the turn over chat, vLLM takes ids and parses them afterwards. A call that
the caller forces is held to its JSON by our grammar: by themselves llama.cpp's server lets any text come before
it, and vLLM's lets blanks, up to the cap.

    body = told_as_chat(request, speech)          # messages, tools, and the turn so far
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from thinkcap.core.engine import Output
from thinkcap.core.errors import EngineGarbled, EngineRefused, Unsupported
from thinkcap.core.marks import Marks
from thinkcap.core.thinking import split
from thinkcap.core.types import Request, Span
from thinkcap.engines.answers import ChatReply, Usage
from thinkcap.engines.chat import inserted
from thinkcap.engines.client import Client
from thinkcap.engines.grammar import gbnf
from thinkcap.engines.json_refs import has_refs, move_refs, pointer
from thinkcap.engines.json_schema import relaxed_form
from thinkcap.engines.speech import Speech

TOOLS = "tools"
"""Tools are an argument of the template like any other; servers want them beside the others."""
_ASKED = {"role": "user", "content": "Hi"}
_FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}
_CHOICE = ("tool_choice", "parallel_tool_calls")


async def llama_server_calls(client: Client, marks: Marks) -> bool:
    """Whether its template tells the model of tools, and a turn can be continued behind a closed thought."""
    turn = {"role": "assistant", "reasoning_content": "so", "content": ""}
    body = {"messages": [_ASKED, turn], TOOLS: [_FUNCTION], "continue_final_message": "content"}
    body["add_generation_prompt"] = False
    try:
        props = await client.get("/props", lambda j: dict(j.get("chat_template_caps") or {}))
        prompt = await client.post("/apply-template", body, lambda j: str(j["prompt"]))
    except (EngineRefused, EngineGarbled):
        return False
    _, thought, behind = prompt.rpartition("so")
    return bool(props.get("supports_tools") and thought and behind.strip() == marks.close_tag)


async def vllm_calls(client: Client, model: str, derender: str) -> bool:
    """Whether it parses calls: it refuses tools where nobody named a parser, and older ones cannot parse ids."""
    asked = {"model": model, "messages": [_ASKED], "max_tokens": 1, TOOLS: [_FUNCTION]}
    choice = {"index": 0, "token_ids": [1], "finish_reason": "stop"}
    ids = {"model": model, "chat_request": asked, "generate_response": {"request_id": "t", "choices": [choice]}}
    try:
        await client.post("/v1/chat/completions", asked, lambda j: j["choices"][0])
        await client.post(derender, ids, lambda j: j["choices"][0]["message"])
    except (EngineRefused, EngineGarbled):
        return False
    return True


def rendering(switches: Mapping[str, Any]) -> dict[str, Any]:
    """A template's arguments as servers take them."""
    arguments = {name: value for name, value in switches.items() if name != TOOLS}
    tools = {TOOLS: list(map(dict, switches[TOOLS]))} if switches.get(TOOLS) else {}
    return {"chat_template_kwargs": arguments, **tools}


def calls(request: Request) -> bool:
    """Whether the pass may end in a tool call."""
    return request.final and bool(request.question.tools)


def choice_of(request: Request) -> dict[str, Any]:
    return {name: request.question.options[name] for name in _CHOICE if name in request.question.options}


def without_choice(request: Request) -> Request:
    """The same pass without its tools, whose other wishes bind decoding as they always do."""
    options = {name: value for name, value in request.question.options.items() if name not in _CHOICE}
    return replace(request, question=replace(request.question, tools=(), options=options))


def begun(request: Request, speech: Speech) -> tuple[str, str]:
    """The turn so far: what was thought and what was said."""
    text = "".join(part.text if isinstance(part, Span) else part for part in request.prefill)
    spoken = speech.at(request.effort)
    thought, said = split(text, spoken.dialect.marks, request.mode, spoken.opens and request.mode == "think")
    return thought or "", said or ""


def told_as_chat(request: Request, speech: Speech) -> dict[str, Any]:
    """The pass as llama.cpp's chat takes it, the turn so far as a last message that it continues."""
    messages = inserted(speech.messages(request.messages, request.mode), request.inserts, request.stage)
    arguments = {**speech.switches(request.mode, request.effort), TOOLS: request.question.tools}
    body: dict[str, Any] = {"messages": messages, **rendering(arguments), **choice_of(request)}
    if request.question.format is not None:
        body["response_format"] = dict(request.question.format)
    if request.prefill:
        thought, said = begun(request, speech)
        messages.append({"role": "assistant", "reasoning_content": thought, "content": said})
        body |= {"continue_final_message": "content", "add_generation_prompt": False}
    return body


def called(reply: ChatReply, begun: tuple[str, str], limit: int, prompt_tokens: int) -> Output:
    """What a server made of the pass. It repeats the turn so far, which the reader has seen."""
    tokens = (reply.usage or Usage()).completion_tokens
    if tokens is None or tokens > limit or reply.finish not in ("stop", "length", "tool_calls"):
        raise EngineGarbled(
            f"the server wrote {tokens} tokens for a limit of {limit} and stopped for '{reply.finish}'; "
            f"wanted at most {limit}, and stop, length or tool_calls"
        )
    thought, said = begun
    answer = reply.content.removeprefix(said)
    more = reply.thought.strip("\n").removeprefix(thought.strip("\n")).strip("\n")
    return Output(
        answer,
        reply.finish != "length",
        tokens,
        thought=more or None,
        answer=answer,
        generated=tokens,
        prompt_tokens=prompt_tokens,
        finish=reply.finish,
        extras=extras_of(list(reply.calls.values()), reply.logprobs),
    )


def extras_of(found: Sequence[Mapping[str, Any]], logprobs: Any = None) -> dict[str, Any]:
    extras: dict[str, Any] = {"tool_calls": [dict(call) for call in found]} if found else {}
    return extras if logprobs is None else {**extras, "logprobs": logprobs}


def forced_schema(request: Request, arguments: str = "arguments") -> dict[str, Any] | None:
    """The JSON a pass is held to where the caller forces a call; `arguments` is what it calls them.

    Most models learned that word. vLLM reads its own, `parameters`. A tool's schema that refers to parts of itself
    stands whole under `$defs`, by the tool's name, and its references with it.
    """
    choice = request.question.options.get("tool_choice")
    functions = [tool["function"] for tool in request.question.tools]
    if isinstance(choice, Mapping):
        wanted = (choice.get("function") or {}).get("name")
        return next((dict(f.get("parameters") or _NO_ARGUMENTS) for f in functions if f["name"] == wanted), None)
    if choice != "required":
        return None
    definitions: dict[str, Any] = {}
    forms = [
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "enum": [f["name"]]},
                arguments: _define(f["name"], f.get("parameters") or _NO_ARGUMENTS, definitions),
            },
            "required": ["name", arguments],
        }
        for f in functions
    ]
    most = {"maxItems": 1} if request.question.options.get("parallel_tool_calls") is False else {}
    items = {"anyOf": forms} if len(forms) > 1 else forms[0]
    shared = {"$defs": definitions} if definitions else {}
    return {"type": "array", "minItems": 1, **most, "items": items, **shared}


def _define(name: str, schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema as part of a larger one; one with references is added to its definitions and referred to."""
    if not has_refs(schema):
        return schema
    key = name
    while key in definitions:
        key += "_"
    place = pointer("$defs", key)
    try:
        definitions[key] = move_refs(schema, place)
    except RecursionError:
        raise Unsupported(f"the parameters of tool '{name}' are nested too deeply; flatten them") from None
    return {"$ref": place}


def forced_calls(choice: Any, text: str, arguments: str = "arguments") -> list[dict[str, Any]]:
    """Calls in the form of `forced_schema`, where a server hands them on unread; none where the cap cut them."""
    try:
        # Behind it the token that ends the turn may stand in words.
        found, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return []
    if isinstance(choice, Mapping):
        found = [{"name": choice["function"]["name"], arguments: found}]
    elif choice != "required" or not isinstance(found, list):
        return []
    if not all(isinstance(one, Mapping) and {"name", arguments} <= one.keys() for one in found):
        return []
    return [
        {
            "id": f"call_{secrets.token_hex(12)}",
            "type": "function",
            "function": {"name": one["name"], "arguments": json.dumps(one[arguments], ensure_ascii=False)},
        }
        for one in found
    ]


def forcibly_called(output: Output, choice: Any, arguments: str = "arguments") -> Output:
    """A pass whose words may be forced calls: the calls they are, else the words."""
    made = forced_calls(choice, output.text, arguments)
    text = "" if made else output.text
    return replace(output, text=text, answer=text, ids=None, extras={**output.extras, **extras_of(made)})


def held_to(schema: Mapping[str, Any], otherwise: str) -> dict[str, Any]:
    """Our grammar, which bounds the blanks and leaves out what no grammar can express.

    A schema of which a server may express more is the server's to hold, under its own name.
    """
    form, incomplete = relaxed_form(schema)
    return {otherwise: dict(schema)} if incomplete else {"grammar": gbnf(form)}
