"""What spending tokens well is worth: allocator, optimal split, stops and `auto`, on questions none of them saw.

    python bench/allocation.py measure --runs runs/allocation --fit 500 --judge 2000
    python bench/allocation.py judge --runs runs/allocation --figures docs/img --page docs/allocation.md
    python bench/allocation.py records --data DATA --page docs/allocation.md
    python bench/allocation.py guarantee --page docs/allocation.md

`measure` runs studies of 125 questions each, `fit-NN` and `judge-NN`, from different seeds; killed, it goes on
where it was. `judge` fits on the first, replays on the second, prints every figure of docs/allocation.md and draws
its pictures. `records` does what stored logs allow. `guarantee` simulates the stated risk. `--page` writes what is
printed into the page.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import sys
from pathlib import Path

import numpy as np

from page import written
from thinkcap.allocate.guarantee import harm_p

CAPS = (32, 64, 96, 128, 192, 256, 384, 512, 768)
CUTS = (16, 32, 64, 96, 160, 224, 336, 448, 672)
RIVALS = ("close", "split", "iris", "town", "think[heuristic]")
CHUNK = 125
SEEDS = {"fit": 1000, "judge": 2000}


def policies() -> list[dict[str, object]]:
    plans: list[dict[str, object]] = [
        {"name": "nothink", "budgets": sorted({*CAPS, 16, 48})},
        {"name": "think", "budgets": list(CAPS)},
    ]
    for name, option, answers in (("close", "reserve", (16, 32, 64)), ("split", "answer", (32, 64))):
        plans += [{"name": name, option: a, "budgets": [t + a for t in CUTS if t > 16 or a < 64]} for a in answers]
    return plans + [{"name": name, "budgets": list(CAPS)} for name in RIVALS]


def measure(runs: Path, sizes: dict[str, int]) -> None:
    from thinkcap.api import run_study as run
    from thinkcap.study.config import StudyConfig

    for kind, size in sizes.items():
        for i in range(-(-size // CHUNK)):
            out = runs / f"{kind}-{i:02d}"
            if (out / "summary.json").exists():
                continue
            config = {"limit": CHUNK, "seeds": [SEEDS[kind] + i], "out": str(out), "policy": policies()}
            done = asyncio.run(run(StudyConfig.from_mapping(config)))
            print(f"{out}: {len(done.rows)} rows, {done.summary['tokens_generated']} tokens", flush=True)


class Tee(io.StringIO):
    """Prints on, and keeps what was printed."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text)  # type: ignore[union-attr]
        return super().write(text)


def guarantee(repetitions: int, risk: float, margin: float) -> None:
    """The truth is exactly at the margin: every certificate is a violation."""
    print(f"{repetitions} repetitions each, stated risk {risk}, truth exactly {margin} worse")
    for n in (60, 250, 1000):
        for flips in (0.03, 0.08, 0.2):
            rng = np.random.default_rng(n)
            wrong = 0
            for _ in range(repetitions):
                u = rng.random(n)
                lost, won = u < (flips + margin) / 2, (u >= (flips + margin) / 2) & (u < flips)
                fixed = rng.random(n) < 0.8
                candidate = np.where(lost, False, np.where(won, True, fixed))
                fixed = np.where(lost, True, np.where(won, False, fixed))
                wrong += harm_p(candidate, fixed, margin) <= risk
            print(f"  n = {n:>4}, answers that differ {100 * flips:4.1f} %: violations {wrong / repetitions:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("measure")
    two = verbs.add_parser("judge")
    for verb in (one, two):
        verb.add_argument("--runs", type=Path, default=Path("runs/allocation"))
    one.add_argument("--fit", type=int, default=500)
    one.add_argument("--judge", type=int, default=2000)
    two.add_argument("--figures", type=Path)
    two.add_argument("--margin", type=float, default=0.01)
    two.add_argument("--risk", type=float, default=0.1)
    two.add_argument("--price", type=float, default=0.0001)
    three = verbs.add_parser("records")
    three.add_argument("--data", type=Path, required=True)
    four = verbs.add_parser("guarantee")
    four.add_argument("--repetitions", type=int, default=500)
    for verb in (two, three, four):
        verb.add_argument("--page", type=Path, help="write what is printed between the marks of this page")
    given = parser.parse_args()
    if given.verb == "measure":
        measure(given.runs, {"fit": given.fit, "judge": given.judge})
        return
    with contextlib.redirect_stdout(Tee()) as kept:
        if given.verb == "judge":
            from allocation_judge import judge

            judge(given.runs, given.figures, given.margin, given.risk, given.price)
        elif given.verb == "records":
            from allocation_records import records

            records(given.data)
        else:
            guarantee(given.repetitions, 0.1, 0.01)
    if given.page:
        written(given.page, given.verb, f"```\n{kept.getvalue().strip()}\n```")


if __name__ == "__main__":
    main()
