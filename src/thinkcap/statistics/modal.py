"""Is it better to stop and extract than to think on? The inequality, its parts apart, and tests on real cuts.

pi: the answer is derivable from the cut chain; eta: extraction then finds it; eps: a cut chain is right;
delta: a chain past tau ends within b_a more tokens. Extraction wins if pi eta > delta a_c+ + (1-delta) eps.

    >>> modal(delta=0.0, alpha_c_plus=0.95, epsilon=0.375, pi_eta=0.6875).margin
    0.3125
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import aligned, bools, counts, share
from thinkcap.statistics.bootstrap import cells_of, percentile_interval
from thinkcap.statistics.paired import McNemar, mcnemar
from thinkcap.statistics.survival import Survival


@dataclass(frozen=True)
class Modal:
    delta: float
    alpha_c_plus: float
    epsilon: float
    pi_eta: float

    @property
    def margin(self) -> float:
        """Expected advantage of extracting over thinking b_a tokens more."""
        return self.pi_eta - (self.delta * self.alpha_c_plus + (1 - self.delta) * self.epsilon)

    @property
    def holds(self) -> bool:
        return self.margin > 0


def modal(*, delta: float, alpha_c_plus: float, epsilon: float, pi_eta: float) -> Modal:
    return Modal(delta, alpha_c_plus, epsilon, pi_eta)


def finishing_chance(curve: Survival, cut: int, answer_budget: int) -> float | None:
    """delta(tau) = P(L <= tau + b_a | L > tau); None when no chain is left or tau + b_a was not observed."""
    left = 1 - curve.at(cut)
    if left <= 1e-12 or curve.last is None or cut + answer_budget > curve.last:
        return None
    return (curve.at(cut + answer_budget) - curve.at(cut)) / left


@dataclass(frozen=True)
class CutAdvantage:
    """Extraction against thinking on, from the same prefix of the same chains."""

    cut: int
    n: int
    extraction: float | None
    continuation: float | None
    test: McNemar | None

    @property
    def advantage(self) -> float | None:
        return None if self.test is None else self.test.difference


def _at_cut(cut: int, alive: np.ndarray, extracted: np.ndarray, continued: np.ndarray) -> CutAdvantage:
    n = int(alive.sum())
    if n == 0:
        return CutAdvantage(cut, 0, None, None, None)
    e, c = extracted[alive], continued[alive]
    return CutAdvantage(cut, n, float(e.mean()), float(c.mean()), mcnemar(e, c))


@dataclass(frozen=True)
class ConditionalAdvantage:
    """The advantage on chains still running at each cut, and on the fixed cohort that outlived the last cut.

    The first mixes in that survivors are harder; the second holds the questions fixed.
    """

    survivors: tuple[CutAdvantage, ...]
    cohort: tuple[CutAdvantage, ...]


def conditional_advantage(
    cuts: Sequence[int], lengths: ArrayLike, extracted_right: ArrayLike, continued_right: ArrayLike
) -> ConditionalAdvantage:
    """Columns of both tables are the cuts; lengths are those of the uncut chains (or the cap where cut)."""
    spent, extracted, continued = counts(lengths), bools(extracted_right), bools(continued_right)
    shape = (len(spent), len(cuts))
    if extracted.shape != shape or continued.shape != shape:
        raise DataError(f"wanted tables of {shape} (questions x cuts), got {extracted.shape}, {continued.shape}")
    alive = [spent > cut for cut in cuts]
    last = spent > max(cuts)
    return ConditionalAdvantage(
        tuple(
            _at_cut(c, a, extracted[:, k], continued[:, k])
            for k, (c, a) in enumerate(zip(cuts, alive, strict=True))
        ),
        tuple(_at_cut(c, last, extracted[:, k], continued[:, k]) for k, c in enumerate(cuts)),
    )


@dataclass(frozen=True)
class Derivability:
    """pi and eta apart, with what the same prompt yields without the chain and with somebody else's chain."""

    n: int
    gold_in_trace: float | None
    pi_upper: float | None
    """Share where any of several generous extractions was right."""
    eta: float | None
    """Extraction at the real answer budget, given derivable."""
    pi_eta: float | None
    without_trace: float | None
    placebo: float | None

    @property
    def trace_worth(self) -> float | None:
        """What the chain adds over the same prompt without it."""
        if self.pi_eta is None or self.without_trace is None:
            return None
        return self.pi_eta - self.without_trace


