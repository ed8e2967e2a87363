"""The gateway's own OpenAPI description, made from the very types requests are checked with.

description(with_keys=False)["paths"]["/v1/chat/completions"]
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec

from thinkcap.gateway.config import OTHER_PATHS
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
}
_WIRES: tuple[tuple[str, str, type[msgspec.Struct], str, str], ...] = (
    ("/v1/chat/completions", "chat", ChatRequest, "Completion", "Error"),
    ("/v1/responses", "responses", ResponsesRequest, "Response", "Error"),
    ("/v1/messages", "messages", MessagesRequest, "Message", "AnthropicError"),
    ("/v1/messages/count_tokens", "count_tokens", CountRequest, "Count", "AnthropicError"),
)
"""Path, operation, what is sent, what comes back, and the error of each wire."""
_STATUSES = {
    "400": "The request cannot be answered as asked.",
    "401": "No key, or a wrong one.",
    "403": "A web page of another host.",
    "404": "No such model or path.",
    "405": "Another method is wanted.",
    "408": "The body came too slowly.",
    "413": "The body is too large.",
    "429": "The queue is full; Retry-After says when to come back.",
    "431": "The headers are too large.",
    "502": "The model server failed.",
    "503": "Starting or shutting down.",
    "504": "The model server was too slow.",
}


def description(with_keys: bool) -> dict[str, Any]:
    forms = [form for _, _, form, _, _ in _WIRES]
    _, schemas = msgspec.json.schema_components(forms, ref_template=_REF)
    for form in forms:
        # The check refuses what it does not know; the types alone would let it pass.
        schemas[form.__name__]["additionalProperties"] = False
    errors = _errors("Error")
    paths: dict[str, Any] = {
        path: {"post": _operation(name, form, answer, error)} for path, name, form, answer, error in _WIRES
    }
    for path, kind in (
        ("/v1/models", "application/json"),
        ("/healthz", "application/json"),
        ("/readyz", "application/json"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
    ):
        paths[path] = {
            "get": {"responses": {"200": {"description": "As asked.", "content": {kind: {}}}, **errors}}
        }
    for path in OTHER_PATHS:
        responses = {
            "200": {"description": "The model server's own answer, where the operator forwards it."},
            **errors,
        }
        paths[path] = {"post": {"responses": responses}}
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


def _operation(name: str, form: type[msgspec.Struct], answer: str, error: str) -> dict[str, Any]:
    ok = {"application/json": {"schema": _ref(answer)}, "text/event-stream": {}}
    return {
        "operationId": name,
        "summary": "Answer a conversation within its cap, all passes together."
        if answer != "Count"
        else "How many tokens the conversation is.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(form.__name__)}}},
        "responses": {
            "200": {"description": "An answer, whole or as a stream of events.", "content": ok},
            **_errors(error),
        },
    }


def _errors(form: str) -> dict[str, Any]:
    return {
        status: {"description": words, "content": {"application/json": {"schema": _ref(form)}}}
        for status, words in _STATUSES.items()
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}
