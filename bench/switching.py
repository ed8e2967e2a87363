"""What a thread that calls into torch gets done beside a busy one: how often may Python be made to switch?

    python bench/switching.py [--seconds 2]

The model's thread of the `hf` engine gives up the interpreter at every such call and then has to wait for it,
while another thread makes rows. Here a hash of a block stands for the call: it gives the interpreter up as well.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import threading
import time

from thinkcap.engines.hf import _TURN_S

_BLOCK = bytes(16384)


def beside(interval_s: float | None, seconds: float) -> tuple[float, float]:
    """Calls a second of the one thread and turns a second of the busy one; None: no busy one at all."""
    turns, over = 0, threading.Event()

    def busy() -> None:
        nonlocal turns
        while not over.is_set():
            sum(range(100))
            turns += 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(interval_s or before)
    other = threading.Thread(target=busy)
    if interval_s:
        other.start()
    calls, started = 0, time.perf_counter()
    while time.perf_counter() < started + seconds:
        hashlib.sha256(_BLOCK)
        calls += 1
    spent = time.perf_counter() - started
    over.set()
    if interval_s:
        other.join()
    sys.setswitchinterval(before)
    return calls / spent, turns / spent


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--seconds", type=float, default=2.0)
    seconds = options.parse_args().seconds
    print("| Python switches | calls/s | turns/s of the busy thread |")
    print("|---|---|---|")
    print(f"| (no busy thread) | {beside(None, seconds)[0]:,.0f} | |")
    for interval_s in (0.005, 0.001, _TURN_S):
        calls, turns = beside(interval_s, seconds)
        print(f"| every {1000 * interval_s:g} ms | {calls:,.0f} | {turns:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