def derivability(
    extracted_right: ArrayLike,
    *,
    any_right: ArrayLike | None = None,
    gold_in_trace: ArrayLike | None = None,
    without_trace: ArrayLike | None = None,
    placebo: ArrayLike | None = None,
) -> Derivability:
    """Every control is optional; what was not run is None."""
    base = bools(extracted_right)

    def mean(values: ArrayLike | None) -> float | None:
        if values is None:
            return None
        array = bools(values)
        aligned(extracted=base, control=array)
        return share(float(array.sum()), len(array))

    eta = None
    if any_right is not None:
        reachable = bools(any_right) | base
        eta = share(float((base & reachable).sum()), float(reachable.sum()))
        upper: float | None = share(float(reachable.sum()), len(base))
    else:
        upper = None
    return Derivability(len(base), mean(gold_in_trace), upper, eta, mean(base), mean(without_trace), mean(placebo))


@dataclass(frozen=True)
class SplitSample:
    """Parts estimated on half A, the gap predicted for half B, and what half B showed."""

    predicted: float
    observed: float
    low: float
    high: float
    """Bootstrap interval of observed minus predicted."""
    consistent: bool


def split_sample(
    extracted_right: ArrayLike,
    continued_right: ArrayLike,
    continued_ended: ArrayLike,
    *,
    seed: int = 0,
    draws: int = 2000,
) -> SplitSample | None:
    """An independent test of the inequality on chains cut at one tau: halves by a seeded shuffle.

    delta, a_c+ and eps come from half A's continuations; None when A has no usable half.
    """
    e, c, done = bools(extracted_right), bools(continued_right), bools(continued_ended)
    n = aligned(extracted=e, continued=c, ended=done)
    order = np.random.default_rng(seed).permutation(n)
    a, b = order[: n // 2], order[n // 2 :]
    if len(a) == 0 or len(b) == 0:
        return None

    def margin(rows: np.ndarray) -> np.ndarray:
        # columns: e, done, done & c, ~done & c -> pi eta - (delta a_c+ + (1-delta) eps)
        return np.asarray(rows[..., 0] - rows[..., 2] - rows[..., 3])

    table = np.stack((e, done, done & c, ~done & c), axis=1)
    cells_a, cells_b = cells_of(table[a]), cells_of(table[b])
    predicted, observed = float(margin(cells_a.means())), float(margin(cells_b.means()))
    gap = margin(cells_b.draws(draws, seed + 1)) - margin(cells_a.draws(draws, seed + 2))
    low, high = percentile_interval(gap)
    return SplitSample(predicted, observed, low, high, low <= 0 <= high)


@dataclass(frozen=True)
class TwoByTwo:
    """Mode (think, nothink) by context or prompt (without, with), on the same questions."""

    n: int
    think_without: int
    think_with: int
    nothink_without: int
    nothink_with: int
    interaction: float
    low: float
    high: float
    mode_test: McNemar
    """nothink against think, both with the context."""


def two_by_two(
    think_without: ArrayLike,
    think_with: ArrayLike,
    nothink_without: ArrayLike,
    nothink_with: ArrayLike,
    *,
    draws: int = 2000,
    seed: int = 0,
) -> TwoByTwo:
    """interaction = (nothink_with - nothink_without) - (think_with - think_without)."""
    cols = [bools(x) for x in (think_without, think_with, nothink_without, nothink_with)]
    n = aligned(a=cols[0], b=cols[1], c=cols[2], d=cols[3])
    if n == 0:
        raise DataError("no rows in the 2x2")
    signs = np.array([1.0, -1.0, -1.0, 1.0])
    cells = cells_of(np.stack(cols, axis=1))
    low, high = percentile_interval(cells.draws(draws, seed) @ signs)
    tw, tc, nw, nc = (int(c.sum()) for c in cols)
    return TwoByTwo(
        n, tw, tc, nw, nc, float(cells.means() @ signs), low, high, mode_test=mcnemar(cols[3], cols[1])
    )
