"""How long `thinkcap --help` takes, beside Python's own start.

python bench/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def milliseconds(*command: str, repeat: int = 15) -> float:
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


if __name__ == "__main__":
    floor = milliseconds(sys.executable, "-c", "pass")
    ours = milliseconds(sys.executable, "-m", "thinkcap", "--help")
    print(f"python -c pass   {floor:6.1f} ms (median)")
    print(f"thinkcap --help  {ours:6.1f} ms (median, goal 150), {ours / floor:.1f} times Python's own start")
