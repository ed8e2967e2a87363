"""A share of a whole from labels of a part that was drawn in strata, some of them denser than others.

    >>> found = stratified([Stratum(900, 50, 45), Stratum(100, 50, 10)])
    >>> round(found.value, 2), found.low < 0.83 < found.high
    (0.83, True)

Each stratum counts by its size, so what is drawn more often does not count for more (Horvitz and Thompson).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from thinkcap.core.errors import DataError
from thinkcap.statistics.precision import proportion


@dataclass(frozen=True)
class Stratum:
    size: int
    """Members of the whole."""
    labelled: int
    right: int

    def interval(self, level: float) -> tuple[float, float, float]:
        """Share with its interval, narrower the more of the stratum is labelled; anything without a label."""
        if not self.labelled:
            return 0.5, 0.0, 1.0
        found = proportion(self.right, self.labelled, level)
        share, low, high = self.right / self.labelled, found.low or 0.0, found.high or 0.0
        left = math.sqrt((self.size - self.labelled) / max(1, self.size - 1))
        return share, share - left * (share - low), share + left * (high - share)


@dataclass(frozen=True)
class StratifiedShare:
    value: float | None
    """None where a stratum has no label: `low` and `high` are then bounds that hold whatever it hides."""
    low: float
    high: float
    level: float


def stratified(strata: Sequence[Stratum], level: float = 0.95) -> StratifiedShare:
    """The intervals of the strata are joined as Zou and Donner do (MOVER), which keeps their lopsidedness: near 0
    and 1 a symmetric one covers too little."""
    whole = sum(one.size for one in strata)
    if not whole or any(not 0 <= one.right <= one.labelled <= one.size for one in strata):
        raise DataError(
            "a stratified share needs strata with 0 <= right <= labelled <= size, and at least one answer in them"
        )
    parts = [(one.size / whole, *one.interval(level)) for one in strata]
    known = [part for part, one in zip(parts, strata, strict=True) if one.labelled]
    value = sum(weight * share for weight, share, _, _ in known)
    low = value - math.sqrt(sum((weight * (share - least)) ** 2 for weight, share, least, _ in known))
    high = value + math.sqrt(sum((weight * (most - share)) ** 2 for weight, share, _, most in known))
    open_part = sum(one.size for one in strata if not one.labelled) / whole
    low, high = max(0.0, low), min(1.0, high + open_part)
    return StratifiedShare(None if open_part else value, low, high, level)
