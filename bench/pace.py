"""How right is the time left that a study tells? Real studies of the bundled model, and what they told on the way.

    python bench/pace.py [--questions 200]

What is told is noted every second; once the study has ended the truth is known. The last column is the worst
factor between what was told and what it took, from a tenth of the way to nine tenths (the goal: at most 1.5).
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from dataclasses import dataclass, field

from thinkcap.study.config import StudyConfig
from thinkcap.study.progress import Progress
from thinkcap.study.run import run

STUDIES = {
    "both modes and `close`, 16 budgets": {
        "policies": ["nothink", "think", "close"],
        "budgets": [32, 48, 64, 96, 128, 192, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048],
    },
    "six methods, three budgets": {
        "policies": ["think", "nothink", "close", "split", "town", "iris"],
        "budgets": [256, 512, 1024],
    },
    "both modes, every budget by itself": {
        "policies": ["nothink", "think"],
        "budgets": [128, 512, 2048],
        "online": True,
    },
    "three samples a vote": {"policies": ["vote(samples=3)", "think"], "budgets": [512, 1024]},
}
SHOWN = (0.1, 0.25, 0.5, 0.75, 0.9)
_EVERY_S = 1.0


@dataclass
class Told:
    """What was told, by seconds since the start, and when the last row was done."""

    started: float = field(default_factory=time.monotonic)
    lines: list[tuple[float, float]] = field(default_factory=list)
    ended: float = 0.0

    def __call__(self, progress: Progress) -> None:
        self.ended = now = time.monotonic() - self.started
        if self.lines and now - self.lines[-1][0] < _EVERY_S:
            return
        left = progress.left()
        if left is not None:
            self.lines.append((now, left))

    def at(self, second: float) -> float:
        """What was last told by then, counted on."""
        said, left = max((line for line in self.lines if line[0] <= second), default=self.lines[0])
        return max(0.0, left - (second - said))


async def studied(settings: dict[str, object], questions: int) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        config = StudyConfig.from_mapping({**settings, "limit": questions, "out": f"{folder}/run"})
        told = Told()
        await run(config, watch=told)
    return told


def off(told: float, true: float) -> float:
    return max(told / true, true / told) if told > 0 else float("inf")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--questions", type=int, default=200)
    questions = options.parse_args().questions
    told_at = " | ".join(f"at {share:.0%}: told, true" for share in SHOWN)
    print(f"| study | took, s | {told_at} | worst factor |")
    print("|---|---|" + "---|" * len(SHOWN) + "---|")
    for name, settings in STUDIES.items():
        told = asyncio.run(studied(settings, questions))
        took = told.ended
        shown = [f"{told.at(share * took):.0f}, {(1 - share) * took:.0f}" for share in SHOWN]
        worst = max(off(left, took - now) for now, left in told.lines if 0.1 * took <= now <= 0.9 * took)
        print(f"| {name} | {took:.0f} | {' | '.join(shown)} | {worst:.2f} |", flush=True)


if __name__ == "__main__":
    main()
