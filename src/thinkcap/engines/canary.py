"""Notices a model swapped under a run: by the name in each answer, and by a greedy sentence asked for again.

A remote server's weights cannot be hashed; its name and what it says to a fixed question stand for them.

    engine = await Watched.begin(engine, every=256, seconds=600)
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

from thinkcap.core.engine import Emit, Engine, EngineCard, Output, Prompt, Scorer
from thinkcap.core.errors import ModelChanged
from thinkcap.core.scores import Scores
from thinkcap.core.types import GREEDY, Question, Request, Sampling
from thinkcap.engines.masking import Mask

_ASKED = Question("canary", ({"role": "user", "content": "Write one sentence about a river and a clock."},))
_TOKENS = 12
_CONFIRM = 2
"""Batched greedy decoding may differ from a lone one by itself: a difference must show this often again."""


class ServedName:
    """The model's name in the answers must stay what it was in the first."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._first: str | None = None

    def check(self, name: Any) -> None:
        if not isinstance(name, str) or not name:
            return
        if self._first is None:
            self._first = name
        if name != self._first:
            raise ModelChanged(
                f"the server answers as '{_shown(name)}' but was '{_shown(self._first)}' at the start; "
                f"start again with another --out, or bring back the first model"
            )


class _Settable(Engine, Protocol):
    card: EngineCard


class Watched:
    """An engine around an engine that asks the canary's question now and then."""

    def __init__(
        self, engine: Engine, text: str, every: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine = engine
        self._text = text
        self._every, self._seconds, self._clock = every, seconds, clock
        self._calls, self._asked_at = 0, clock()
        self._lock = asyncio.Lock()

    @classmethod
    async def begin(cls, engine: _Settable, every: int, seconds: float) -> Watched:
        """Asks once and puts the fingerprint on the card."""
        text = await _canary_text(engine)
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]
        engine.card = replace(engine.card, fingerprint=f"{engine.card.model}-{mark}")
        return cls(engine, text, every, seconds)

    @property
    def card(self) -> EngineCard:
        return self._engine.card

    async def prompt(self, request: Request) -> Prompt:
        return await self._engine.prompt(request)

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        self._calls += 1
        if self._due():
            async with self._lock:
                if self._due():
                    await self.check_canary()
        return await self._engine.generate(prompt, limit, sampling, emit)

    async def read(self, ids: Sequence[int]) -> str:
        return await self._engine.read(ids)

    async def score(self, prompt: Prompt, ids: Sequence[int]) -> Scores:
        return await cast(Scorer, self._engine).score(prompt, ids)

    async def aclose(self) -> None:
        await self._engine.aclose()

    async def check_canary(self) -> None:
        """Raises ModelChanged when the text is another one, and stays so."""
        for _ in range(1 + _CONFIRM):
            if await _canary_text(self._engine) == self._text:
                self._calls, self._asked_at = 0, self._clock()
                return
        raise ModelChanged(
            f"the server of '{self.card.model}' now answers the same question differently than at the start: its "
            f"weights or settings have changed. Start again with another --out"
        )

    def _due(self) -> bool:
        return self._calls >= self._every or self._clock() - self._asked_at >= self._seconds


async def _canary_text(engine: Engine) -> str:
    request = Request(_ASKED, "think", _TOKENS, stage="canary")
    output = await engine.generate(await engine.prompt(request), _TOKENS, GREEDY)
    return output.text


def _shown(name: str) -> str:
    """A server may call itself anything, at any length."""
    return Mask()(name)[:80]
