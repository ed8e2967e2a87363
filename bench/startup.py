"""How long a command takes before it does anything of its own, beside Python's own start.

python bench/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time

GOAL_MS = 150
LOADED = "import thinkcap.api, thinkcap.calibrate.choice, thinkcap.engines.llamacpp, thinkcap.grading"
"""What `ask` loads, without the model: that one's time is not Python's."""


def milliseconds(*command: str, repeat: int = 15) -> float:
    times = []
    with tempfile.TemporaryDirectory() as empty:
        for _ in range(repeat):
            started = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=empty)
            times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


if __name__ == "__main__":
    floor = milliseconds(sys.executable, "-c", "pass")
    print(f"python -c pass      {floor:6.1f} ms (median of 15)")
    for verb, words in (
        ("thinkcap --help", ("-m", "thinkcap", "--help")),
        ("thinkcap runs", ("-m", "thinkcap", "runs")),
        ("thinkcap ask, loaded", ("-c", LOADED)),
    ):
        ours = milliseconds(sys.executable, *words)
        goal = f", goal {GOAL_MS}" if verb.endswith("--help") else ""
        print(f"{verb:20}{ours:6.1f} ms{goal}, {ours / floor:.1f} times Python's own start")
