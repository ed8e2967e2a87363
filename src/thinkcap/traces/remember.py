"""An engine around an engine that never generates the same token twice.

A smaller budget is cut from the stored trace, a larger one continues it where that is sound (greedy, nothing
but the prompt constrains decoding) and regenerates under the same seed where it is not. Flows that need the
same trace at the same time wait for one generation.

    engine = Remembering(engine, store)
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from thinkcap.core.engine import Emit, Engine, EngineCard, Output, Prompt, Scorer
from thinkcap.core.recent import Recent
from thinkcap.core.scores import Scores
from thinkcap.core.stopping import stopped
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Question, Request, Sampling
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace

_PROMPTS, _TOKENS = 4096, 1_000_000
"""Prompts of questions, and tokens of texts, that are kept: those of the questions that are worked on."""


class Remembering:
    """`online=True` stores but never reuses a trace made under another budget."""

    remembers = True

    def __init__(
        self,
        engine: Engine,
        store: TraceStore,
        *,
        claimed: Mapping[str, int] | None = None,
        online: bool = False,
    ) -> None:
        self._engine = engine
        self._store = store
        self._online = online
        self._flights: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._claimed = dict(claimed or {})
        self._texts: Recent[tuple[str, int, int, int], str] = Recent(_TOKENS)
        self._prompts: Recent[tuple[object, ...], tuple[Question, Prompt]] = Recent(_PROMPTS)

    @property
    def card(self) -> EngineCard:
        return self._engine.card

    async def prompt(self, request: Request) -> Prompt:
        """A bare question is put in the same words at every budget, by every policy."""
        question = request.question
        began = request.inserts or request.prefill or request.held is not None
        if began or request.messages is not question.messages:
            return await self._engine.prompt(request)
        asked = (id(question), request.mode, request.effort, request.final, request.opens, request.thought_only)
        known = self._prompts.get(asked)
        if known is None:
            # With the question itself, for an id is that of one question only as long as it lives.
            known = question, await self._engine.prompt(request)
            self._prompts.keep(asked, known)
        return known[1]

    async def read(self, ids: Sequence[int]) -> str:
        return await self._engine.read(ids)

    async def score(self, prompt: Prompt, ids: Sequence[int]) -> Scores:
        return await cast(Scorer, self._engine).score(prompt, ids)

    async def aclose(self) -> None:
        await self._engine.aclose()

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        if prompt.begun and sampling.greedy and not prompt.body and not self._online:
            rest = await self._going_on(prompt, limit, sampling, emit)
            if rest is not None:
                return rest
        key = prompt.key(self.card.fingerprint, sampling)
        if prompt.ids is None or self._online:
            key = _with_budget(key, limit)
        trace = self._store.recent(key)
        if trace is not None and await self._enough(trace, prompt, limit):
            # Nobody need be waited for: what is there already is not written again.
            return await self._output(key, trace, prompt, limit, emit)
        async with self._flight(key):
            if prompt.ids is None:
                return await self._whole(key, prompt, limit, sampling, emit)
            trace = self._store.get(key)
            if trace is None or not await self._enough(trace, prompt, limit):
                trace = await self._grow(key, trace, prompt, limit, sampling, emit)
                emit = None  # its text has been shown as it was written
            return await self._output(key, trace, prompt, limit, emit)

    async def recall(self, prompt: Prompt, limit: int, sampling: Sampling) -> Output | None:
        """What is stored of this generation, as far as the limit; nothing is written for it."""
        key = prompt.key(self.card.fingerprint, sampling)
        if prompt.ids is None or self._online:
            key = _with_budget(key, limit)
        if prompt.ids is None:
            stored = self._store.get_output(key)
            return _read(stored) if stored else None
        trace = self._store.get(key)
        if trace is None:
            return None
        held = trace.cut(min(limit, len(trace.ids)))
        return Output(await self.read(held.ids), held.ended, len(held.ids), ids=held.ids)

    async def _going_on(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None) -> Output | None:
        """A turn that goes on where it was left: its stored trace is cut or continued, so that a thought written
        in steps is the thought written at once. None where that turn was not stored, or went another way."""
        assert prompt.ids is not None
        begun = prompt.begun
        whole = replace(prompt, ids=prompt.ids[:-begun], begun=0, tokens=len(prompt.ids))
        key = whole.key(self.card.fingerprint, sampling)
        async with self._flight(key):
            trace = self._store.get(key)
            if trace is None or trace.ids[:begun] != prompt.ids[-begun:]:
                return None
            if not await self._enough(trace, whole, begun + limit, begun):
                trace = await self._grow(key, trace, whole, begun + limit, sampling, emit, begun)
                emit = None
            return await self._output(key, trace, whole, begun + limit, emit, begun)

    async def _grow(
        self,
        key: str,
        trace: Trace | None,
        prompt: Prompt,
        limit: int,
        sampling: Sampling,
        emit: Emit | None,
        begun: int = 0,
    ) -> Trace:
        assert prompt.ids is not None
        started = time.perf_counter()
        if trace is not None and prompt.scored and trace.scores is None:
            trace = await self._scored(trace, prompt, sampling)
        if trace is None or not trace.covers(limit):
            # Continuing a sample would restart the random state, so it is drawn again whole.
            kept = trace.ids if trace is not None and sampling.greedy and not prompt.body else ()
            if kept and emit:
                emit(Delta(await self.read(kept[begun:])))
            asked = replace(prompt, ids=prompt.ids + kept, begun=prompt.begun + len(kept)) if kept else prompt
            written = await self._engine.generate(asked, limit - len(kept), sampling, emit)
            # A stop shows in the ids alone here: engines differ in what they call it.
            output = await stopped(written, asked, self.read)
            reached = len(kept) + output.tokens if _short(output) else limit
            wall_s = time.perf_counter() - started
            ids, scores = output.ids or (), output.scores
            if trace is not None and kept:
                trace = trace.extended(ids, output.ended, reached, wall_s, scores)
            else:
                made = output.tokens + (trace.generated if trace is not None else 0)
                trace = Trace(ids, output.ended, reached, made, wall_s=wall_s, scores=scores)
        await self._store.put(key, trace)
        return trace

    async def _enough(self, trace: Trace, prompt: Prompt, limit: int, begun: int = 0) -> bool:
        """Whether the trace holds all that is asked for: the budget, or a stop before it, and scores if wanted."""
        if prompt.scored and trace.scores is None:
            return False
        if trace.covers(limit):
            return True
        if not (prompt.stop_at or prompt.unsure):
            return False
        return _short(await stopped(_rest_of(trace, begun), prompt, self.read))

    async def _scored(self, trace: Trace, prompt: Prompt, sampling: Sampling) -> Trace:
        """The trace with scores: read once more where the engine can score what is written, else written again."""
        if self.card.scores == "any":
            return dataclasses.replace(trace, scores=await self.score(prompt, trace.ids))
        plain = replace(prompt, stop_at=(), unsure=None)
        again = await self._engine.generate(plain, trace.limit, sampling)
        made = trace.generated + again.tokens
        return Trace(again.ids or (), again.ended, trace.limit, made, wall_s=trace.wall_s, scores=again.scores)

    async def _output(
        self, key: str, trace: Trace, prompt: Prompt, limit: int, emit: Emit | None, begun: int = 0
    ) -> Output:
        watched = bool(prompt.stop_at or prompt.unsure)
        # A trace that ends at a stop is shorter than its budget, and there is no more of it.
        cut = trace.cut(limit if trace.covers(limit) else len(trace.ids))
        ids = cut.ids[begun:]
        # A trace is known by all that was ever produced for it: written again or continued, it is another.
        part = key, trace.generated, begun, len(cut.ids)
        text = await self._texts.made(part, lambda: self._engine.read(ids), len(ids))
        if emit and not watched:
            emit(Delta(text))
        # Generated now, or generated under this very budget and found again after an interruption.
        same = trace.limit in (limit, len(cut.ids)) and not trace.segments
        continued = bool(trace.segments) and len(cut.ids) > trace.segments[0]
        generated = self._claim(key, trace.generated)
        output = Output(
            text,
            cut.ended,
            len(ids),
            ids=ids,
            generated=generated,
            claim=(key[:16], trace.generated) if generated else None,
            origin="fresh" if same else "continued" if continued else "cut",
            prompt_tokens=prompt.tokens,
            finish="stop" if cut.ended else "length",
            wall_s=trace.wall_s * len(ids) / max(1, len(trace.ids)),
            scores=cut.scores.cut(len(cut.ids), begun) if cut.scores and prompt.scored else None,
            limit=0 if self._online else trace.limit,
        )
        if watched:
            output = await stopped(output, prompt, self.read)
            if emit:
                emit(Delta(output.text))
        return output

    async def _whole(self, key: str, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None) -> Output:
        """Over chat nothing can be cut: the same question at the same budget, or a new call."""
        stored = self._store.get_output(key)
        if stored is None:
            started = time.perf_counter()
            output = await self._engine.generate(prompt, limit, sampling, emit)
            output = replace(output, wall_s=time.perf_counter() - started)
            kept = msgspec.to_builtins(replace(output, extras={}))
            await self._store.put_output(key, kept | {"extras": dict(output.extras)}, output.tokens)
        else:
            output = _read(stored)
            for text, channel in ((output.thought, "thought"), (output.answer, "answer")):
                if emit and text:
                    emit(Delta(text, channel))  # type: ignore[arg-type]
        generated = self._claim(key, output.tokens)
        return replace(output, generated=generated, claim=(key[:16], output.tokens) if generated else None)

    def _claim(self, key: str, made: int) -> int:
        """Tokens nobody has accounted for yet; the first row to use a trace is the one that generated it."""
        generated = made - self._claimed.get(key[:16], 0)
        if generated > 0:
            self._claimed[key[:16]] = made
        return max(0, generated)

    def _flight(self, key: str) -> asyncio.Lock:
        """One generation of a key at a time; the lock is there as long as anybody holds it or waits for it."""
        lock = self._flights.get(key)
        if lock is None:
            lock = self._flights[key] = asyncio.Lock()
        return lock


def _rest_of(trace: Trace, begun: int) -> Output:
    ids = trace.ids[begun:]
    scores = trace.scores and trace.scores.cut(len(trace.ids), begun)
    return Output("", trace.ended, len(ids), ids=ids, scores=scores)


def _short(output: Output) -> bool:
    return output.finish in ("stopped", "unsure")


def _with_budget(key: str, limit: int) -> str:
    return hashlib.sha256(f"{key}@{limit}".encode()).hexdigest()


def _read(stored: Mapping[str, Any]) -> Output:
    """An answer over chat as it was stored. Earlier stores say `fresh` for `generated`, which is counted anew."""
    return Output(**{name: value for name, value in stored.items() if name != "fresh"})
