"""Has a base model try training questions in several ways, by the product's own engine and grader.

    python -m training.hybrid.attempts out/base gsm8k_train.jsonl math_train.jsonl --out out/attempts.jsonl

A question is tried until one answer leads the next by two, or in all ways. Whatever is done at the time limit is
kept; run again, it goes on with the questions that are not in the file. `--held-out` questions are never tried:
they are written beside the attempts, to choose between models without looking at a test set.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, TextIO

from thinkcap.core.complete import complete
from thinkcap.core.engine import Engine
from thinkcap.core.prompts import PROMPTS
from thinkcap.core.types import Kind, Mode, Question, Request, Sampling
from thinkcap.engines import open_engine
from thinkcap.grading import Grader
from thinkcap.policies.stages import read
from training.hybrid.ways import WAYS

LEAD = 2
"""Votes by which an answer must be ahead to be taken."""
_SYSTEM = "You are a helpful assistant."
_ROOM: dict[Kind, int] = {"number": 384, "math": 768}
"""Most tokens of one try."""


@dataclass(frozen=True)
class Problem:
    id: str
    text: str
    gold: str
    kind: Kind


@dataclass(frozen=True)
class Attempt:
    way: str
    text: str
    tokens: int
    answer: str | None
    """None where the try did not end or states no answer."""
    vote: int
    """Tries of one number gave the same answer; -1 without one."""
    right: bool


def problems(path: Path) -> list[Problem]:
    """GSM8K's lines (`question`, a worked `answer`) or MATH's (`problem`, a bare `answer`)."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        if "problem" in row:
            found.append(Problem(f"{path.stem}/{number}", row["problem"], str(row["answer"]), "math"))
        else:
            gold = row["answer"].split("####")[-1].strip()
            found.append(Problem(f"{path.stem}/{number}", row["question"], gold, "number"))
    return found


def mixed(files: Sequence[list[Problem]], shares: Sequence[int], rng: Random) -> Iterator[Problem]:
    """Shuffled, and dealt out in these shares, so that any beginning of it is a fair sample."""
    decks = [rng.sample(file, len(file)) for file in files]
    while any(decks):
        for deck, share in zip(decks, shares, strict=True):
            for _ in range(min(share, len(deck))):
                yield deck.pop()


def leader(votes: Sequence[int], lead: int = LEAD) -> int | None:
    """The vote that is ahead of every other by `lead`."""
    counts = sorted(((votes.count(v), v) for v in set(votes) if v >= 0), reverse=True)
    if not counts:
        return None
    second = counts[1][0] if len(counts) > 1 else 0
    return counts[0][1] if counts[0][0] - second >= lead else None


class Trier:
    def __init__(self, engine: Engine, grader: Grader, mode: Mode, heat: float, out: TextIO) -> None:
        self._engine, self._grader = engine, grader
        self._mode, self._heat, self._out = mode, heat, out
        self.tokens = self.tries = self.right = self.done = 0

    async def question(self, problem: Problem, seed: int) -> None:
        """Tries until it is decided; what there is when time is up is kept too."""
        ways = Random(f"{seed} {problem.id}").sample(list(WAYS), len(WAYS))
        tries: list[Attempt] = []
        try:
            for number, way in enumerate(ways):
                tries.append(await self._attempt(problem, way, seed + number, tries))
                if leader([one.vote for one in tries]) is not None:
                    break
        finally:
            if tries:
                line = {**asdict(problem), "attempts": [asdict(one) for one in tries]}
                self._out.write(json.dumps(line) + "\n")
                self.done += 1

    async def _attempt(self, problem: Problem, way: str, seed: int, before: Sequence[Attempt]) -> Attempt:
        asked = f"{problem.text}\n{WAYS[way].asked}".strip()
        messages: tuple[dict[str, Any], ...] = (
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": PROMPTS.asked(asked, problem.kind)},
        )
        question = Question(problem.id, messages, kind=problem.kind)
        sampling = Sampling(self._heat, 0.95, seed)
        request = Request(question, self._mode, _ROOM[problem.kind], "attempt", sampling=sampling)
        done = await complete(self._engine, request)
        found = read(question, done.text)
        answer = found.answer if done.ended and not found.weak else None
        right = answer is not None and await self._grader.grade(problem.gold, answer, problem.kind) == "right"
        self.tokens += done.tokens
        self.tries += 1
        self.right += right
        vote = await self._vote(problem, answer, before)
        return Attempt(way, done.text.strip(), done.tokens, answer, vote, right)

    async def _vote(self, problem: Problem, answer: str | None, before: Sequence[Attempt]) -> int:
        if answer is None:
            return -1
        for one in before:
            if one.answer is not None and await self._grader.same(one.answer, answer, problem.kind):
                return one.vote
        return max((one.vote for one in before), default=-1) + 1


async def collect(trier: Trier, waiting: Iterator[Problem], flows: int, limit_s: float, seed: int) -> None:
    async def lane() -> None:
        for problem in waiting:
            await trier.question(problem, seed)

    lanes = [asyncio.ensure_future(lane()) for _ in range(flows)]
    _, late = await asyncio.wait(lanes, timeout=limit_s)
    for task in late:
        task.cancel()
    results = await asyncio.gather(*lanes, return_exceptions=True)
    for error in results:
        if isinstance(error, Exception):
            raise error


async def run(args: argparse.Namespace) -> None:
    rng = Random(args.seed)
    files = [problems(path) for path in args.questions]
    held = [rng.sample(file, min(args.held_out, len(file) // 2)) for file in files]
    kept = args.out.with_name("held_out.jsonl")
    rows = ({"question": p.text, "gold": p.gold} for p in held[0])
    kept.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    apart = {problem.id for file in held for problem in file}
    known = set()
    if args.out.exists():
        known = {json.loads(line)["id"] for line in args.out.read_text(encoding="utf-8").splitlines()}
    shares = [int(word) for word in args.shares.split(",")]
    order = [p for p in mixed(files, shares, rng) if p.id not in apart | known]
    order = order[: args.limit] if args.limit else order
    engine = await open_engine(str(args.model), concurrency=args.lanes)
    started = time.monotonic()
    with args.out.open("a", encoding="utf-8") as out:
        async with Grader(workers=args.graders) as grader:
            trier = Trier(engine, grader, args.mode, args.heat, out)
            await collect(trier, iter(order), args.lanes + args.lanes // 4, args.limit_s, args.seed)
    seconds = time.monotonic() - started
    await engine.aclose()
    print(
        f"{trier.done:,} questions, {trier.tries:,} tries, {trier.right / max(1, trier.tries):.1%} right, "
        f"{trier.tokens:,} tokens in {seconds:.0f} s: {trier.tokens / seconds:,.0f} tokens/s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shares", default="3,1", help="How many of each file in turn.")
    parser.add_argument("--mode", default="think", help="A base without modes reads a plain prompt in either.")
    parser.add_argument("--heat", type=float, default=0.7, help="Temperature.")
    parser.add_argument("--lanes", type=int, default=512)
    parser.add_argument("--graders", type=int, default=6)
    parser.add_argument("--held-out", type=int, default=400, help="Questions of each file that are never tried.")
    parser.add_argument("--limit", type=int, default=0, help="Questions at most; 0: all.")
    parser.add_argument("--limit-s", type=float, default=270.0)
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
