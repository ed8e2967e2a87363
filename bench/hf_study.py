"""A study through the `hf` engine beside a bare loop over the same requests: what do the flows around it cost?

    python bench/hf_study.py --model out/hybrid --task gsm8k --data data --limit 256 --out study_speed.json
    python bench/hf_study.py --model random:qwen2.5-1.5b --limit 512 --lanes 256 --budgets 128,256,512

The study runs twice, each time in a new folder; the first run captures the engine's graphs. Then every request
that reached the engine is put to it again, all at once, with nothing around it. How full the lanes were on the way
tells what of the difference is waiting (an answer from a thought can only begin where that thought ends) and what
is work beside the model.
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

from hf_engine import SHAPES, model_folder
from thinkcap.core.engine import Emit, Engine, EngineCard, Output, Prompt
from thinkcap.core.types import Request, Sampling
from thinkcap.engines import open_engine
from thinkcap.model import pebble_hf
from thinkcap.study.config import StudyConfig
from thinkcap.study.run import run

POLICIES = ("think", "nothink", "close", "split", "town", "iris")


class Overheard:
    """An engine that notes what it is asked, and how many of its lanes had something to write."""

    def __init__(self, engine: Engine, lanes: int) -> None:
        self._engine, self._lanes = engine, lanes
        self.asked: list[tuple[Prompt, int, Sampling]] = []
        self.tokens = 0
        self.lane_seconds = 0.0
        self._writing, self._since = 0, time.perf_counter()

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
        self._changes(1)
        output = await self._engine.generate(prompt, limit, sampling, emit)
        self._changes(-1)
        self.tokens += output.tokens
        return output

    def _changes(self, by: int) -> None:
        now = time.perf_counter()
        self.lane_seconds += min(self._writing, self._lanes) * (now - self._since)
        self._writing, self._since = self._writing + by, now


async def studied(engine: Engine, lanes: int, config: dict[str, Any]) -> tuple[float, Overheard]:
    heard = Overheard(engine, lanes)
    with tempfile.TemporaryDirectory() as folder:
        study = StudyConfig.from_mapping({**config, "out": f"{folder}/run"})
        started = time.perf_counter()
        try:
            await run(study, engine=heard)
        except ModuleNotFoundError as err:
            # The rows are made; only their columns are not.
            print(f"without {err.name} no columns are written")
        return time.perf_counter() - started, heard


async def measured(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    engine = await open_engine(str(folder), concurrency=args.lanes)
    config = {
        "model": folder.name,
        "tasks": [args.task],
        "budgets": [int(word) for word in args.budgets.split(",")],
        "limit": args.limit,
        "policies": list(POLICIES),
        "concurrency": args.lanes + args.lanes // 2,
        **({"data": str(args.data)} if args.data else {}),
    }
    await studied(engine, args.lanes, config)
    seconds, heard = await studied(engine, args.lanes, config)
    alone = Overheard(engine, args.lanes)
    started = time.perf_counter()
    await asyncio.gather(*(alone.generate(*one) for one in heard.asked))
    bare_s = time.perf_counter() - started
    await engine.aclose()
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
        "study_full": heard.lane_seconds / (args.lanes * seconds),
        "bare_tokens": alone.tokens,
        "bare_s": bare_s,
        "bare_full": alone.lane_seconds / (args.lanes * bare_s),
        "ratio": (heard.tokens / seconds) / (alone.tokens / bare_s),
    }


def told(found: dict[str, Any]) -> str:
    study, bare = found["study_tokens"] / found["study_s"], found["bare_tokens"] / found["bare_s"]
    return (
        f"`{found['model']}`, {found['dtype']}, {found['hardware']}, {found['lanes']} lanes, "
        f"{found['questions']} questions, {found['requests']:,} requests: the study wrote "
        f"{found['study_tokens']:,} tokens at {study:,.0f} tokens/s, the bare loop {found['bare_tokens']:,} at "
        f"{bare:,.0f}; the ratio is {found['ratio']:.2f}. On average {found['study_full']:.0%} of the lanes had "
        f"something to write, in the bare loop {found['bare_full']:.0%}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model", default=str(pebble_hf()), help=f"A folder, or random: and one of {', '.join(SHAPES)}."
    )
    parser.add_argument("--task", default="families")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--limit", type=int, default=64)
    parser.add_argument("--budgets", default="256,512,1024")
    parser.add_argument("--lanes", type=int, default=512)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with model_folder(args.model) as folder:
        found = asyncio.run(measured(folder, args))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(told(found))


if __name__ == "__main__":
    main()
