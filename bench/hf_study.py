"""A study through the `hf` engine beside a bare loop over the same requests: what do the flows around it cost?

    python bench/hf_study.py --model out/hybrid --task gsm8k --data data --limit 256 --out study_speed.json

The study runs twice, each time in a new folder; the first run captures the engine's graphs. Then every request
that reached the engine is put to it again, all at once, with nothing around it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thinkcap.core.engine import Emit, Engine, EngineCard, Output, Prompt
from thinkcap.core.types import Request, Sampling
from thinkcap.engines import open_engine
from thinkcap.model import pebble_hf
from thinkcap.study.config import StudyConfig
from thinkcap.study.run import run

POLICIES = ("think", "nothink", "close", "split", "town", "iris")


class Overheard:
    """An engine that notes what it is asked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.asked: list[tuple[Prompt, int, Sampling]] = []
        self.tokens = 0

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
        self.asked.append((prompt, limit, sampling))
        output = await self._engine.generate(prompt, limit, sampling, emit)
        self.tokens += output.tokens
        return output


async def studied(engine: Engine, config: dict[str, Any]) -> tuple[float, Overheard]:
    heard = Overheard(engine)
    with tempfile.TemporaryDirectory() as folder:
        study = StudyConfig.from_mapping({**config, "out": f"{folder}/run"})
        started = time.perf_counter()
        try:
            await run(study, engine=heard)
        except ModuleNotFoundError as err:
            # The rows are made; only their columns are not.
            print(f"without {err.name} no columns are written")
        return time.perf_counter() - started, heard


async def measured(args: argparse.Namespace) -> dict[str, Any]:
    engine = await open_engine(str(args.model), concurrency=args.lanes)
    config = {
        "model": args.model.name,
        "tasks": [args.task],
        "budgets": [int(word) for word in args.budgets.split(",")],
        "limit": args.limit,
        "policies": list(POLICIES),
        "concurrency": args.lanes + args.lanes // 2,
        **({"data": str(args.data)} if args.data else {}),
    }
    await studied(engine, config)
    seconds, heard = await studied(engine, config)
    started = time.perf_counter()
    bare = await asyncio.gather(*(engine.generate(*one) for one in heard.asked))
    bare_s = time.perf_counter() - started
    await engine.aclose()
    tokens = sum(output.tokens for output in bare)
    card = engine.card
    return {
        "model": card.model,
        "hardware": card.hardware,
        "dtype": card.dtype,
        "lanes": args.lanes,
        "questions": args.limit,
        "requests": len(heard.asked),
        "study_tokens": heard.tokens,
        "study_s": seconds,
        "bare_tokens": tokens,
        "bare_s": bare_s,
        "ratio": (heard.tokens / seconds) / (tokens / bare_s),
    }


def told(found: dict[str, Any]) -> str:
    study, bare = found["study_tokens"] / found["study_s"], found["bare_tokens"] / found["bare_s"]
    return (
        f"`{found['model']}`, {found['dtype']}, {found['hardware']}, {found['lanes']} lanes, "
        f"{found['questions']} questions, {found['requests']:,} requests: the study wrote "
        f"{found['study_tokens']:,} tokens at {study:,.0f} tokens/s, the bare loop {found['bare_tokens']:,} at "
        f"{bare:,.0f}; the ratio is {found['ratio']:.2f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=pebble_hf())
    parser.add_argument("--task", default="families")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limit", type=int, default=64)
    parser.add_argument("--budgets", default="256,512,1024")
    parser.add_argument("--lanes", type=int, default=512)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    found = asyncio.run(measured(args))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(told(found))


if __name__ == "__main__":
    main()
