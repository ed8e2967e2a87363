"""Simulated questions whose truth is known: harder ones have longer chains, some chains loop for ever."""

from __future__ import annotations

import numpy as np

from thinkcap.allocate.envelope import Measured
from thinkcap.allocate.split import Pass, Passes
from thinkcap.allocate.stop_fit import Chains

CAPS = (32, 64, 96, 128, 192, 256, 384, 512)
CUTS = (16, 32, 64, 96, 160, 224, 336, 448)
ANSWERS = (16, 32, 64)


def measured(n: int, seed: int, looping: float = 0.1) -> Measured:
    rng = np.random.default_rng(seed)
    hard = rng.gamma(2, 1, n)
    x = np.zeros((n, 13))
    x[:, 0], x[:, 5] = hard * 50 + rng.normal(0, 20, n), rng.poisson(3, n)
    loops = rng.random(n) < looping
    length = np.where(loops, 5000, np.maximum(10, 60 * hard + rng.lognormal(4, 0.7, n))).astype(np.int64)
    quick = np.maximum(5, 8 * hard + rng.normal(5, 2, n)).astype(np.int64)
    quick_right = rng.random(n) < np.clip(1.1 - 0.18 * hard, 0, 1)
    right = rng.random(n) < 0.98
    luck = rng.random(n)
    needed = np.where(loops, 300, length) * 0.6

    def nothink(b: int) -> Pass:
        ended = quick <= b
        return Pass(ended, ended & quick_right, np.minimum(quick, b))

    def think(b: int) -> Pass:
        ended = length <= b
        return Pass(ended, ended & right, np.minimum(length, b))

    def close(t: int, a: int) -> Pass:
        ended, done = length <= t, np.clip(t / needed, 0, 1)
        writes = (8 + 10 * (1 - done)).astype(np.int64)
        good = (luck < 0.3 + 0.67 * done) & (writes <= a)
        return Pass(ended, np.where(ended, right, good), np.where(ended, length, t + np.minimum(a, writes)))

    shown = [np.where(length <= t, -1, np.where(loops & (t >= 160), 2, (t > 0.7 * length) * 1)) for t in CUTS]
    chains = {}
    for a in ANSWERS:
        cells = [close(t, a) for t in CUTS]
        chains[a] = Chains(
            CUTS,
            np.minimum(length, CAPS[-1]),
            length <= CAPS[-1],
            (length <= CAPS[-1]) & right,
            np.stack(shown, axis=1),
            np.stack([c.right for c in cells], axis=1),
            np.stack([c.tokens - t for c, t in zip(cells, CUTS, strict=True)], axis=1),
        )
    fixed = {
        "nothink": {c: nothink(c) for c in CAPS},
        "think": {c: think(c) for c in CAPS},
        "close": {c: close(c - min(32, c // 2), min(32, c // 2)) for c in CAPS},
    }
    thought = {("close", t, a): close(t, a) for t in CUTS for a in ANSWERS}
    return Measured(CAPS, fixed, Passes({b: nothink(b) for b in (16, 48, *CAPS)}, thought), chains, x)  # type: ignore[arg-type]
