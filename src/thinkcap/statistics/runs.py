"""Two runs that should agree: flipped verdicts in one configuration, and cuts that are not prefixes.

>>> flips([1, 1, 0, 0], [1, 0, 0, 0]).systematic
False
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.statistics.arrays import aligned, bools, counts
from thinkcap.statistics.paired import McNemar, mcnemar


@dataclass(frozen=True)
class Flips:
    """Verdicts that differ between two runs of one configuration on the same questions."""

    test: McNemar
    same_length: int | None
    """Questions whose token count is the same in both; None when counts were not stored."""

    @property
    def flipped(self) -> int:
        return self.test.only_first + self.test.only_second

    @property
    def share(self) -> float:
        return self.flipped / self.test.n

    @property
    def systematic(self) -> bool:
        """Noise flips both ways alike; one-sided flips mean something changed: hardware, prompt, parser."""
        return self.test.p < 0.05


def flips(
    first_right: ArrayLike,
    second_right: ArrayLike,
    first_tokens: ArrayLike | None = None,
    second_tokens: ArrayLike | None = None,
) -> Flips:
    same = None
    if first_tokens is not None and second_tokens is not None:
        a, b = counts(first_tokens), counts(second_tokens)
        aligned(first=a, second=b)
        same = int((a == b).sum())
    return Flips(mcnemar(bools(first_right), bools(second_right)), same)


def prefix_violations(short_lengths: ArrayLike, long_lengths: ArrayLike, budget: int) -> int:
    """Questions whose run at `budget` is not as long as the longer run cut at `budget`."""
    short, long = counts(short_lengths), counts(long_lengths)
    aligned(short=short, long=long)
    return int((short != np.minimum(long, budget)).sum())
