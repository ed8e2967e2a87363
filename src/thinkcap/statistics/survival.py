"""How long chains of thought are, though a cap cut some: Kaplan-Meier, quantiles, two models compared.

A chain that reached the cap is right-censored there, not a chain of that length.

    >>> curve = survival([3, 5, 8, 8], [True, True, False, False])
    >>> curve.at(5), curve.median, curve.quantile(0.9)
    (0.5, 5.0, None)
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import CensoredData, beta, ecdf, logrank, norm

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints, chains
from thinkcap.statistics.precision import FEW

_TINY = 1e-12
"""Slack for comparing a sum of 1/n steps with a quantile: 0.1 + 0.2 must reach 0.3."""


@dataclass(frozen=True)
class Survival:
    """Kaplan-Meier: `share[i]` of chains have length <= `lengths[i]`. Log-log bands, wider where few ended."""

    lengths: Floats
    share: Floats
    low: Floats
    high: Floats
    at_risk: Ints
    ended: Ints
    n: int
    censored: int
    last: float | None
    """Largest observed value, ended or not: nothing is known beyond it."""
    level: float
    early: Floats
    """Lengths at which chains were cut before any had ended, rising."""

    def at(self, length: float) -> float:
        """F(length) = estimated P(L <= length)."""
        i = int(np.searchsorted(self.lengths, length, side="right")) - 1
        return 0.0 if i < 0 else float(self.share[i])

    def band(self, length: float) -> tuple[float, float]:
        """Interval of F(length). Before the first end it is as wide as the chains watched so far make it, and
        beyond the last observation its upper end is 1: nothing is known there.
        """
        i = int(np.searchsorted(self.lengths, length, side="right")) - 1
        low, high = (0.0, self._none_ended(length)) if i < 0 else (float(self.low[i]), float(self.high[i]))
        unseen = self.last is None or length > self.last
        return low, 1.0 if unseen else high

    def _none_ended(self, length: float) -> float:
        """Upper end where 0 of the chains that were watched beyond `length` had ended: exact for a share."""
        watched = self.n - int(np.searchsorted(self.early, length, side="left"))
        return 1.0 if watched == 0 else 1 - ((1 - self.level) / 2) ** (1 / watched)

    def steps(self, most: int) -> Ints:
        """Indices of at most so many steps, spread evenly and both ends among them: enough for a picture."""
        count = len(self.lengths)
        return np.unique(np.linspace(0, max(count - 1, 0), min(count, most)).astype(np.int64))

    def below(self, budget: int) -> float:
        """P(L < budget): the share a cap of `budget` lets end, when ending needs one token of room."""
        return self.at(budget - 1)

    def quantile(self, q: float) -> float | None:
        """Smallest length with F >= q; None when the curve never gets there: beyond what was observed."""
        return _first(self.lengths, self.share, q)

    @property
    def median(self) -> float | None:
        return self.quantile(0.5)

    def quantile_interval(self, q: float = 0.5) -> tuple[float | None, float | None]:
        """Brookmeyer-Crowley: the lengths at which the bands cross q; None = beyond what was observed."""
        return _first(self.lengths, self.high, q), _first(self.lengths, self.low, q)


def _first(lengths: Floats, share: Floats, q: float) -> float | None:
    reached = np.flatnonzero(share >= q - _TINY)
    return float(lengths[reached[0]]) if reached.size else None


def _censored(lengths: Ints, ended: Bools) -> CensoredData:
    # scipy refuses an empty uncensored sample only later and obscurely; CensoredData itself takes it.
    return CensoredData(uncensored=lengths[ended], right=lengths[~ended])


def survival(lengths: ArrayLike, ended: ArrayLike, level: float = 0.95) -> Survival:
    """Kaplan-Meier by `scipy.stats.ecdf`, with log-log bands, widened where few chains have ended or are left.

    Why log-log: linear Greenwood bands leave [0, 1] and undercover in the tails, where budgets are chosen.
    """
    spent, done = chains(lengths, ended)
    n = len(spent)
    if n == 0:
        raise DataError("no chains to measure: the length column is empty")
    events = int(done.sum())
    last = float(spent.max())
    if events == 0:
        empty = np.zeros(0)
        none = empty.astype(np.int64)
        early = np.sort(spent).astype(np.float64)
        return Survival(empty, empty, empty, empty, none, none, n, n, last, level, early)
    curve = ecdf(_censored(spent, done))
    times = np.asarray(curve.cdf.quantiles, dtype=np.float64)
    share = np.asarray(curve.cdf.probabilities, dtype=np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # scipy warns where the formula has no value (F = 0 or 1); those ends are filled in below.
        warnings.simplefilter("ignore", RuntimeWarning)
        bounds: Any = curve.cdf.confidence_interval(confidence_level=level, method="log-log")
    low = np.asarray(bounds.low.probabilities, dtype=np.float64)
    high = np.asarray(bounds.high.probabilities, dtype=np.float64)
    values, risk, died = _life_table(spent, done)
    keep = np.isin(times, values[died > 0])
    only = died > 0
    times, share, low, high = times[keep], share[keep], low[keep], high[keep]
    risk, died = risk[only], died[only]
    low, high = _careful(share, low, high, risk, died, level)
    if share[-1] >= 1 - _TINY:
        low[-1], high[-1] = _all_ended(share, low, risk, level), 1.0
    early = np.sort(spent[spent < times[0]]).astype(np.float64)
    return Survival(times, share, low, high, risk, died, n, n - events, last, level, early)


def _careful(
    share: Floats, low: Floats, high: Floats, risk: Ints, died: Ints, level: float
) -> tuple[Floats, Floats]:
    """Widened to the exact interval of a share where at most ten ends have been seen or at most ten chains remain.

    There log-log bands cover down to 87 %. The share's n is the one that gives Greenwood's variance: without
    censoring, the number of chains.
    """
    low, high = low.copy(), high.copy()
    inner = np.flatnonzero(share < 1 - _TINY)
    greenwood = np.cumsum(died[inner] / (risk[inner] * (risk[inner] - died[inner])))
    n = share[inner] / ((1 - share[inner]) * greenwood)
    ended, left = n * share[inner], n * (1 - share[inner])
    few = np.minimum(ended, left) <= FEW + 0.5
    at, k, rest = inner[few], ended[few], left[few]
    tail = (1 - level) / 2
    low[at] = np.minimum(low[at], beta.ppf(tail, k, rest + 1))
    high[at] = np.maximum(high[at], beta.ppf(1 - tail, k + 1, rest))
    return low, high


def _all_ended(share: Floats, low: Floats, risk: Ints, level: float) -> float:
    """Lower end at F = 1, where log-log has no value: exact for k of k chains, k the number that censoring left.

    Without censoring k is n; with it, those at risk are counted as the share of all that they stand for.
    """
    before = 1 - share[-2] if len(share) > 1 else 1.0
    counted = risk[-1] / before
    return max(float(low[-2]) if len(low) > 1 else 0.0, float(((1 - level) / 2) ** (1 / counted)))


def _life_table(spent: Ints, done: Bools) -> tuple[Floats, Ints, Ints]:
    values, where = np.unique(spent, return_inverse=True)
    died = np.bincount(where, weights=done, minlength=len(values)).astype(np.int64)
    here = np.bincount(where, minlength=len(values))
    risk = (len(spent) - np.concatenate(([0], np.cumsum(here)[:-1]))).astype(np.int64)
    return values.astype(np.float64), risk, died


@dataclass(frozen=True)
class LengthComparison:
    """Are chains of the second longer than those of the first? Bounded by what both observed."""

    until: float
    largest_gap: float
    """max of F_first - F_second: by how much the second lags."""
    largest_violation: float
    """max of F_second - F_first: 0 means the second dominates everywhere observed."""
    dominates: bool
    logrank_z: float
    logrank_p: float
    """One-sided: small when the second's chains are longer."""
    logrank_p_two_sided: float


