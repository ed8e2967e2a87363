"""Which questions to send on to thinking: routers replayed over stored outcomes of both modes.

Inside the routed set the thinking answer counts, outside the direct one; the direct pass is always paid.

    >>> r = replay(Both.of([0, 1, 1], [1, 1, 0], [9, 5, 3], [20, 20, 20]), [1, 0, 0])
    >>> r.recovered, r.regretted, r.right
    (1, 0, 3)
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
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

    @classmethod
    def of(
        cls, direct_right: ArrayLike, think_right: ArrayLike, direct_tokens: ArrayLike, think_tokens: ArrayLike
    ) -> Both:
        return cls(bools(direct_right), bools(think_right), counts(direct_tokens), counts(think_tokens))


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
