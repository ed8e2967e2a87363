"""One request through an engine: thought and answer parted, tokens counted, the impossible refused by name.

completion = await complete(engine, request)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress

from msgspec.structs import replace

from thinkcap.core.engine import Emit, Engine, EngineCard, Output
from thinkcap.core.errors import EngineRefused, Unsupported
from thinkcap.core.marks import Marks
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.stopping import stopped
from thinkcap.core.thinking import Delta, Splitter, spanned
from thinkcap.core.types import GREEDY, NOTHING, Completion, Mode, Request, Span

Complete = Callable[[Engine, Request, Emit | None], Coroutine[None, None, Completion]]
"""How a request is answered: `complete`, or something around it that looks on."""


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


def _possible(card: EngineCard, request: Request) -> Request:
    """Where only effort can be set, a pass without thinking is one with the least of it: the card says so."""
    if request.mode == "nothink" and card.least:
        request = replace(request, mode="think", effort=card.least)
    check_mode(card, request.mode)
    check_effort(card, request.effort)
    there = card.at(request.effort)
    if there is card or not request.prefill:
        return request
    # A policy closes thoughts with the usual marks; at this level the model has others.
    usual, other = card.closing or PROMPTS.close, there.closing or PROMPTS.close
    said = tuple(part.replace(usual, other) if isinstance(part, str) else part for part in request.prefill)
    return replace(request, prefill=said)


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
    if request.held is not None and not card.holds:
        raise Unsupported(
            f"stage '{request.stage}' leaves it to the server to end a thought, which '{card.engine}' at "
            f"'{card.model}' does not offer; use 'close', or vLLM or llama.cpp's server"
        )


_HELD_SPARE = 64
"""Tokens by which a held thought may be longer: its marks, and a message that its server was started with."""


def _check_held(card: EngineCard, request: Request, think_tokens: int) -> None:
    """Servers ignore fields they do not know: what came back tells."""
    if request.held is not None and think_tokens > request.held + _HELD_SPARE:
        raise EngineRefused(
            f"'{card.model}' thought for {think_tokens} tokens where {card.holds} was {request.held}: its server "
            f"does not limit thoughts; start vLLM with --reasoning-parser, or use 'close'"
        )


async def complete(engine: Engine, request: Request, emit: Emit | None = None) -> Completion:
    """One request through an engine, thought and answer parted, tokens counted; nothing for a budget of none."""
    if request.budget <= 0:
        return NOTHING
    request = _possible(engine.card, request)
    card = engine.card.at(request.effort)
    if request.prefill and not card.prefills:
        raise Unsupported(
            f"stage '{request.stage}' prefills the assistant's turn, which '{card.engine}' at '{card.model}' "
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
    marks = card.marks if request.question.tools else card.marks.without_calls
    ends = (marks.close_tag, *marks.ends) if request.thought_only and card.stops and not prompt.closed else ()
    stop_at = (*request.stop_at, *ends)
    watched = bool(stop_at or request.unsure)
    if watched or request.scored:
        scored = request.scored or request.unsure is not None
        prompt = replace(prompt, stop_at=stop_at, unsure=request.unsure, scored=scored)
    # A limit may have cut the markup before an answer in two: read on where it stopped.
    said = "".join(p if isinstance(p, str) else p.text for p in request.prefill) if request.prefill else ""
    lead = marks.unfinished(said) if said else ""
    splitter = take = None
    if emit:
        splitter = Splitter(marks, request.mode, prompt.opened, prompt.closed, _left_off(request, marks))
        take = splitter.through(emit)
        if lead:
            take(Delta(lead))
    output = await engine.generate(prompt, room, request.sampling or GREEDY, take)
    if watched:
        output = await stopped(output, prompt, engine.read)
        output = _unclosed(output, ends)
    if emit and splitter:
        splitter.finish(emit)
    spans: Spans = []
    if output.ids is None and (output.thought is not None or output.answer is not None):
        thought, answer = output.thought, output.answer
        thinking = answer is None
    else:
        (thought, answer, _), found = spanned(
            lead + output.text, marks, request.mode, prompt.opened, prompt.closed
        )
        spans = [(max(0, start - len(lead)), end and max(0, end - len(lead))) for start, end in found]
        thinking = bool(spans) and spans[-1][1] is None
    think_tokens = await _think_tokens(engine, card.close_id, output, spans, thought, answer)
    _check_held(card, request, think_tokens)
    return Completion(
        text=output.text,
        ended=output.ended,
        tokens=output.tokens,
        thought=thought,
        answer=answer,
        thinking=thinking,
        ids=output.ids,
        forced=forced,
        generated=output.generated,
        think_tokens=think_tokens,
        prompt_tokens=output.prompt_tokens or prompt.tokens,
        reread=_reread(request),
        origin=output.origin,
        claim=output.claim,
        wall_s=output.wall_s or time.perf_counter() - started,
        finish=output.finish,
        extras=output.extras,
        before=output.before,
        scores=output.scores,
        limit=output.limit,
    )


def _reread(request: Request) -> int:
    """Trace tokens that are read again as prompt."""
    if not (request.inserts or request.prefill):
        return 0
    return sum(len(part) for part in (*request.inserts, *request.prefill) if isinstance(part, Span))


def _left_off(request: Request, marks: Marks) -> str | None:
    """The line ends of the thought that this pass goes on with; none where it has yet to begin."""
    begun = request.prefill[-1] if request.prefill else None
    body = begun.text.rstrip("\n") if isinstance(begun, Span) else ""
    return begun.text[len(body) :] if isinstance(begun, Span) and not marks.open_tag.endswith(body) else None


def _unclosed(output: Output, ends: Sequence[str]) -> Output:
    """A pass that was to think only, without the mark it stopped at: its thought can go on."""
    if output.before is None or not any(mark in output.text[len(output.before.text) :] for mark in ends):
        return output
    return replace(output, text=output.before.text, ids=output.before.ids, before=None, finish="stop")


Spans = list[tuple[int, int | None]]


async def _think_tokens(
    engine: Engine, close_id: int | None, output: Output, spans: Spans, thought: str | None, answer: str | None
) -> int:
    """Tokens of all thoughts, their marks included: exact where there are ids, however many a mark takes."""
    if thought is None:
        return 0
    if answer is None:
        return output.tokens
    ids = output.ids
    if ids is not None and close_id is not None and len(spans) == 1:
        with suppress(ValueError):
            return ids.index(close_id) + 1
    if ids is not None and spans and await engine.read(ids) == output.text:
        ends = [output.tokens if end is None else await _reaching(engine, ids, end) for _, end in spans]
        starts = [await _reaching(engine, ids, start) for start, _ in spans]
        return sum(ends) - sum(starts)
    # A server that hides its tokens: its own count, or a share by length.
    return output.think_tokens or round(output.tokens * len(thought) / max(1, len(thought) + len(answer)))


async def _reaching(engine: Engine, ids: tuple[int, ...], characters: int) -> int:
    """The fewest tokens that spell this many characters of a text."""
    low, high = 0, len(ids) if characters else 0
    while low < high:
        middle = (low + high) // 2
        if len(await engine.read(ids[:middle])) < characters:
            low = middle + 1
        else:
            high = middle
    return low
