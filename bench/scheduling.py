"""Is scheduling the bottleneck? Tokens/s of a study against a bare loop over the same engine and prompts.

    python bench/scheduling.py [--questions 64] [--budget 512]

Prints both and their ratio (goal: at least 0.95). The loop does nothing but keep the same number of requests in
flight; the study also stores traces, grades answers and writes rows.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from thinkcap.api import run_study as run
from thinkcap.core.engine import Engine
from thinkcap.core.types import GREEDY, Mode, Question, Request
from thinkcap.engines import open_engine
from thinkcap.policies.registry import PolicySpec
from thinkcap.study.config import StudyConfig
from thinkcap.study.values import PolicyPlan
from thinkcap.tasks import load


async def bare(engine: Engine, questions: tuple[Question, ...], budget: int, width: int) -> tuple[int, float]:
    modes: tuple[Mode, ...] = ("nothink", "think")
    waiting = iter([Request(q, mode, budget, stage="bare") for mode in modes for q in questions])
    tokens = 0

    async def lane() -> None:
        nonlocal tokens
        for request in waiting:
            prompt = await engine.prompt(request)
            output = await engine.generate(prompt, budget, GREEDY)
            tokens += output.tokens

    started = time.perf_counter()
    await asyncio.gather(*(lane() for _ in range(width)))
    return tokens, time.perf_counter() - started


async def studied(engine: Engine, count: int, budget: int, width: int) -> tuple[int, float]:
    with tempfile.TemporaryDirectory() as folder:
        config = StudyConfig(
            policies=(PolicyPlan(PolicySpec("nothink")), PolicyPlan(PolicySpec("think"))),
            budgets=(budget,),
            limit=count,
            out=Path(folder),
            concurrency=width,
        )
        started = time.perf_counter()
        result = await run(config, engine=engine)
        return int(str(result.summary["tokens_generated"])), time.perf_counter() - started


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--questions", type=int, default=64)
    parser.add_argument("--budget", type=int, default=512)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=3)
    words = parser.parse_args()
    engine = await open_engine(words.model, concurrency=words.width)
    questions = load("families", limit=words.questions, seed=0).questions
    await bare(engine, questions[:8], 32, words.width)  # warm
    rates: dict[str, list[float]] = {"bare": [], "study": []}
    for _ in range(words.repeat):  # in turns, since the machine may be shared and noisy
        tokens, seconds = await bare(engine, questions, words.budget, words.width)
        rates["bare"].append(tokens / seconds)
        tokens, seconds = await studied(engine, words.questions, words.budget, words.width)
        rates["study"].append(tokens / seconds)
    await engine.aclose()
    best = {name: max(values) for name, values in rates.items()}
    print(f"bare loop  {best['bare']:8,.0f} tokens/s (best of {words.repeat})")
    print(f"study      {best['study']:8,.0f} tokens/s (best of {words.repeat})")
    print(f"ratio      {best['study'] / best['bare']:8.3f} (goal 0.95)")


if __name__ == "__main__":
    asyncio.run(main())
