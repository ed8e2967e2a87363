"""What binds a pass that is asked by token ids: options, a response format, and the room in the context.

body = constraints(request, {"stop": "stop"}, card.model)
ids = fitting(prompt, limit, card)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thinkcap.core.engine import EngineCard, Prompt
from thinkcap.core.errors import EngineRefused, Unsupported
from thinkcap.core.names import nearest
from thinkcap.core.types import Ids, Request
from thinkcap.engines.grammar import gbnf
from thinkcap.engines.json_schema import response_form
from thinkcap.engines.splice import Splicer

GRAMMAR = "grammar"
"""A response format of our own, beside OpenAI's: `{"type": "grammar", "grammar": GBNF}`."""


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


def grammar(request: Request) -> str | None:
    """The grammar that holds an answer to its response format; None where it has none."""
    wanted = request.question.format
    if not request.final or wanted is None:
        return None
    if wanted.get("type") == GRAMMAR:
        return str(wanted["grammar"])
    form = response_form(wanted)
    return None if form is None else gbnf(form)
