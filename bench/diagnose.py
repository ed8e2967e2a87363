"""Seconds and memory of diagnosing a million rows, without and with a thousand bootstrap draws.

    python bench/diagnose.py [--rows 1000000]

Goals: 2 s without bootstrap, 20 s with, under 1 GB. Each run is a fresh process, so that its peak is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUDGETS = [64, 128, 256, 512, 1024, 2048, 4096, 8192]


def write_rows(path: Path, rows: int) -> None:
    """A study of both modes at eight budgets, in the shape `thinkcap study` writes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    n = rows // (2 * len(BUDGETS))
    questions = np.array([f"gsm-{i}" for i in range(n)])
    golds = np.array([f"{i:016x}" for i in range(n)])
    length = np.maximum(1, rng.lognormal(6.4, 0.8, n)).astype(np.int64)
    direct = np.maximum(1, rng.lognormal(4.9, 0.4, n)).astype(np.int64)
    luck, other = rng.random(n), rng.random(n)
    parts = []
    for mode, chain, good, bad in (("think", length, 0.97, 0.2), ("nothink", direct, 0.88, 0.1)):
        uniform = luck if mode == "think" else other
        for b in BUDGETS:
            ended = chain <= b
            right = uniform < np.where(ended, good, bad)
            parts.append(
                pa.table(
                    {
                        "task": pa.array(["toy"] * n),
                        "question": questions,
                        "group": pa.array(["all"] * n),
                        "model": pa.array(["m"] * n),
                        "policy": pa.array([mode] * n),
                        "budget": np.full(n, b),
                        "seed": np.zeros(n, dtype=np.int64),
                        "verdict": pa.array(np.where(right, "right", "wrong")),
                        "gold_hash": golds,
                        "ended": ended,
                        "tokens_charged": np.minimum(chain, b),
                        "stage": pa.array([mode] * n),
                    }
                )
            )
    pq.write_table(pa.concat_tables(parts), path, compression="zstd")


def measure(path: Path, draws: int) -> dict[str, float]:
    from thinkcap.diagnose.diagnosis import diagnose
    from thinkcap.diagnose.document import document
    from thinkcap.logs.door import read

    start, busy = time.perf_counter(), time.process_time()
    records = read([path])
    loaded = time.perf_counter()
    found = diagnose(records, draws=draws)
    text = json.dumps(document(found))
    done = time.perf_counter()
    return {
        "rows": records.rows,
        "read_s": loaded - start,
        "diagnose_s": done - loaded,
        "total_s": done - start,
        "cpu_s": time.process_time() - busy,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "json_kb": len(text) / 1024,
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--measure", nargs=2, metavar=("PATH", "DRAWS"), help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.measure:
        print(json.dumps(measure(Path(chosen.measure[0]), int(chosen.measure[1]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, chosen.rows)
        missed = 0
        for draws, goal in ((0, 2.0), (1000, 20.0)):
            command = [sys.executable, __file__, "--measure", str(path), str(draws)]
            seen = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            good = seen["total_s"] <= goal and seen["peak_mb"] < 1024
            missed += not good
            print(
                f"{seen['rows']:.0f} rows, {draws:4} draws: read {seen['read_s']:.2f} s + diagnose "
                f"{seen['diagnose_s']:.2f} s = {seen['total_s']:.2f} s (goal {goal:.0f}; "
                f"{seen['cpu_s']:.2f} s of CPU), "
                f"peak {seen['peak_mb']:.0f} MB (goal 1024){'' if good else '  MISSED'}"
            )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
