"""A study keeps an engine full from its first second to its last, on a clock that is set forward when all wait."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from thinkcap.core.engine import Emit, EngineCard, Output, Prompt
from thinkcap.core.types import Request, Sampling
from thinkcap.study.config import StudyConfig
from thinkcap.study.run import run

LANES = 16
STEP_S = 0.02
END, CLOSE, WORD = 0, 1, 2


class WaitedFor(asyncio.SelectorEventLoop):
    """Nobody sleeps: when all wait for the clock, it is set forward. Threads at work are waited for as usual."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._away = 0

    def time(self) -> float:
        return self._now

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> Any:
        self._away += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._back)
        return future

    def _back(self, future: asyncio.Future[Any]) -> None:
        self._away -= 1

    def _run_once(self) -> None:
        waiting: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if not self._ready and not self._away and waiting:  # type: ignore[attr-defined]
            self._now = max(self._now, waiting[0].when())
        super()._run_once()  # type: ignore[misc]


class Lanes:
    """So many lanes, each a token a step; keeps what each of them wrote and when."""

    def __init__(self, lengths: Callable[[Random], int]) -> None:
        self.card = EngineCard("lanes", "lanes", "lanes", "ids", close_id=CLOSE, concurrency=LANES, stops=True)
        self.busy: list[tuple[float, float]] = []
        self._lengths = lengths
        self._free = asyncio.Semaphore(LANES)

    async def prompt(self, request: Request) -> Prompt:
        name = int(request.question.id.removeprefix("q"))
        begun = [i for part in request.prefill for i in ((5,) if isinstance(part, str) else part.ids or ())]
        seen = [i for span in request.inserts for i in span.ids or ()]
        ids = (100 + name, 3 if request.mode == "think" else 4, *seen, *begun)
        return Prompt(ids, closed=request.mode == "nothink" or 5 in begun, opened=bool(begun), tokens=len(ids))

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        assert prompt.ids
        rng = Random(prompt.ids[0])
        thought = [] if prompt.closed else [*[WORD] * self._lengths(rng), CLOSE]
        ids = tuple([*thought, *[WORD] * rng.randint(5, 40), END][:limit])
        async with self._free:
            begun = asyncio.get_running_loop().time()
            await asyncio.sleep(STEP_S * len(ids))
            self.busy.append((begun, asyncio.get_running_loop().time()))
        return Output(await self.read(ids), ids[-1] == END, len(ids), ids=ids, generated=len(ids))

    async def read(self, ids: Sequence[int]) -> str:
        return "".join(("\n#### 7", "</think>", " so")[i] for i in ids)

    async def aclose(self) -> None:
        return

    def used(self, start: float, end: float) -> float:
        """The share of the lanes' time between two moments in which they wrote."""
        wrote = sum(max(0.0, min(b, end) - max(a, start)) for a, b in self.busy)
        return wrote / (LANES * (end - start))


LENGTHS: dict[str, Callable[[Random], int]] = {
    "as long as they vary": lambda rng: int(rng.lognormvariate(5.5, 0.8)),
    "all of one length": lambda rng: 300,
    "one in ten never ends": lambda rng: 5000 if rng.random() < 0.1 else 60,
}


@pytest.mark.parametrize("lengths", LENGTHS)
def test_lanes_are_never_idle_before_the_last_chains_end(lengths: str, tmp_path: Path) -> None:
    engine = Lanes(LENGTHS[lengths])
    questions = tmp_path / "questions.jsonl"
    lines = ({"id": f"q{i}", "question": f"{i}: 3 + 4?", "answer": "7", "kind": "number"} for i in range(120))
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = {"tasks": [str(questions)], "budgets": [128, 256, 512, 1024], "out": str(tmp_path / "run")}
    config = StudyConfig.from_mapping({**table, "policies": ["nothink", "think", "close", "split", "iris"]})
    with asyncio.Runner(loop_factory=WaitedFor) as runner:
        result = runner.run(run(config, engine=engine))
    assert len(result.rows) == 120 * 5 * 4
    end = max(b for _, b in engine.busy)
    tenths = [engine.used(end * at / 10, end * (at + 1) / 10) for at in range(10)]
    assert min(tenths[:9]) > 0.95, tenths
    assert engine.used(0, end) > 0.9, tenths
