"""Checks of what flows may have watched while a model writes, for any engine that gives ids: races and scores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine
from thinkcap.core.flow import Flow, drive, first_of
from thinkcap.core.types import Answer, Question, Request, Sampling
from thinkcap.tasks import load
from thinkcap.traces.remember import Remembering
from thinkcap.traces.store import TraceStore

LANES = 6


def asked(n: int) -> Question:
    """A question that the bundled model was made for, and thinks about now longer, now shorter."""
    return load("families", limit=n + 1).questions[n]


@dataclass(frozen=True)
class Raced:
    charged: int
    whole: int
    """Tokens of all lanes had nobody been stopped."""
    stopped: int


async def checked_race(engine: Engine, n: int, wanted: int = 1) -> Raced:
    """A live race of sampled thoughts: the shortest win, the others pay for what had come of them."""
    question, hot = asked(n), Sampling(1.5, 1.0)
    lanes = [Request(question, "think", 400, "sample", sampling=hot, sample=i) for i in range(LANES)]

    def race() -> Flow:
        yield from first_of(lanes, wanted)
        return Answer(None, "race")

    run = await drive(race(), engine, cap=400 * LANES)
    alone = [
        await complete(engine, replace(lane, sampling=Sampling(hot.temperature, hot.top_p, i), budget=400))
        for i, lane in enumerate(lanes)
    ]
    shortest = sorted(c.think_tokens for c in alone if c.answer is not None)[:wanted]
    found = [step.completion for step in run.steps]
    assert sorted(c.think_tokens for c in found if c.answer is not None) == shortest
    for lane, whole in zip(found, alone, strict=True):
        assert whole.ids is not None
        written = whole.ids[: lane.tokens]
        # As many tokens are charged as spell what has come; the last may be part of a character.
        assert (await engine.read(written)).rstrip("\ufffd") == lane.text.rstrip("\ufffd")
    assert run.charged == run.generated == sum(c.tokens for c in found)
    stopped = [a.tokens - c.tokens for a, c in zip(alone, found, strict=True) if c.tokens < a.tokens]
    return Raced(run.charged, sum(c.tokens for c in alone), len(stopped))


@dataclass(frozen=True)
class Gap:
    """Between the scores recorded while a thought was written and those found for it afterwards, in nats."""

    tokens: int
    worst: float
    mean: float
    unlike: int
    """Traces that came out otherwise when they were written a second time."""

    def __str__(self) -> str:
        said = f"{self.tokens:,} tokens, at most {self.worst:.5f} and on average {self.mean:.6f} nats apart"
        return said + (f"; {self.unlike} traces came out otherwise" if self.unlike else "")


async def score_gap(engine: Engine, folder: Path, requests: Sequence[Request]) -> Gap:
    """Each is written with scores and, in a store, without them; what is stored is then scored."""
    scored = [replace(request, scored=True) for request in requests]
    live = await asyncio.gather(*(complete(engine, request) for request in scored))
    with TraceStore.open(folder / "traces.sqlite", engine.card.fingerprint) as store:
        remembering = Remembering(engine, store)
        plain = await asyncio.gather(*(complete(remembering, request) for request in requests))
        assert all(completion.scores is None for completion in plain)
        later = await asyncio.gather(*(complete(remembering, request) for request in scored))
    gaps: list[float] = []
    unlike = 0
    for one, two in zip(live, later, strict=True):
        assert one.scores is not None
        assert two.scores is not None
        assert len(one.scores) == one.tokens
        assert len(two.scores) == two.tokens
        if one.ids != two.ids:
            unlike += 1
            continue
        for name in ("chosen", "mean", "entropy"):
            gaps += map(abs, map(float.__sub__, getattr(one.scores, name), getattr(two.scores, name)))
    return Gap(len(gaps) // 3, max(gaps), sum(gaps) / len(gaps), unlike)
