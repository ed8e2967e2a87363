"""An engine around an engine that never generates the same token twice.

A smaller budget is cut from the stored trace, a larger one continues it where that is sound (greedy, nothing
but the prompt constrains decoding) and regenerates under the same seed where it is not. Flows that need the
same trace at the same time wait for one generation.

    engine = Remembering(engine, store)
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace

from thinkcap.core.engine import Emit, Engine, EngineCard, Output, Prompt
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Request, Sampling
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace


class Remembering:
    """`online=True` stores but never reuses a trace made under another budget."""

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
        self._flights: dict[str, tuple[asyncio.Lock, int]] = {}
        self._claimed = dict(claimed or {})

    @property
    def card(self) -> EngineCard:
        return self._engine.card

    async def prompt(self, request: Request) -> Prompt:
        return await self._engine.prompt(request)

    async def read(self, ids: Sequence[int]) -> str:
        return await self._engine.read(ids)

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
        async with self._flight(key):
            if prompt.ids is None:
                return await self._whole(key, prompt, limit, sampling, emit)
            trace = self._store.get(key)
            if trace is None or not trace.covers(limit):
                trace = await self._grow(key, trace, prompt, limit, sampling, emit)
                emit = None  # its text has been shown as it was written
            return await self._output(key, trace, prompt, limit, emit)

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
            if not trace.covers(begun + limit):
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
        if trace is not None and sampling.greedy and not prompt.body:
            if emit:
                emit(Delta(await self.read(trace.ids[begun:])))
            longer = replace(prompt, ids=prompt.ids + trace.ids)
            output = await self._engine.generate(longer, limit - len(trace.ids), sampling, emit)
            grown = trace.extended(output.ids or (), output.ended, limit, time.perf_counter() - started)
        else:
            # Continuing a sample would restart the random state, so it is drawn again whole.
            output = await self._engine.generate(prompt, limit, sampling, emit)
            before = trace.generated if trace else 0
            wall_s = time.perf_counter() - started
            grown = Trace(output.ids or (), output.ended, limit, before + output.tokens, wall_s=wall_s)
        await self._store.put(key, grown)
        return grown

    async def _output(
        self, key: str, trace: Trace, prompt: Prompt, limit: int, emit: Emit | None, begun: int = 0
    ) -> Output:
        cut = trace.cut(limit)
        ids = cut.ids[begun:]
        text = await self._engine.read(ids)
        if emit:
            emit(Delta(text))
        # Generated now, or generated under this very budget and found again after an interruption.
        same = trace.limit == limit and not trace.segments
        continued = bool(trace.segments) and len(cut.ids) > trace.segments[0]
        fresh = self._claim(key, trace.generated)
        return Output(
            text,
            cut.ended,
            len(ids),
            ids=ids,
            fresh=fresh,
            claim=(key[:16], trace.generated) if fresh else None,
            origin="fresh" if same else "continued" if continued else "cut",
            prompt_tokens=prompt.tokens,
            finish="stop" if cut.ended else "length",
            wall_s=trace.wall_s * len(ids) / max(1, len(trace.ids)),
        )

    async def _whole(self, key: str, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None) -> Output:
        """Over chat nothing can be cut: the same question at the same budget, or a new call."""
        stored = self._store.get_output(key)
        if stored is None:
            started = time.perf_counter()
            output = await self._engine.generate(prompt, limit, sampling, emit)
            output = replace(output, wall_s=time.perf_counter() - started)
            kept = asdict(replace(output, extras={}))
            await self._store.put_output(key, kept | {"extras": dict(output.extras)}, output.tokens)
        else:
            output = Output(**stored)
            for text, channel in ((output.thought, "thought"), (output.answer, "answer")):
                if emit and text:
                    emit(Delta(text, channel))  # type: ignore[arg-type]
        fresh = self._claim(key, output.tokens)
        return replace(output, fresh=fresh, claim=(key[:16], output.tokens) if fresh else None)

    def _claim(self, key: str, generated: int) -> int:
        """Tokens nobody has accounted for yet; the first row to use a trace is the one that generated it."""
        fresh = generated - self._claimed.get(key[:16], 0)
        if fresh > 0:
            self._claimed[key[:16]] = generated
        return max(0, fresh)

    @asynccontextmanager
    async def _flight(self, key: str) -> AsyncIterator[None]:
        lock, waiting = self._flights.get(key, (asyncio.Lock(), 0))
        self._flights[key] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._flights[key]
            if waiting == 1:
                del self._flights[key]
            else:
                self._flights[key] = (lock, waiting - 1)


def _with_budget(key: str, limit: int) -> str:
    return hashlib.sha256(f"{key}@{limit}".encode()).hexdigest()
