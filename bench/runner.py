"""How fast a study is where the model costs nothing: rows a second of one core, and what each part of a row takes.

    python bench/runner.py [--questions 1000] [--repeat 3]

An engine that knows all its tokens beforehand answers at once, so that what is left is the runner: flows, traces,
grading and rows. Everything it was asked is asked again in a bare loop, and what that takes is told apart.
Processor seconds, of this process alone, the least of several runs: others on the machine only add to them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from thinkcap.core.engine import Emit, EngineCard, Output, Prompt
from thinkcap.core.types import Request, Sampling, Span
from thinkcap.study.config import StudyConfig
from thinkcap.study.run import run

STUDIES = {
    "cuts and closes": (("nothink", "think", "think[heuristic]", "close"), (256, 512, 1024, 2048)),
    "six methods": (("think", "nothink", "close", "split", "town", "iris"), (256, 512, 1024)),
}
END, CLOSE, HASHES, FIRST = range(4)
_WORDS = (
    "so the first one has some more than that and we take 12 of 30 , which is = 42 . Wait , check : 6 x 7 = 42 ."
)
_TEXTS = ["", "</think>", "\n####", *(f" {word}" for word in _WORDS.split())]
_CLOSED = "</think>"


class Instant:
    """Writes a chain of a length of its own for every prompt, at once."""

    def __init__(self) -> None:
        self.card = EngineCard("instant", "instant", "instant", "ids", close_id=CLOSE, concurrency=256, stops=True)
        self.prompts: list[Request] = []
        self.asked: list[tuple[Prompt, int, Sampling]] = []
        self.decoded: list[Sequence[int]] = []
        self._asked: dict[str, tuple[int, ...]] = {}

    async def prompt(self, request: Request) -> Prompt:
        self.prompts.append(request)
        text = "".join(str(message["content"]) for message in request.messages)
        ids = self._asked.get(text) or self._asked.setdefault(
            text, tuple(zlib.crc32(word.encode()) >> 12 for word in text.split())
        )
        ids += (3 if request.mode == "think" else 4,)
        for span in request.inserts:
            ids += span.ids or ()
        forced = 0
        for part in request.prefill:
            words = part.ids or () if isinstance(part, Span) else (5,) * len(part.split())
            forced += len(words) if isinstance(part, str) else 0
            ids += words
        closed = request.mode == "nothink" or any(_CLOSED in str(part) for part in request.prefill)
        opened = bool(request.prefill) and not closed
        return Prompt(ids, forced=forced, opened=opened, closed=closed, tokens=len(ids))

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        self.asked.append((prompt, limit, sampling))
        rng = Random(hash(prompt.ids))
        thought = 0 if prompt.closed else min(2600, int(rng.lognormvariate(5.6, 0.8)) + 20)
        chain = [FIRST + at % (len(_TEXTS) - FIRST) for at in range(thought)]
        answer = [FIRST + at % (len(_TEXTS) - FIRST) for at in range(rng.randint(8, 90))] + [HASHES, FIRST + 11]
        ids = tuple([*chain, *([CLOSE] if chain else []), *answer, END][:limit])
        text, ended = _text(ids), ids[-1] == END
        return Output(text, ended, len(ids), ids=ids, generated=len(ids), prompt_tokens=prompt.tokens)

    async def read(self, ids: Sequence[int]) -> str:
        self.decoded.append(ids)
        return _text(ids)

    async def aclose(self) -> None:
        return


async def again(engine: Instant) -> None:
    """All that an engine was asked, with nothing around it."""
    bare = Instant()
    for request in engine.prompts:
        await bare.prompt(request)
    for prompt, limit, sampling in engine.asked:
        await bare.generate(prompt, limit, sampling)
    for ids in engine.decoded:
        await bare.read(ids)


def _text(ids: Sequence[int]) -> str:
    return "".join([_TEXTS[i] for i in ids])


@dataclass(frozen=True)
class Measured:
    rows: int
    requests: int
    spent_s: float
    engine_s: float

    @property
    def row_ms(self) -> float:
        return 1000 * (self.spent_s - self.engine_s) / self.rows

    def __str__(self) -> str:
        counts = f"{self.rows:,} | {self.requests:,} | {self.spent_s:.1f} | {self.engine_s:.1f}"
        return f"{counts} | {self.row_ms:.3f} | {1000 / self.row_ms:,.0f}"


def measured(policies: Sequence[str], budgets: Sequence[int], questions: int) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "questions.jsonl"
        asked = ({"id": f"q{i}", "question": f"Question {i}: 6 x 7?", "answer": "42"} for i in range(questions))
        file.write_text("".join(json.dumps(q) + "\n" for q in asked))
        config = StudyConfig.from_mapping(
            {"tasks": [str(file)], "policies": list(policies), "budgets": list(budgets), "out": f"{folder}/run"}
        )
        engine = Instant()
        started = time.process_time()
        result = asyncio.run(run(config, engine=engine))
        spent = time.process_time() - started
        rows = len(result.rows)
    started = time.process_time()
    asyncio.run(again(engine))
    return Measured(rows, len(engine.asked), spent, time.process_time() - started)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--questions", type=int, default=1000)
    options.add_argument("--repeat", type=int, default=3)
    chosen = options.parse_args()
    measured(("nothink",), (8,), 2)  # imports on the way are no part of a row
    print("| study | rows | requests | CPU s | of them the engine's | ms a row | rows/s |")
    print("|---|---|---|---|---|---|---|")
    for name, (policies, budgets) in STUDIES.items():
        runs = [measured(policies, budgets, chosen.questions) for _ in range(chosen.repeat)]
        print(f"| {name} | {min(runs, key=lambda run: run.row_ms)} |", flush=True)


if __name__ == "__main__":
    main()
