"""How fast and how exact the embedded engine is: tokens a second, cuts against fresh runs, batch against alone.

python bench/engine.py [MODEL.gguf] [--flows 32] [--tokens 256] [--questions 64]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time

from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Completion, Question, Request
from thinkcap.engines import open_engine


def question(n: int) -> Question:
    text = f"Sam has {n + 3} apples, buys {2 * n + 5} more and gives away {n}. How many are left?"
    return Question(f"q{n}", ({"role": "user", "content": PROMPTS.asked(text, "number")},), kind="number")


async def asked(engine: Engine, n: int, budget: int, mode: str) -> Completion:
    return await complete(engine, Request(question(n), mode, budget, stage="bench"))  # type: ignore[arg-type]


async def main(model: str, flows: int, tokens: int, questions: int, threads: int, replicas: int) -> None:
    started = time.perf_counter()
    engine = await open_engine(model, concurrency=flows, threads=threads, replicas=replicas)
    card = engine.card
    print(f"{card.model} {card.dtype}, {card.version}, {card.hardware}, load average {os.getloadavg()[0]:.1f}")
    print(f"opened in {time.perf_counter() - started:.2f} s")
    print(f"context {card.context}, {card.concurrency} flows, thinking off by {card.switch}")
    batched: dict[str, list[Completion]] = {}
    for mode in card.modes:
        started = time.perf_counter()
        done = await asyncio.gather(*(asked(engine, n, tokens, mode) for n in range(questions)))
        wall = time.perf_counter() - started
        total = sum(c.tokens for c in done)
        ended = sum(c.ended for c in done)
        print(
            f"{mode}: {total} tokens in {wall:.1f} s = {total / wall:.0f} tokens/s, {ended} of {questions} ended"
        )
        batched[mode] = done
    few = min(questions, 16)
    for mode, done in batched.items():
        alone = [await asked(engine, n, tokens, mode) for n in range(few)]
        same = sum(a.ids == b.ids for a, b in zip(alone, done, strict=False))
        print(f"{mode}: in the batch as alone {same} of {few}")
        cuts = [max(1, len(a.ids or ()) // 2) for a in alone]
        fresh = [await asked(engine, n, cut, mode) for n, cut in enumerate(cuts)]
        exact = sum(f.ids == (a.ids or ())[:c] for f, a, c in zip(fresh, alone, cuts, strict=True))
        print(f"{mode}: half the budget, alone, an exact prefix {exact} of {few}")
        fresh = await asyncio.gather(*(asked(engine, n, cut, mode) for n, cut in enumerate(cuts)))
        exact = sum(f.ids == (a.ids or ())[:c] for f, a, c in zip(fresh, done, cuts, strict=False))
        print(f"{mode}: half the budget, batched, an exact prefix of the batched run {exact} of {few}")
    await engine.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="bundled")
    parser.add_argument("--flows", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--questions", type=int, default=64)
    parser.add_argument("--threads", type=int, default=0, help="0: llama.cpp's own choice")
    parser.add_argument("--replicas", type=int, default=0, help="0: one a core for a small model")
    asyncio.run(main(**vars(parser.parse_args())))
