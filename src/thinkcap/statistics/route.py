"""Which questions to send on to thinking: routers replayed over stored outcomes of both modes.

Inside the routed set the thinking answer counts, outside the direct one; the direct pass is always paid.

    >>> r = by_length(both([0, 1, 1], [1, 1, 0], [9, 5, 3], [20, 20, 20]), share=1/3)
    >>> r.recovered, r.regretted, r.right
    (1, 0, 3)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.arrays import Bools, Ints, aligned, bools, counts


@dataclass(frozen=True)
class Routing:
    n: int
    routed: int
    recovered: int
    """Direct wrong, thinking right, among the routed."""
    regretted: int
    """Direct right, thinking wrong, among the routed."""
    right: int
    mean_tokens: float

    @property
    def net(self) -> int:
        return self.recovered - self.regretted

    @property
    def accuracy(self) -> float:
        return self.right / self.n


@dataclass(frozen=True)
class Both:
    """Both modes' outcomes on the same questions, in the same order."""

    direct_right: Bools
    think_right: Bools
    direct_tokens: Ints
    think_tokens: Ints

    def __post_init__(self) -> None:
        n = aligned(direct=self.direct_right, think=self.think_right, dt=self.direct_tokens, tt=self.think_tokens)
        if n == 0:
            raise DataError("no questions to route")

    @property
    def n(self) -> int:
        return len(self.direct_right)


def both(
    direct_right: ArrayLike, think_right: ArrayLike, direct_tokens: ArrayLike, think_tokens: ArrayLike
) -> Both:
    return Both(bools(direct_right), bools(think_right), counts(direct_tokens), counts(think_tokens))


def replay(runs: Both, routed: ArrayLike) -> Routing:
    """Any router at all: True where the question goes on to thinking."""
    chosen = bools(routed)
    aligned(routed=chosen, direct=runs.direct_right)
    won = chosen & runs.think_right & ~runs.direct_right
    lost = chosen & ~runs.think_right & runs.direct_right
    tokens = float(runs.direct_tokens.sum() + runs.think_tokens[chosen].sum())
    gained, given = int(won.sum()), int(lost.sum())
    right = int(runs.direct_right.sum()) + gained - given
    return Routing(runs.n, int(chosen.sum()), gained, given, right, tokens / runs.n)


def _top(keys: Ints, count: int) -> Bools:
    chosen = np.zeros(len(keys), dtype=np.bool_)
    # Stable, so ties go to the earlier question: the same set on every machine.
    chosen[np.argsort(keys, kind="stable")[:count]] = True
    return chosen


def _count(share: float, n: int) -> int:
    if not 0 <= share <= 1:
        raise ConfigError(f"a routed share lies between 0 and 1, got {share}")
    return round(share * n)


def by_length(runs: Both, share: float, *, longest: bool = True) -> Routing:
    """The share with the longest (or shortest) direct answers; answers that hit the cap come first."""
    keys = -runs.direct_tokens if longest else runs.direct_tokens
    return replay(runs, _top(keys, _count(share, runs.n)))


def oracle(runs: Both) -> Routing:
    """Route exactly where thinking repairs the direct answer."""
    return replay(runs, runs.think_right & ~runs.direct_right)


def oracle_at(runs: Both, share: float) -> Routing:
    """The oracle at a given share: repairs first, then questions that lose nothing, then losses."""
    gain = runs.think_right.astype(np.int64) - runs.direct_right.astype(np.int64)
    return replay(runs, _top(-gain, _count(share, runs.n)))


@dataclass(frozen=True)
class RandomRouting:
    """A random set of fixed size: exact expectation, and draws for the spread."""

    share: float
    recovered: float
    regretted: float
    accuracy: float
    mean_tokens: float
    draws: int
    accuracy_mean: float | None
    accuracy_sd: float | None


def random_share(runs: Both, share: float, *, draws: int = 100, seed: int = 0) -> RandomRouting:
    """Closed form: r R+ and r R- of routing everything; `draws` uniform sets show the spread.

    r is the share of whole questions that is really routed, in the closed form and in the draws alike.
    """
    everything = replay(runs, np.ones(runs.n, dtype=np.bool_))
    count = _count(share, runs.n)
    r = count / runs.n
    won, lost = r * everything.recovered, r * everything.regretted
    accuracy = (int(runs.direct_right.sum()) + won - lost) / runs.n
    tokens = float(runs.direct_tokens.mean() + r * runs.think_tokens.mean())
    mean = sd = None
    if draws:
        rng = np.random.default_rng(seed)
        seen = []
        for _ in range(draws):
            chosen = np.zeros(runs.n, dtype=np.bool_)
            chosen[rng.choice(runs.n, count, replace=False)] = True
            seen.append(replay(runs, chosen).accuracy)
        mean, sd = float(np.mean(seen)), float(np.std(seen, ddof=1)) if draws > 1 else None
    return RandomRouting(r, won, lost, accuracy, tokens, draws, mean, sd)


def cascade_grid(
    direct: dict[int, tuple[Bools, Bools, Ints]], think: dict[int, tuple[Bools, Ints]]
) -> dict[tuple[int, int], Routing]:
    """Every (B1, B2) with B2 > B1: route the direct answers that did not end at B1 to thinking at B2.

    `direct[B1]` is (right, ended, tokens), `think[B2]` is (right, tokens), all in one question order.
    """
    grid = {}
    for b1, (right, ended, tokens) in sorted(direct.items()):
        for b2, (thought, spent) in sorted(think.items()):
            if b2 > b1:
                grid[b1, b2] = replay(Both(right, thought, tokens, spent), ~ended)
    return grid
