"""The gateway's own OpenAPI description, made from the very types requests are checked with.

description(with_keys=False)["paths"]["/v1/chat/completions"]
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import msgspec

from thinkcap.gateway import completions
from thinkcap.gateway.call import KNOBS
from thinkcap.gateway.completions import CompletionRequest
from thinkcap.gateway.config import OTHER_PATHS
from thinkcap.gateway.wires import chat, messages, responses
from thinkcap.gateway.wires.chat import ChatRequest
from thinkcap.gateway.wires.messages import CountRequest, MessagesRequest
from thinkcap.gateway.wires.responses import ResponsesRequest

_REF = "#/components/schemas/{name}"
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_COMPLETION = {
    "type": "object",
    "required": ["id", "object", "created", "model", "choices", "thinkcap"],
    "properties": {
        "object": {"const": "chat.completion"},
        "choices": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "required": ["message", "finish_reason"]},
        },
        "usage": {"type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"]},
        "thinkcap": {"type": "object", "required": ["policy", "chosen_by", "cap"]},
    },
}
_RESPONSE = {
    "type": "object",
    "required": ["id", "object", "status", "output", "usage", "thinkcap"],
    "properties": {"object": {"const": "response"}, "output": {"type": "array", "minItems": 1}},
}
_MESSAGE = {
    "type": "object",
    "required": ["id", "type", "content", "stop_reason", "usage", "thinkcap"],
    "properties": {"type": {"const": "message"}, "content": {"type": "array", "minItems": 1}},
}
_COUNT = {"type": "object", "required": ["input_tokens"], "properties": {"input_tokens": {"type": "integer"}}}
_TEXT = {
    "type": "object",
    "required": ["choices"],
    "properties": {"choices": {"type": "array", "items": {"type": "object", "required": ["text"]}}},
}
_ANTHROPIC_ERROR = {
    "type": "object",
    "required": ["type", "error"],
    "properties": {
        "type": {"const": "error"},
        "error": {"type": "object", "required": ["type", "message"]},
    },
}
_ANSWERS = {
    "Error": _ERROR,
    "AnthropicError": _ANTHROPIC_ERROR,
    "Completion": _COMPLETION,
    "Response": _RESPONSE,
    "Message": _MESSAGE,
    "Count": _COUNT,
    "Text": _TEXT,
}
_ANSWERED = "Answer a conversation within its cap; all passes count."


class _Operation(NamedTuple):
    path: str
    name: str
    form: type[msgspec.Struct]
    """What is sent."""
    answer: str
    error: str
    does: str = _ANSWERED
    streams: bool = True


OPERATIONS = (
    _Operation(chat.PATH, "chat", ChatRequest, "Completion", "Error"),
    _Operation(responses.PATH, "responses", ResponsesRequest, "Response", "Error"),
    _Operation(messages.PATH, "messages", MessagesRequest, "Message", "AnthropicError"),
    _Operation(
        f"{messages.PATH}/count_tokens",
        "count_tokens",
        CountRequest,
        "Count",
        "AnthropicError",
        "Count the tokens of a conversation.",
        streams=False,
    ),
    _Operation(
        completions.PATH,
        "completions",
        CompletionRequest,
        "Text",
        "Error",
        "Complete a raw prompt, passed to a model server under the cap; an embedded model does not offer this. "
        "Other fields go to the server as they are.",
    ),
)
_READ = {
    "/v1/models": ("The models served, each with what it can do.", "application/json"),
    "/v1/models/{name}": ("One of them.", "application/json"),
    "/healthz": ("The process is alive.", "application/json"),
    "/readyz": ("Ready: at least one model can answer, or the one of ?model=NAME.", "application/json"),
    "/metrics": ("Counts for Prometheus.", "text/plain; version=0.0.4; charset=utf-8"),
    "/openapi.json": ("This description.", "application/json"),
}
_CAP = "The cap: everything generated for the request, in all passes, stays within it."
_MEANING: Mapping[str, str] = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), _CAP),
    **dict.fromkeys(
        (*KNOBS, "output_config"), "How much of the cap thoughts may take, or whether they are shown."
    ),
    "chat_template_kwargs": "Passed on; its thinking switch is obeyed here.",
    "model": "A name from /v1/models, or NAME+POLICY.",
    "n": "Number of answers; the cap holds for each.",
    "thinkcap": "The policy, its options, the kind of answer, the name of the reasoning field.",
}
_REFUSED: Mapping[str, Mapping[str, str]] = {"messages": messages.ABSENT, "responses": responses.ABSENT}
_STATUSES = {
    "400": "The request cannot be answered as asked.",
    "401": "No key, or a wrong one.",
    "403": "A web page of another host.",
    "404": "No such model or path.",
    "405": "The path needs another HTTP method.",
    "408": "The body came too slowly.",
    "413": "The body is too large.",
    "429": "The queue is full; Retry-After says when to come back.",
    "431": "The headers are too large.",
    "502": "The model server failed.",
    "503": "Starting or shutting down.",
    "504": "The model server was too slow.",
}


def description(with_keys: bool) -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components([one.form for one in OPERATIONS], ref_template=_REF)
    for one in OPERATIONS:
        form = schemas[one.form.__name__]
        # The check refuses what it does not know; the types alone would let it pass.
        form["additionalProperties"] = one.path == completions.PATH
        for name, field in form["properties"].items():
            if words := _meaning(one.name, name):
                field["description"] = words
    paths: dict[str, Any] = {one.path: {"post": _operation(one)} for one in OPERATIONS}
    for path, (words, kind) in _READ.items():
        responses = {"200": {"description": "As asked.", "content": {kind: {}}}, **_errors("Error")}
        paths[path] = {"get": {"summary": words, "responses": responses}}
    paths["/v1/models/{name}"]["parameters"] = [
        {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    ]
    for path in OTHER_PATHS:
        responses = {
            "200": {"description": "The model server's own answer, where the operator forwards it."},
            **_errors("Error"),
        }
        paths.setdefault(path, {"post": {"summary": "Forwarded as it is, or refused.", "responses": responses}})
    about: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "thinkcap gateway", "version": version("thinkcap")},
        "paths": paths,
        "components": {"schemas": {**schemas, **_ANSWERS}},
    }
    if with_keys:
        about["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        about["security"] = [{"key": []}]
    return about


def _meaning(wire: str, name: str) -> str:
    if reason := _REFUSED.get(wire, {}).get(name):
        return f"Refused: {reason}."
    if wire == "chat" and name in chat.WITHOUT_EFFECT:
        return "Passed on to a model server; no effect on an embedded model."
    return _MEANING.get(name, "")


def _operation(one: _Operation) -> dict[str, Any]:
    ok: dict[str, Any] = {"application/json": {"schema": _ref(one.answer)}}
    if one.streams:
        ok["text/event-stream"] = {}
    told = "An answer, whole or as a stream of events." if one.streams else "The count."
    return {
        "operationId": one.name,
        "summary": one.does,
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(one.form.__name__)}}},
        "responses": {"200": {"description": told, "content": ok}, **_errors(one.error)},
    }


def _errors(form: str) -> dict[str, Any]:
    return {
        status: {"description": words, "content": {"application/json": {"schema": _ref(form)}}}
        for status, words in _STATUSES.items()
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}
