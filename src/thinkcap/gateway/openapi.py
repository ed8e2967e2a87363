"""The gateway's own OpenAPI description, made from the very types requests are checked with.

description(with_keys=False)["paths"]["/v1/chat/completions"]
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec

from thinkcap.gateway.config import OTHER_PATHS
from thinkcap.gateway.wires.chat import ChatRequest

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
    (_,), schemas = msgspec.json.schema_components([ChatRequest], ref_template=_REF)
    # The check refuses what it does not know; the types alone would let it pass.
    schemas["ChatRequest"]["additionalProperties"] = False
    errors = {
        status: {
            "description": words,
            "content": {"application/json": {"schema": {"$ref": _REF.format(name="Error")}}},
        }
        for status, words in _STATUSES.items()
    }
    ok = {"application/json": {"schema": {"$ref": _REF.format(name="Completion")}}, "text/event-stream": {}}
    chat = {
        "operationId": "chat",
        "summary": "Answer a conversation within max_tokens, all passes together.",
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": _REF.format(name="ChatRequest")}}},
        },
        "responses": {
            "200": {"description": "An answer, whole or as a stream of events.", "content": ok},
            **errors,
        },
    }
    paths: dict[str, Any] = {"/v1/chat/completions": {"post": chat}}
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
        "components": {"schemas": {**schemas, "Error": _ERROR, "Completion": _COMPLETION}},
    }
    if with_keys:
        about["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        about["security"] = [{"key": []}]
    return about
