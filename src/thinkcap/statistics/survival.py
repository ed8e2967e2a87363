"""How long chains of thought are, though a cap cut some: Kaplan-Meier, quantiles, two models compared.

A chain that reached the cap is right-censored there, not a chain of that length.

    >>> curve = survival([3, 5, 8, 8], [True, True, False, False])
    >>> curve.at(5), curve.median, curve.quantile(0.9)
    (0.5, 5.0, None)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints, chains
from thinkcap.statistics.clusters import design_effect_of_lengths
from thinkcap.statistics.distributions import beta_quantile, normal_above
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
    effect: float = 1.0
    """So many chains are worth one in the bands, where several are of one question."""

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
        return 1.0 if watched == 0 else 1 - ((1 - self.level) / 2) ** (self.effect / watched)

    def steps(self, most: int) -> Ints:
        """Indices of at most this many steps, spread evenly with both ends among them: enough for a picture."""
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


def survival(lengths: ArrayLike, ended: ArrayLike, level: float = 0.95, questions: Ints | None = None) -> Survival:
    """Kaplan-Meier with log-log bands (Greenwood), widened where few chains have ended or are left.

    `questions` says which chains are of the same question; None where none are.

    Why log-log: linear Greenwood bands leave [0, 1] and undercover in the tails, where budgets are chosen.
    """
    spent, done = chains(lengths, ended)
    n = len(spent)
    if n == 0:
        raise DataError("no chains to measure: the length column is empty")
    effect = design_effect_of_lengths(spent, questions, level)
    events = int(done.sum())
    last = float(spent.max())
    if events == 0:
        empty = np.zeros(0)
        none = empty.astype(np.int64)
        early = np.sort(spent).astype(np.float64)
        return Survival(empty, empty, empty, empty, none, none, n, n, last, level, early, effect)
    values, risk, died = _life_table(spent, done)
    only = died > 0
    times, risk, died = values[only], risk[only], died[only]
    share = np.asarray(1 - np.cumprod(1 - died / risk), dtype=np.float64)
    low, high = _log_log(share, risk, died, level, effect)
    low, high = _careful(share, low, high, risk, died, level, effect)
    if share[-1] >= 1 - _TINY:
        low[-1], high[-1] = _all_ended(share, low, risk, level, effect), 1.0
    early = np.sort(spent[spent < times[0]]).astype(np.float64)
    return Survival(times, share, low, high, risk, died, n, n - events, last, level, early, effect)


def _log_log(share: Floats, risk: Ints, died: Ints, level: float, effect: float) -> tuple[Floats, Floats]:
    """Bands on the scale of log(-log(1 - F)); without a value where all have ended, which is filled in later."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.log1p(-share)
        spread = np.sqrt(effect * np.cumsum(died / (risk * (risk - died)))) / np.abs(inner)
        middle = np.log(-inner)
        return 1 - np.exp(-np.exp(middle - z * spread)), 1 - np.exp(-np.exp(middle + z * spread))


def _careful(
    share: Floats, low: Floats, high: Floats, risk: Ints, died: Ints, level: float, effect: float
) -> tuple[Floats, Floats]:
    """Widened to the exact interval of a share where at most ten ends have been seen or at most ten chains remain.

    There log-log bands cover down to 87 %. The share's n is the one that gives Greenwood's variance: without
    censoring, the number of chains.
    """
    low, high = low.copy(), high.copy()
    inner = np.flatnonzero(share < 1 - _TINY)
    greenwood = np.cumsum(died[inner] / (risk[inner] * (risk[inner] - died[inner])))
    n = share[inner] / ((1 - share[inner]) * greenwood * effect)
    # Counts that are whole but for the last digits are whole: so the same few quantiles serve every curve.
    ended, left = np.round(n * share[inner], 9), np.round(n * (1 - share[inner]), 9)
    few = np.minimum(ended, left) <= FEW + 0.5
    at, k, rest = inner[few], ended[few], left[few]
    tail = (1 - level) / 2
    exact = [
        (beta_quantile(tail, e, o + 1), beta_quantile(1 - tail, e + 1, o)) for e, o in zip(k, rest, strict=True)
    ]
    lower, upper = np.array(exact).reshape(-1, 2).T
    low[at], high[at] = np.minimum(low[at], lower), np.maximum(high[at], upper)
    return low, high


def _all_ended(share: Floats, low: Floats, risk: Ints, level: float, effect: float) -> float:
    """Lower end at F = 1, where log-log has no value: exact for k of k chains, k the number that censoring left.

    Without censoring k is n; with it, those at risk are counted as the share of all that they stand for.
    """
    before = 1 - share[-2] if len(share) > 1 else 1.0
    counted = risk[-1] / (before * effect)
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
    first_lengths: ArrayLike,
    first_ended: ArrayLike,
    second_lengths: ArrayLike,
    second_ended: ArrayLike,
    effect: float = 1.0,
) -> LengthComparison:
    """Stochastic dominance of two Kaplan-Meier curves with the log-rank test; `effect` chains are worth one."""
    a_len, a_end = chains(first_lengths, first_ended)
    b_len, b_end = chains(second_lengths, second_ended)
    if not a_end.any() or not b_end.any():
        raise DataError("a comparison of chain lengths needs at least one finished chain on each side")
    a, b = survival(a_len, a_end), survival(b_len, b_end)
    until = min(float(a_len.max()), float(b_len.max()))
    grid = np.union1d(a.lengths, b.lengths)
    grid = grid[grid <= until]
    gap = np.array([a.at(t) - b.at(t) for t in grid]) if grid.size else np.zeros(1)
    z = _log_rank(a_len, a_end, b_len, b_end) / math.sqrt(effect)
    violation = max(0.0, float(-gap.min()))
    return LengthComparison(
        until=until,
        largest_gap=max(0.0, float(gap.max())),
        largest_violation=violation,
        dominates=violation <= _TINY,
        logrank_z=z,
        logrank_p=normal_above(z),
        logrank_p_two_sided=min(1.0, 2 * normal_above(abs(z))),
    )


def _log_rank(a_len: Ints, a_end: Bools, b_len: Ints, b_end: Bools) -> float:
    """Positive when the first ends sooner than expected; 0 where all ends tie, which tells nothing apart."""
    lengths, ended = np.concatenate((a_len, b_len)), np.concatenate((a_end, b_end))
    values, risk, died = _life_table(lengths, ended)
    first = len(a_len) - np.searchsorted(np.sort(a_len), values, side="left")
    expected = float((first * died / risk).sum())
    some = risk > 1
    n, mine, d = risk[some].astype(np.float64), first[some], died[some]
    spread = float((mine * (n - mine) * d * (n - d) / (n * n * (n - 1))).sum())
    return (int(a_end.sum()) - expected) / math.sqrt(spread) if spread > 0 else 0.0
