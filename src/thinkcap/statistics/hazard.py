"""The chance that a chain which has come this far ends next, and whether that chance falls.

A falling hazard means: the longer it has thought, the less waiting pays. It can also arise from pooling easy
and hard questions, each with a constant hazard; a test on pooled chains cannot tell the two apart.

    >>> import numpy as np
    >>> lengths = np.random.default_rng(0).geometric(0.01, 2000)
    >>> decreasing(lengths, np.ones(2000, bool)).p > 0.01
    True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Floats, Ints, chains
from thinkcap.statistics.clusters import design_effect_of_lengths
from thinkcap.statistics.distributions import crossing, non_increasing, normal_above
from thinkcap.statistics.precision import proportion

FEW = 10
"""Chains at risk below which a bin's hazard is hardly known: drawn, but no scale is set by it."""


@dataclass(frozen=True)
class HazardBin:
    """Lengths in [start, stop): the chance per token of ending there, given that start was reached."""

    start: int
    stop: int
    at_risk: int
    ended: int
    watched: int
    """Tokens at which a chain of the bin could have ended."""
    per_token: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Hazard:
    bins: tuple[HazardBin, ...]
    isotonic: tuple[float | None, ...]
    """Closest non-increasing hazard, weighted by tokens watched."""

    @property
    def ceiling(self) -> float:
        """A top for charts: over every rate that is known well, and over their bands as far as these are near."""
        rates = [b.per_token for b in self.bins if b.per_token is not None and b.at_risk >= FEW]
        rates = rates or [b.per_token for b in self.bins if b.per_token is not None]
        return 1.6 * max(rates, default=0.0) or 1.0

    def threshold(self, bound: float) -> int | None:
        """Start of the first bin at which the non-increasing hazard is at most `bound`; None if it never is."""
        for part, rate in zip(self.bins, self.isotonic, strict=True):
            if rate is not None and rate <= bound:
                return part.start
        return None

    def falling(self, length: int) -> float | None:
        """The non-increasing hazard at a length; None outside the bins."""
        for part, rate in zip(self.bins, self.isotonic, strict=True):
            if part.start <= length < part.stop:
                return rate
        return None


def hazard(
    lengths: ArrayLike, ended: ArrayLike, edges: Sequence[int], level: float = 0.95, questions: Ints | None = None
) -> Hazard:
    """Ends per token watched between edges, with bands: the likeliest constant chance in each bin.

    A chain was watched at every token up to its end or its cut, so a cut one loses nothing but its future.
    """
    spent, done = chains(lengths, ended)
    if len(edges) < 2 or list(edges) != sorted(set(edges)):
        raise DataError(f"a hazard needs at least two rising edges, got {list(edges)}")
    effect = design_effect_of_lengths(spent, questions, level)
    bins = []
    for start, stop in pairwise(edges):
        reached = spent >= start
        died = int((reached & (spent < stop) & done).sum())
        # The token at which a chain of length t ends is its t-th; there is no token 0.
        watched = int(np.maximum(np.minimum(spent[reached], stop - 1) - max(start, 1) + 1, 1).sum())
        risk = int(reached.sum())
        share = proportion(died, watched, level, effect) if risk else None
        rate = (None, None, None) if share is None else (share.value, share.low, share.high)
        bins.append(HazardBin(int(start), int(stop), risk, died, watched, *rate))
    return Hazard(tuple(bins), _non_increasing(bins))


def _non_increasing(bins: Sequence[HazardBin]) -> tuple[float | None, ...]:
    known = [i for i, part in enumerate(bins) if part.per_token is not None]
    if not known:
        return tuple(None for _ in bins)
    values = np.array([bins[i].per_token or 0.0 for i in known])
    fitted = non_increasing(values, np.array([bins[i].watched for i in known], dtype=np.float64))
    result: list[float | None] = [None] * len(bins)
    for i, value in zip(known, fitted, strict=True):
        result[i] = float(value)
    return tuple(result)


@dataclass(frozen=True)
class DecreasingTest:
    """Weibull shape against 1 by signed-root likelihood ratio; small p: the hazard falls."""

    shape: float
    z: float
    p: float
    """One-sided, against a constant hazard."""
    n: int
    ended: int
    beyond: int
    """Only chains longer than this were used, counted from there."""


def decreasing(
    lengths: ArrayLike, ended: ArrayLike, beyond: int = 0, questions: Ints | None = None
) -> DecreasingTest | None:
    """None when fewer than five chains ended beyond the start: too few to say anything.

    `beyond` > 0 asks about the tail: chains have a minimum length, so the hazard first rises from 0.
    """
    spent, done = chains(lengths, ended)
    kept = spent > beyond
    values, where = np.unique(spent[kept] - beyond, return_inverse=True)
    died = np.bincount(where, weights=done[kept], minlength=len(values)).astype(np.float64)
    total = np.bincount(where, minlength=len(values)).astype(np.float64)
    deaths = float(died.sum())
    if deaths < 5:
        return None
    # A length of t tokens means the end fell in (t-1, t]: the middle removes the bias of whole numbers.
    # Censored chains were watched to the full t.
    mid = values - 0.5
    t = np.concatenate((mid, values.astype(np.float64)))
    weight = np.concatenate((died, total - died)).astype(np.float64)
    dead = np.concatenate((died, np.zeros(len(died))))
    shape, root = _weibull(t, weight, dead, deaths)
    alike = design_effect_of_lengths(spent[kept], None if questions is None else questions[kept])
    z = root / math.sqrt(alike)
    return DecreasingTest(shape, z, normal_above(z), int(kept.sum()), int(deaths), beyond)


def _weibull(t: Floats, weight: Floats, dead: Floats, deaths: float) -> tuple[float, float]:
    """The shape, and the signed root of the likelihood ratio against a shape of 1."""

    logs = np.log(t)
    scale = float(logs.max())
    sum_logs = float((dead * logs).sum())

    def moments(k: float) -> tuple[float, float]:
        powers = weight * np.exp(k * (logs - scale))
        return float(powers.sum()), float((powers * logs).sum())

    def score(k: float) -> float:
        total, first = moments(k)
        return deaths / k + sum_logs - deaths * first / total

    def profile(k: float) -> float:
        total, _ = moments(k)
        return deaths * (math.log(k) - math.log(total / deaths) - k * scale) + (k - 1) * sum_logs - deaths

    shape = crossing(score, 1e-3, 1e3)
    gain = max(0.0, 2 * (profile(shape) - profile(1.0)))
    return shape, math.copysign(math.sqrt(gain), 1 - shape)


def even_edges(lengths: Ints, bins: int = 12) -> list[int]:
    """Edges with about as many chains in each bin, so that no band is absurdly wide."""
    longest = int(lengths.max())
    cuts = {int(c) for c in np.quantile(lengths, np.linspace(0, 1, bins + 1))}
    # The longest chains belong to the last bin; one of their own would be a single token wide.
    return sorted((cuts - {longest} if len(cuts) > 1 else cuts) | {longest + 1})
