"""A test of the theory that it can fail: parts measured on half of the questions, the gain predicted for the rest.

Splitting tau + b_a tokens into thought and answer, against thinking with all of them, should gain

    (1-F(tau)) pi eta - (F(tau+b_a) - F(tau)) a_c - (1-F(tau+b_a)) eps

with one a_c for every chain that ends. Where chains that end late are not as good as those that end early, or the
lengths, a_c or eps of the one half are not those of the other, the prediction is off.

    >>> HalfParts(ended_at_cut=0.5, ended_at_total=0.6, alpha_c=0.9, epsilon=0.1, pi_eta=0.7).gain
    0.22
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints, outcomes
from thinkcap.statistics.bootstrap import cells_of, percentile_interval
from thinkcap.statistics.clusters import averaged

_IMAGINED = np.array([[True, False, False, False], [False, False, True, False]])
"""One question that only the split gets right, and one that only thinking does."""


@dataclass(frozen=True)
class HalfParts:
    """What half the questions showed."""

    ended_at_cut: float
    """F(tau)"""
    ended_at_total: float
    """F(tau + b_a)"""
    alpha_c: float
    """Accuracy of all chains that ended within tau + b_a."""
    epsilon: float
    """Accuracy of those that did not."""
    pi_eta: float
    """Accuracy of the answer pass on chains cut at tau."""

    @property
    def gain(self) -> float:
        """Predicted accuracy of the split less that of thinking with the same total."""
        first, total = self.ended_at_cut, self.ended_at_total
        value = (1 - first) * self.pi_eta - (total - first) * self.alpha_c - (1 - total) * self.epsilon
        return round(value, 12)


@dataclass(frozen=True)
class SplitSample:
    """Parts of half A, the gain they predict, and the gain half B showed."""

    parts: HalfParts
    predicted: float
    observed: float
    low: float
    high: float
    """Bootstrap interval of observed minus predicted."""
    consistent: bool


def split_sample(
    split_right: ArrayLike,
    split_ended: ArrayLike,
    coupled_right: ArrayLike,
    coupled_ended: ArrayLike,
    questions: Ints | None = None,
    *,
    seed: int = 0,
    draws: int = 2000,
    level: float = 0.95,
) -> SplitSample | None:
    """All questions (or all that were thought about), the same in every column.

    `split_ended`: the chain ended within tau, so no answer pass was needed; `split_right`: right in the end.
    `coupled_*`: thinking capped at tau + b_a. Halves by a seeded shuffle of the questions (`questions` says which
    rows share one, None where none do). None with fewer than four questions, or
    where no chain ended between tau and the total: a_c then has no part in it and nothing could refute it.
    """
    columns = outcomes(
        split=split_right, split_ended=split_ended, coupled=coupled_right, coupled_ended=coupled_ended
    )
    n = len(columns[0])
    if (columns[1] & ~columns[3]).any():
        raise DataError(
            "a chain ended at the cut and not at the larger total: these are not the same chains, so no prediction"
        )
    if n < 4 or bool((columns[1] == columns[3]).all()):
        return None
    known, place = np.unique(np.arange(n) if questions is None else questions, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(known))
    table = np.stack(columns, axis=1)
    mine = np.isin(place, order[: len(known) // 2])
    a, b = table[mine], table[~mine]
    if len(a) == 0:
        return None
    parts = parts_of(a)
    observed = float(b[:, 0].mean() - b[:, 2].mean())
    # Both gains with one imagined question each way, so that halves in which nothing differed are not certain.
    one, two = (None, None) if questions is None else (questions[mine], questions[~mine])
    drawn = _gains(np.concatenate((averaged(_moments(a), one), _moments(_IMAGINED))), draws, seed + 2)
    shown = cells_of(np.concatenate((averaged(b, two), _IMAGINED))).draws(draws, seed + 1)
    low, high = percentile_interval(shown[:, 0] - shown[:, 2] - drawn, level)
    return SplitSample(parts, parts.gain, observed, low, high, low <= 0 <= high)


def parts_of(rows: Bools) -> HalfParts:
    """Rows of (split right, split ended, coupled right, coupled ended); a part without a chain is 0, weight 0."""
    means = _moments(rows).mean(axis=0)
    return HalfParts(*(float(v) for v in _parts(means)))


def _moments(rows: Bools) -> NDArray[np.int8]:
    """What the parts are ratios of, a question: ended at cut, at total, right of these, of the rest, extracted."""
    split, first, coupled, total = rows.T
    return np.stack((first, total, coupled & total, coupled & ~total, split & ~first), axis=1).astype(np.int8)


def _parts(m: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    first, total = m[..., 0], m[..., 1]

    def ratio(part: Floats, whole: Floats) -> Floats:
        return np.divide(part, whole, out=np.zeros_like(part), where=whole > 1e-12)

    return first, total, ratio(m[..., 2], total), ratio(m[..., 3], 1 - total), ratio(m[..., 4], 1 - first)


def _gains(moments: NDArray[Any], draws: int, seed: int) -> Floats:
    first, total, a_c, eps, pi_eta = _parts(cells_of(moments).draws(draws, seed))
    return np.asarray((1 - first) * pi_eta - (total - first) * a_c - (1 - total) * eps)
