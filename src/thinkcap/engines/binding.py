"""What binds a pass that is asked by token ids: options, a response format, and the room in the context.

body = constraints(request, {"stop": "stop"}, card.model)
ids = fitting(prompt, limit, card)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkcap.core.engine import EngineCard, Prompt
from thinkcap.core.errors import ConfigError, EngineRefused, Unsupported
from thinkcap.core.names import nearest
from thinkcap.core.types import Request
from thinkcap.engines.splice import Ids, Splicer


async def bound(splicer: Splicer, request: Request, body: Mapping[str, Any], wanted: Any) -> Prompt:
    """The prompt of a pass; a response format is only for one that does not think first."""
    prompt = await splicer.prompt(request, body)
    if wanted is not None and request.mode == "think" and not prompt.closed:
        raise Unsupported(
            f"stage '{request.stage}' writes a thought before its answer, and a response format would bind "
            f"the thought too; use a policy with an answer pass of its own (iris, two_pass, close)"
        )
    return prompt


def fitting(prompt: Prompt, limit: int, card: EngineCard) -> Ids:
    """The prompt's ids, if they and what may follow fit into the context."""
    if prompt.ids is None:
        raise Unsupported(f"'{card.engine}' takes token ids; this prompt was made for a chat transport")
    if card.context and len(prompt.ids) + limit > card.context:
        raise EngineRefused(
            f"prompt of {len(prompt.ids)} tokens and a budget of {limit} exceed the context of {card.context} "
            f"tokens; lower the budget, or open or serve the model with a larger context"
        )
    return prompt.ids


def constraints(request: Request, known: Mapping[str, str], where: str) -> dict[str, Any]:
    """What the caller wants of an answer pass, as decoding constraints; `known` gives the server's names."""
    question = request.question
    if not request.final:
        return {}
    if question.tools:
        raise Unsupported(
            f"tools need a chat transport, and '{where}' is asked by token ids; open it with transport=chat"
        )
    body: dict[str, Any] = {}
    for name, value in question.options.items():
        if value is None:
            continue
        if name not in known:
            raise Unsupported(f"'{where}' cannot apply option '{name}' to ids{nearest(name, known)}")
        body[known[name]] = [value] if name == "stop" and isinstance(value, str) else value
    return body


def schema(request: Request, where: str) -> Any:
    """The JSON schema a response format asks for; None where it asks for nothing."""
    wanted = request.question.format
    if not request.final or wanted is None or wanted.get("type") == "text":
        return None
    kind = wanted.get("type")
    if kind == "json_object":
        return {"type": "object"}
    if kind == "json_schema":
        inner = wanted.get("json_schema")
        found = inner.get("schema") if isinstance(inner, Mapping) else None
        if isinstance(found, Mapping):
            return found
        raise ConfigError("response_format 'json_schema' holds no schema; wanted json_schema.schema")
    hint = nearest(str(kind), ["json_object", "json_schema", "text"])
    raise Unsupported(f"'{where}' does not know response_format '{kind}'{hint}")
