"""Seconds to diagnose batch output without golds.

    python bench/traffic.py [--lines 100000]

Goal: 100,000 lines within 5 s.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

CAPS = (256, 1024, 4096)


def write_batch(path: Path, lines: int, seed: int = 0) -> None:
    """Lengths of one law, caps at random: what is cut is known, and every other cut answer is empty."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(1, rng.lognormal(6, 0.9, lines)).astype(int).tolist()
    caps = rng.choice(CAPS, lines).tolist()
    with path.open("w") as file:
        for number, (length, cap) in enumerate(zip(lengths, caps, strict=True)):
            ended, spent = length <= cap, min(length, cap)
            message = {
                "role": "assistant",
                "content": "The answer is 42." if ended else "" if number % 2 else "So far",
                "reasoning_content": "First we look at the question. " * 8,
            }
            body = {
                "id": f"chatcmpl-{number}",
                "object": "chat.completion",
                "model": "some-model",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop" if ended else "length"}],
                "usage": {"prompt_tokens": 40, "completion_tokens": spent},
            }
            reply = {"status_code": 200, "request_id": f"r{number}", "body": body}
            file.write(
                json.dumps({"id": f"b{number}", "custom_id": f"q{number}", "response": reply, "error": None})
            )
            file.write("\n")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--lines", type=int, default=100_000)
    lines = options.parse_args().lines
    from thinkcap.diagnose.diagnosis import diagnose
    from thinkcap.logs.door import read
    from thinkcap.verdict.page import as_json

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.jsonl"
        write_batch(path, lines)
        start, busy = time.perf_counter(), time.process_time()
        records = read([path])
        loaded = time.perf_counter()
        as_json(diagnose(records))
        done, worked = time.perf_counter(), time.process_time()
        print(
            f"{records.rows:,} batch lines ({path.stat().st_size / 2**20:.0f} MB): {done - start:.1f} s "
            f"({loaded - start:.1f} s reading), {worked - busy:.1f} s of one core"
        )


if __name__ == "__main__":
    main()
