"""Do repeated rounds agree, and is agreement worth anything? Accepted first answers and escalated ones apart.

>>> c = convergence([1, 1, 0], [0, 1, 1], [1, 1, 0], [0, 2, 3])
>>> c.share_all, c.share_escalated, c.accuracy_converged, c.by_round
(0.6666666666666666, 0.5, 1.0, {2: 1, 3: 1})
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import aligned, bools, counts, share


@dataclass(frozen=True)
class Convergence:
    """Of questions given to several rounds: how many ended in two equal answers, and how right these are."""

    n: int
    escalated: int
    converged: int
    """Of the escalated ones."""
    right_converged: int
    right_open: int
    by_round: dict[int, int]
    """Escalated questions by the round they ended at."""

    @property
    def share_all(self) -> float:
        """Accepted first answers counted as converged, as published; it is high wherever little is escalated."""
        return (self.n - self.escalated + self.converged) / self.n

    @property
    def share_escalated(self) -> float | None:
        return share(self.converged, self.escalated)

    @property
    def accuracy_converged(self) -> float | None:
        return share(self.right_converged, self.converged)

    @property
    def accuracy_open(self) -> float | None:
        """Where the rounds never agreed and a majority decided."""
        return share(self.right_open, self.escalated - self.converged)


def convergence(right: ArrayLike, escalated: ArrayLike, converged: ArrayLike, rounds: ArrayLike) -> Convergence:
    """One row a question; `converged` and `rounds` count only where `escalated`."""
    good, sent, agreed, took = bools(right), bools(escalated), bools(converged), counts(rounds, "rounds")
    n = aligned(right=good, escalated=sent, converged=agreed, rounds=took)
    if n == 0:
        raise DataError("no questions whose rounds could agree")
    values, times = np.unique(took[sent], return_counts=True)
    return Convergence(
        n,
        int(sent.sum()),
        int((sent & agreed).sum()),
        int((good & sent & agreed).sum()),
        int((good & sent & ~agreed).sum()),
        {int(v): int(k) for v, k in zip(values, times, strict=True)},
    )
