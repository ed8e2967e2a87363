"""One request through an engine: thought and answer parted, tokens counted, the impossible refused by name.

completion = await complete(engine, request)
"""

from __future__ import annotations

import time
from dataclasses import replace

from thinkcap.core.engine import Emit, Engine, EngineCard, Output
from thinkcap.core.errors import Unsupported
from thinkcap.core.stopping import stopped
from thinkcap.core.thinking import Splitter, split
from thinkcap.core.types import GREEDY, NOTHING, Completion, Mode, Request, Span


def check_effort(card: EngineCard, effort: str) -> None:
    if effort and effort not in card.levels:
        known = f"it knows {', '.join(card.levels)}" if card.levels else "it knows none"
        raise Unsupported(f"model '{card.model}' has no level of effort '{effort}'; {known}")


def check_mode(card: EngineCard, mode: Mode) -> None:
    if mode not in card.modes:
        raise Unsupported(
            f"model '{card.model}' always thinks and has no '{mode}' mode; "
            f"use policies that only think, or allow an empty think block (--nothink-by block)"
        )


def check_wishes(card: EngineCard, request: Request) -> None:
    """What a policy wants seen while the model writes, and the backend cannot show, is refused by name."""
    if request.stop_at and not card.stops:
        raise Unsupported(
            f"stage '{request.stage}' stops at a text and goes on from there, which '{card.engine}' at "
            f"'{card.model}' does not offer; use the bundled model, a GGUF, hf, vLLM or llama-server"
        )
    if (request.scored or request.unsure) and not card.scores:
        raise Unsupported(
            f"stage '{request.stage}' needs the log probabilities of tokens, which '{card.engine}' at "
            f"'{card.model}' does not give with their ids; use the bundled model, a GGUF, hf, vLLM or llama-server"
        )


async def complete(engine: Engine, request: Request, emit: Emit | None = None) -> Completion:
    """One request through an engine, thought and answer parted, tokens counted."""
    card = engine.card
    check_mode(card, request.mode)
    check_effort(card, request.effort)
    if request.prefill and not card.prefills:
        raise Unsupported(
            f"stage '{request.stage}' begins the assistant's turn, which '{card.engine}' at '{card.model}' "
            f"does not allow; use a policy that answers in a pass of its own (iris, two_pass)"
        )
    check_wishes(card, request)
    started = time.perf_counter()
    prompt = await engine.prompt(request)
    forced = max(0, prompt.forced - request.paid)
    room = request.budget - forced
    if request.most is not None:
        room = min(room, request.most)
    if room <= 0:
        return NOTHING
    watched = bool(request.stop_at or request.unsure)
    if watched or request.scored:
        scored = request.scored or request.unsure is not None
        prompt = replace(prompt, stop_at=request.stop_at, unsure=request.unsure, scored=scored)
    marks = card.marks if request.question.tools else card.marks.without_calls()
    splitter = Splitter(marks, request.mode, prompt.opened, prompt.closed)
    output = await engine.generate(
        prompt, room, request.sampling or GREEDY, splitter.through(emit) if emit else None
    )
    if watched:
        output = await stopped(output, prompt, engine.read)
    if emit:
        splitter.finish(emit)
    if output.ids is None and (output.thought is not None or output.answer is not None):
        thought, answer = output.thought, output.answer
    else:
        thought, answer = split(output.text, marks, request.mode, prompt.opened, prompt.closed)
    return Completion(
        text=output.text,
        ended=output.ended,
        generated=output.tokens,
        thought=thought,
        answer=answer,
        ids=output.ids,
        forced=forced,
        fresh=output.fresh,
        think_tokens=_think_tokens(output, card, thought, answer),
        prompt_tokens=output.prompt_tokens or prompt.tokens,
        reread_tokens=sum(len(p) for p in (*request.inserts, *request.prefill) if isinstance(p, Span)),
        origin=output.origin,
        claim=output.claim,
        wall_s=output.wall_s or time.perf_counter() - started,
        finish=output.finish,
        extras=output.extras,
        before=output.before,
        scores=output.scores,
    )


def _think_tokens(output: Output, card: EngineCard, thought: str | None, answer: str | None) -> int:
    if thought is None:
        return 0
    if answer is None:
        return output.tokens
    if output.ids is not None and card.close_id in output.ids:
        return output.ids.index(card.close_id) + 1
    # A tag of several tokens, or a server that hides them: its own count, or a share by length.
    return output.think_tokens or round(output.tokens * len(thought) / max(1, len(thought) + len(answer)))