def compare(
    first_lengths: ArrayLike, first_ended: ArrayLike, second_lengths: ArrayLike, second_ended: ArrayLike
) -> LengthComparison:
    """Stochastic dominance of two Kaplan-Meier curves with scipy's log-rank test."""
    a_len, a_end = chains(first_lengths, first_ended)
    b_len, b_end = chains(second_lengths, second_ended)
    if not a_end.any() or not b_end.any():
        raise DataError("a comparison of chain lengths needs at least one finished chain on each side")
    a, b = survival(a_len, a_end), survival(b_len, b_end)
    until = min(float(a_len.max()), float(b_len.max()))
    grid = np.union1d(a.lengths, b.lengths)
    grid = grid[grid <= until]
    gap = np.array([a.at(t) - b.at(t) for t in grid]) if grid.size else np.zeros(1)
    with np.errstate(invalid="ignore"):
        both = logrank(_censored(a_len, a_end), _censored(b_len, b_end))
    # scipy's statistic is positive when the first sample ends sooner than expected: the second is longer.
    # Where all ends tie it has no spread and no value: nothing tells the two apart.
    z = float(both.statistic) if np.isfinite(both.statistic) else 0.0
    violation = max(0.0, float(-gap.min()))
    return LengthComparison(
        until=until,
        largest_gap=max(0.0, float(gap.max())),
        largest_violation=violation,
        dominates=violation <= _TINY,
        logrank_z=z,
        logrank_p=float(norm.sf(z)),
        logrank_p_two_sided=min(1.0, 2 * float(norm.sf(abs(z)))),
    )
