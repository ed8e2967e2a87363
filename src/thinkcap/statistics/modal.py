"""Is it better to stop a running chain and extract its answer than to let it think on? All over the same chains.

Of chains that reach tau tokens unfinished: delta end within b_a more, a_c+ of those right; eps of the others right
all the same; pi eta answered right by extraction. Extraction wins if pi eta > delta a_c+ + (1-delta) eps.

    >>> Modal(delta=0.0, alpha_c_plus=0.95, epsilon=0.375, pi_eta=0.6875).margin
    0.3125
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Ints, aligned, bools, counts, outcomes, share
from thinkcap.statistics.clusters import design_effect
from thinkcap.statistics.hazard import Hazard
from thinkcap.statistics.paired import McNemar, mcnemar
from thinkcap.statistics.precision import mean_interval


@dataclass(frozen=True)
class Modal:
    """The four measured quantities. One without a chain behind it is None and carries no weight."""

    delta: float
    """Share of the running chains that end within the answer's tokens."""
    alpha_c_plus: float | None
    """Accuracy of those; None where none does."""
    epsilon: float | None
    """Accuracy of the chains that do not end even so; None where all do."""
    pi_eta: float
    """Accuracy of extraction, on all of them."""
    n: int = 0
    """Chains behind it; 0 where the quantities were given as numbers."""

    @property
    def continuation(self) -> float:
        """delta a_c+ + (1-delta) eps: what thinking on for as many tokens yields."""
        return self.delta * (self.alpha_c_plus or 0.0) + (1 - self.delta) * (self.epsilon or 0.0)

    @property
    def margin(self) -> float:
        """Advantage of extracting over thinking b_a tokens more."""
        return self.pi_eta - self.continuation

    @property
    def holds(self) -> bool:
        return self.margin > 0


def modal_of(extracted_right: ArrayLike, continued_right: ArrayLike, continued_ended: ArrayLike) -> Modal | None:
    """From rows, every row a chain that reached tau unfinished; None where there is none.

    `extracted_right`: the answer pass of b_a tokens on the chain cut at tau. `continued_right`, `continued_ended`:
    the same chain after b_a more tokens of thinking (thinking capped at tau + b_a, or `continuation`). epsilon is
    of the rows that did not end. Being of the same rows, the margin is the difference in accuracy they show.
    """
    e, c, done = outcomes(extracted=extracted_right, continued=continued_right, ended=continued_ended)
    n = len(e)
    if n == 0:
        return None
    ended = int(done.sum())
    better, rest = share(int((c & done).sum()), ended), share(int((c & ~done).sum()), n - ended)
    return Modal(ended / n, better, rest, float(e.mean()), n)


@dataclass(frozen=True)
class Continuation:
    """What thinking on would have given at one cut, for every question of a run of long chains."""

    alive: Bools
    """The chain reached the cut unfinished: the only rows the inequality speaks of."""
    ended: Bools
    """It ended within the answer's tokens."""
    right: Bools
    """Right at its end where it ended in time, else as it is read when cut."""


def continuation(
    cut: int,
    answer: int,
    lengths: ArrayLike,
    ended: ArrayLike,
    chain_right: ArrayLike,
    truncated_right: ArrayLike,
) -> Continuation:
    """Thinking b_a tokens beyond tau, put together where it was not run: from long chains and from cut ones.

    `lengths`, `ended`, `chain_right`: chains observed at least to tau + b_a. `truncated_right`: the answer read
    from the chain cut at tau, which stands for the one cut at tau + b_a.
    """
    spent, done, whole, broken = counts(lengths), bools(ended), bools(chain_right), bools(truncated_right)
    aligned(lengths=spent, ended=done, chain=whole, truncated=broken)
    short = ~done & (spent < cut + answer)
    if short.any():
        raise DataError(
            f"{int(short.sum())} chains were cut before {cut} + {answer} tokens, so it is unknown whether they "
            f"would have ended there; use chains with a cap of at least {cut + answer}"
        )
    alive = ~(done & (spent <= cut))
    just = alive & done & (spent <= cut + answer)
    return Continuation(alive, just, np.where(just, whole, broken).astype(np.bool_))


@dataclass(frozen=True)
class Dominance:
    """The bound a falling hazard gives: the longer a chain has run, the less thinking on can win."""

    hazard: float
    """Chance per token of ending at the cut, from the closest non-increasing curve."""
    advantage_at_least: float
    """pi eta - eps - h(tau) b_a (a_c+ - eps): extraction gains at least this over b_a tokens of thinking."""
    hazard_limit: float | None
    """(pi eta - eps)/(b_a (a_c+ - eps)): below it the bound is positive. None where a_c+ <= eps: any will do."""
    from_length: int | None
    """tau0: the least length from which the hazard stays at the limit or below; None where it never does."""


def dominance(hazard: Hazard, cut: int, answer_budget: int, parts: Modal) -> Dominance | None:
    """Holds where the hazard falls and the four quantities change little with tau. None outside the bins, or where
    nothing ended after the cut, or everything did: then a_c+ or eps is not known.
    """
    rate = hazard.falling(cut)
    better, rest = parts.alpha_c_plus, parts.epsilon
    if rate is None or better is None or rest is None or answer_budget <= 0:
        return None
    gain = parts.pi_eta - rest
    limit = gain / (answer_budget * (better - rest)) if better > rest else None
    always = hazard.bins[0].start if gain >= 0 else None
    start = always if limit is None else hazard.threshold(limit)
    return Dominance(rate, gain - rate * answer_budget * (better - rest), limit, start)


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
    questions: Ints | None = None,
    *,
    level: float = 0.95,
) -> TwoByTwo:
    """interaction = (nothink_with - nothink_without) - (think_with - think_without), a mean over questions."""
    cols = outcomes(tw=think_without, tc=think_with, nw=nothink_without, nc=nothink_with)
    n = len(cols[0])
    if n == 0:
        raise DataError("no rows in the 2x2")
    each = np.stack(cols, axis=1) @ np.array([1, -1, -1, 1])
    low, high = mean_interval(each, -2, 2, level, design_effect(each, questions, level))
    tw, tc, nw, nc = (int(c.sum()) for c in cols)
    test = mcnemar(cols[3], cols[1], questions)
    return TwoByTwo(n, tw, tc, nw, nc, float(each.mean()), low, high, mode_test=test)
