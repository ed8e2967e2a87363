"""Why thinking loses under a cap: accuracy split by whether the chain ended, and the loss split by its cause.

Acc_think = F a_c + (1 - F) a_t          F: share that ended, a_c / a_t: accuracy of ended / cut chains
tax       = A_nothink - Acc_think
          = (1 - F)(a_c - a_t) + (A_nothink - a_c)     truncation loss + reasoning gap

>>> d = decompose([True, True, False, False], [True, True, False, True])
>>> d.ended_share, d.alpha_c, d.alpha_t, d.accuracy
(0.5, 1.0, 0.5, 0.75)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Ints, outcomes, share
from thinkcap.statistics.clusters import design_effect


@dataclass(frozen=True)
class Decomposition:
    """Accuracy by counts. A share without a denominator is None."""

    n: int
    ended: int
    right_ended: int
    right_cut: int

    @property
    def cut(self) -> int:
        return self.n - self.ended

    @property
    def right(self) -> int:
        return self.right_ended + self.right_cut

    @property
    def accuracy(self) -> float:
        return self.right / self.n

    @property
    def ended_share(self) -> float:
        return self.ended / self.n

    @property
    def alpha_c(self) -> float | None:
        return share(self.right_ended, self.ended)

    @property
    def alpha_t(self) -> float | None:
        return share(self.right_cut, self.cut)

    @property
    def rebuilt(self) -> float:
        """F a_c + (1 - F) a_t: must equal the accuracy, whatever is undefined has weight 0."""
        f = self.ended_share
        return f * (self.alpha_c or 0.0) + (1 - f) * (self.alpha_t or 0.0)


def decompose(ended: ArrayLike, right: ArrayLike) -> Decomposition:
    done, good = outcomes(ended=ended, right=right)
    n = len(done)
    if n == 0:
        raise DataError("no rows to decompose")
    result = Decomposition(n, int(done.sum()), int((done & good).sum()), int((~done & good).sum()))
    if abs(result.rebuilt - result.accuracy) > 1e-9:
        raise DataError(f"the identity fails: {result.rebuilt} is not {result.accuracy}")
    return result


@dataclass(frozen=True)
class SameSubset:
    """The tax on the very same questions, by whether the chain ended; the two parts add up to the tax.

    The reasoning gap A_nt - a_c compares all questions with the easy ones that ended; this does not.
    """

    ended: float
    cut: float
    nothink_on_ended: float | None
    nothink_on_cut: float | None


@dataclass(frozen=True)
class Tax:
    """What thinking costs at one budget, in shares (0.36 = 36 points)."""

    nothink_accuracy: float
    think: Decomposition
    tax: float
    tax_if_cut_is_wrong: float | None
    """A_nt - F a_c: the approximation that cut chains are never right."""
    truncation_loss: float | None
    reasoning_gap: float | None
    reasoning_gap_se: float | None
    """Of the same questions: what both modes share does not count as noise."""
    regime: str
    """truncation (thinking is better where it ends), neutral (within one standard error), residual, undefined."""
    same_subset: SameSubset


def tax(
    nothink_right: ArrayLike,
    think_ended: ArrayLike,
    think_right: ArrayLike,
    questions: Ints | None = None,
) -> Tax:
    """The tax and its two causes: row i is the same question in both modes. `questions`: which rows share one."""
    direct, done, good = outcomes(nothink=nothink_right, ended=think_ended, think=think_right)
    think = decompose(done, good)
    a_nt, n = float(direct.mean()), len(direct)
    on_ended, on_cut = int((direct & done).sum()), int((direct & ~done).sum())
    same = SameSubset(
        ended=(on_ended - think.right_ended) / n,
        cut=(on_cut - think.right_cut) / n,
        nothink_on_ended=share(on_ended, think.ended),
        nothink_on_cut=share(on_cut, think.cut),
    )
    a_c, a_t, f = think.alpha_c, think.alpha_t, think.ended_share
    loss = gap = error = approx = None
    regime = "undefined"
    if a_c is not None:
        approx = a_nt - f * a_c
        # Where every chain ended, nothing was truncated: the loss is 0 although a_t has no value.
        loss = (1 - f) * (a_c - a_t) if a_t is not None else 0.0
        gap = a_nt - a_c
        error = _gap_error(direct, done, good, questions)
        regime = "neutral" if abs(gap) <= error else ("truncation" if gap < 0 else "residual")
    return Tax(a_nt, think, a_nt - think.accuracy, approx, loss, gap, error, regime, same)


def _gap_error(direct: Bools, done: Bools, good: Bools, questions: Ints | None) -> float:
    """Standard error of A_nt - a_c where both come from the same questions (delta method).

    Two imagined questions whose chains ended, one right only directly and one right only by thinking, join the
    sample: where the modes never differed the error is small, not 0.
    """
    a, d, g = (np.append(column, pair) for column, pair in ((direct, (1, 0)), (done, (1, 1)), (good, (0, 1))))
    influence = a - d * (g - g[d > 0].mean()) / d.mean()
    effect = design_effect(influence[: len(direct)], questions)
    return float(influence.std() * math.sqrt(effect / len(influence)))


@dataclass(frozen=True)
class Recovery:
    """What a separate answer pass could win back: tax = recoverable + residual."""

    recoverable: float
    residual: float
    decoupled_accuracy: float


def recovery(
    nothink_accuracy: float, ended_share: float, alpha_c: float | None, alpha_t: float | None, alpha_e: float
) -> Recovery | None:
    """R = (1-F)(a_e - a_t), I = A_nt - F a_c - (1-F) a_e. None where a needed accuracy is undefined."""
    f = ended_share
    if (alpha_c is None and f > 0) or (alpha_t is None and f < 1):
        return None
    done = f * (alpha_c or 0.0)
    decoupled = done + (1 - f) * alpha_e
    return Recovery((1 - f) * (alpha_e - (alpha_t or 0.0)), nothink_accuracy - decoupled, decoupled)


def recovered(
    nothink_right: ArrayLike, chain_ended: ArrayLike, coupled_right: ArrayLike, split_right: ArrayLike
) -> Recovery:
    """The same from rows: one question in all four columns, `split_right` the outcome with a separate answer pass.

    F, a_c and a_t are of the coupled chains, a_e of the split on the chains that were cut. R + I is the tax.
    """
    direct, apart, done = outcomes(nothink=nothink_right, split=split_right, chain=chain_ended)
    parts = decompose(done, coupled_right)
    alpha_e = float(apart[~done].mean()) if not done.all() else 0.0
    found = recovery(float(direct.mean()), parts.ended_share, parts.alpha_c, parts.alpha_t, alpha_e)
    # Undefined accuracies belong to groups without a row, so nothing that carries weight is missing.
    assert found is not None
    return found
