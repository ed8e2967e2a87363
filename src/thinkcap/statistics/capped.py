"""What another cap would have done to answers whose lengths are known, though a cap cut some of them.

An answer that ended within the cap ends, one that wrote more is cut, and one that was cut earlier may do either:
there the Kaplan-Meier curve speaks. Its estimate for all is the same as counting the first two and sharing out the
third.

    >>> found = under([3, 5, 8, 8], [True, True, False, False], 6)
    >>> found.share, found.ends, found.cut, found.open
    (0.5, 2, 2, 0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.statistics.arrays import chains
from thinkcap.statistics.survival import Survival, survival


@dataclass(frozen=True)
class UnderCap:
    """All answers under one cap."""

    cap: int
    share: float
    """Would end, as the curve has it; beyond what was seen, those that ended by then."""
    low: float
    high: float
    ends: int
    """Ended within it: known."""
    cut: int
    """Wrote more: known to be cut."""
    open: int
    """Cut earlier than that: not known."""
    tokens: float
    """Mean tokens an answer would have written."""
    tokens_low: float
    tokens_high: float
    seen: bool
    """Somebody watched an answer for so long; beyond that only bounds are known."""


def under(lengths: ArrayLike, ended: ArrayLike, cap: int, curve: Survival | None = None) -> UnderCap:
    """`curve` spares making it again for every cap."""
    spent, done = chains(lengths, ended)
    curve = curve or survival(spent, done)
    ends = int((done & (spent <= cap)).sum())
    cut = int((spent > cap).sum() + (~done & (spent == cap)).sum())
    # An answer that was counted is no matter of chance: the band never contradicts it.
    low, high = curve.band(cap)
    low, high = max(low, ends / curve.n), min(high, (curve.n - cut) / curve.n)
    mean, least, most = _tokens(curve, cap)
    written = np.minimum(spent, cap)
    # Those that are open wrote at least what they wrote, and at most the cap.
    still = ~done & (spent < cap)
    floor, ceiling = float(written.mean()), float(np.where(still, cap, written).mean())
    return UnderCap(
        cap,
        min(max(curve.at(cap), low), high),
        low,
        high,
        ends,
        cut,
        curve.n - ends - cut,
        min(max(mean, floor), ceiling),
        max(least, floor),
        min(most, ceiling),
        curve.last is not None and cap <= curve.last,
    )


def _tokens(curve: Survival, cap: int) -> tuple[float, float, float]:
    """Mean of min(L, cap) with bounds: the area above the curve and above its bands. Adding up a band's ends
    takes all of them to be wrong in one direction, so the bounds are wide rather than narrow."""
    last = curve.last or 0.0
    until = min(float(cap), last)
    inside = curve.lengths < until
    steps = np.concatenate(([0.0], curve.lengths[inside], [until]))
    wide = np.diff(steps)

    def area(share: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(np.sum(wide * (1 - np.concatenate(([0.0], share[inside])))))

    mean, least, most = area(curve.share), area(curve.high), area(curve.low)
    # Beyond the last observation an answer may end at once or never.
    rest = max(0.0, cap - last)
    return mean + rest * (1 - curve.at(last)), least, most + rest * (1 - curve.band(last)[0])
