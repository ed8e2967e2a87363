"""How long grading takes: 10,000 ordinary answers, and a megabyte of text made to be slow.

    python bench/grading.py [--data FOLDER]

With the benchmarks' folder (or THINKCAP_DATA) the answers are MATH-500 and GSM8K golds in other spellings;
without it they are made from seeded numbers, fractions and formulas.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import time
from pathlib import Path

from thinkcap.core.types import Kind
from thinkcap.grading import Grader, extract

Case = tuple[str, str, Kind]
SPELLINGS = (
    "{}",
    "${}$",
    "So we get \\boxed{{{}}}.",
    "<think>Let me see. Is it 17?</think>\n\nThe final answer is ${}$.",
    "Adding both gives {}.",
)


def ordinary(count: int, data: Path | None) -> list[Case]:
    """Right and wrong answers in the spellings models use."""
    chance = random.Random(0)
    golds = _benchmark_golds(data) if data else _made_golds(chance)
    cases: list[Case] = []
    while len(cases) < count:
        gold, kind = chance.choice(golds)
        other = gold if chance.random() < 0.6 else chance.choice(golds)[0]
        cases.append((gold, chance.choice(SPELLINGS).format(other), kind))
    return cases


def _benchmark_golds(data: Path) -> list[tuple[str, Kind]]:
    from thinkcap.tasks import load

    out: list[tuple[str, Kind]] = []
    for name in ("math500", "gsm8k"):
        task = load(name, data=data)
        out += [(task.golds[q.id], q.kind or "math") for q in task.questions]
    return out


def _made_golds(chance: random.Random) -> list[tuple[str, Kind]]:
    def formula() -> str:
        a, b, c = (chance.randint(2, 99) for _ in range(3))
        return chance.choice(
            [
                f"\\frac{{{a}}}{{{b}}}",
                f"{a}\\sqrt{{{b}}}",
                f"({a}, {b}, -{c})",
                f"{a}x^2 - {b}x + {c}",
                f"[{a}, {a + b})",
                f"\\begin{{pmatrix}} {a} \\\\ {b} \\end{{pmatrix}}",
                f"{a}^\\circ",
            ]
        )

    return [(formula(), "math") for _ in range(500)] + [
        (f"{chance.randint(1, 10**6)}", "number") for _ in range(500)
    ]


def adversarial(size: int) -> dict[str, str]:
    return {
        "nested braces": "{" * size,
        "open boxes": "\\boxed{" * (size // 7),
        "dollars": "$1" * (size // 2),
        "digits": "1" * size,
        "unicode": "½√" * (size // 2),
        "markers": "the answer is " * (size // 14),
    }


async def grade_all(cases: list[Case], workers: int) -> tuple[float, dict[str, int]]:
    async with Grader(workers=workers) as grader:
        started = time.perf_counter()
        verdicts = await asyncio.gather(*(grader.grade(*case) for case in cases))
        seconds = time.perf_counter() - started
    return seconds, {v: verdicts.count(v) for v in ("right", "wrong", "unreadable")}  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=os.environ.get("THINKCAP_DATA"))
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    cases = ordinary(options.count, Path(options.data) if options.data else None)
    seconds, verdicts = asyncio.run(grade_all(cases, options.workers))
    print(f"grader {Grader.version}, {options.workers} workers")
    print(f"{len(cases)} ordinary answers: {seconds:.1f} s  {verdicts}")
    for name, text in adversarial(1_000_000).items():
        started = time.perf_counter()
        extract(text, "math")
        print(f"extract from 1 MB of {name}: {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
