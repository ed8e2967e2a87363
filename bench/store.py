"""A trace store at scale: size of a trace, time to open, lookups and writes a second.

    python bench/store.py --traces 1000000 --tokens 1000

Ids are drawn like those of a large vocabulary: frequent ones often, with stretches repeated from earlier in the
trace, as thoughts repeat themselves. Prints one JSON object; with `--page docs/study.md` the figures go there. A
million traces need two gigabytes where `--out` is.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from page import written
from thinkcap.traces.store import TraceStore
from thinkcap.traces.trace import Trace

_BATCH = 512
"""Traces written side by side, as many flows would."""


class Ids:
    def __init__(self, vocabulary: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        weight = 1.0 / np.arange(1, vocabulary + 1)
        self._chances = np.cumsum(weight / weight.sum())
        self._order = self._rng.permutation(vocabulary)

    def trace(self, tokens: int) -> tuple[int, ...]:
        ids = self._order[np.searchsorted(self._chances, self._rng.random(tokens)).clip(max=len(self._order) - 1)]
        at = 16
        while at < tokens - 8:
            length = int(self._rng.integers(3, 9))
            if self._rng.random() < 0.35:
                source = int(self._rng.integers(0, at - length))
                ids[at : at + length] = ids[source : source + length]
            at += length
        return tuple(ids.tolist())


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


async def fill(store: TraceStore, count: int, tokens: int, ids: Ids) -> float:
    """Seconds spent in the store, drawing the ids not counted."""
    pool = [ids.trace(tokens) for _ in range(4096)]
    spent = 0.0
    for begin in range(0, count, _BATCH):
        some = range(begin, min(begin + _BATCH, count))
        # Every trace another one, without drawing each anew: two halves of drawn ones.
        traces = [
            Trace(pool[n % 4096][: tokens // 2] + pool[n * 7 % 4093][tokens // 2 :], True, 4096, wall_s=0.1)
            for n in some
        ]
        started = time.perf_counter()
        await asyncio.gather(*(store.put(key(n), trace) for n, trace in zip(some, traces, strict=True)))
        spent += time.perf_counter() - started
    return spent


def look_up(path: Path, count: int, lookups: int) -> dict[str, float]:
    started = time.perf_counter()
    store = TraceStore.open(path, None)
    opened = time.perf_counter() - started
    rng = random.Random(7)
    wanted = [rng.randrange(count) for _ in range(lookups)]
    times = []
    for number in wanted:
        begun = time.perf_counter()
        assert store.get(key(number)) is not None
        times.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    for number in range(lookups):
        assert store.get(key(count + number)) is None
    absent = lookups / (time.perf_counter() - begun)
    begun = time.perf_counter()
    contents = store.contents()
    counted = time.perf_counter() - begun
    assert contents.traces == count
    store.close()
    times.sort()
    return {
        "open_s": round(opened, 4),
        "lookups_per_s": round(lookups / sum(times)),
        "lookup_p50_ms": round(1e3 * times[lookups // 2], 3),
        "lookup_p99_ms": round(1e3 * times[int(lookups * 0.99)], 3),
        "absent_lookups_per_s": round(absent),
        "contents_s": round(counted, 2),
    }


def measured(path: Path, count: int, tokens: int, vocabulary: int, lookups: int) -> dict[str, Any]:
    async def write() -> float:
        with TraceStore.open(path, "bench") as store:
            return await fill(store, count, tokens, Ids(vocabulary, 1))

    spent = asyncio.run(write())
    size = path.stat().st_size
    return {
        "traces": count,
        "tokens": tokens,
        "vocabulary": vocabulary,
        "bytes_per_trace": round(size / count),
        "bytes_per_token": round(size / count / tokens, 3),
        "gigabytes": round(size / 1e9, 3),
        "writes_per_s": round(count / spent),
        **look_up(path, count, min(lookups, count)),
        "cores": os.cpu_count(),
    }


def told(found: Mapping[str, Any]) -> str:
    """As a page shows it."""
    rows = {
        "on disk": f"{found['gigabytes']:.2f} GB, {found['bytes_per_trace']:,} bytes a trace, "
        f"{found['bytes_per_token']:.2f} a token",
        "opened in": f"{1000 * found['open_s']:.0f} ms",
        "lookups at random": f"{found['lookups_per_s']:,} a second; half within {found['lookup_p50_ms']:.2f} ms, "
        f"99 of 100 within {found['lookup_p99_ms']:.2f} ms",
        "lookups of what is not there": f"{found['absent_lookups_per_s']:,} a second",
        "written": f"{found['writes_per_s']:,} a second, {_BATCH} flows at once, each on disk when it returns",
        "counted and summed": f"{found['contents_s']:.1f} s (`thinkcap traces show`)",
    }
    head = f"| {found['traces']:,} traces of {found['tokens']:,} tokens, vocabulary {found['vocabulary']:,} | |"
    return "\n".join([head, "|---|---|", *(f"| {what} | {value} |" for what, value in rows.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=1_000_000)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--vocabulary", type=int, default=151_936)
    parser.add_argument("--lookups", type=int, default=20_000)
    parser.add_argument("--out", type=Path, help="Folder for the store; a temporary one by default.")
    parser.add_argument("--page", type=Path, help="Write the figures between the marks of this page.")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.out) as folder:
        path = Path(folder) / "traces.sqlite"
        found = measured(path, args.traces, args.tokens, args.vocabulary, args.lookups)
    print(json.dumps(found, indent=1))
    if args.page:
        written(args.page, "store", told(found))


if __name__ == "__main__":
    main()
