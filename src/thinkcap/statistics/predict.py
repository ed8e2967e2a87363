"""How far a few measurements carry: other budgets, a small pilot, another model.

>>> held_out(0.808, alpha_c=0.991, alpha_t=0.255)
0.849688
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints, bools, counts


def held_out(ended_share: float, alpha_c: float | None, alpha_t: float | None) -> float | None:
    """Accuracy at a budget whose F is known, with accuracies fitted at another budget."""
    if (alpha_c is None and ended_share > 0) or (alpha_t is None and ended_share < 1):
        return None
    return ended_share * (alpha_c or 0.0) + (1 - ended_share) * (alpha_t or 0.0)


def cross_scale(cut_share: float, pi_eta: float, epsilon: float) -> float:
    """Split gain expected for another model: (1-F)(pi eta - eps)."""
    return cut_share * (pi_eta - epsilon)


@dataclass(frozen=True)
class Pilot:
    """Error of predicting a whole sweep from a few questions, with one a_c for all budgets."""

    questions: int
    draws: int
    rmse_mean: float
    rmse_sd: float
    """F and a_t of each budget, from cutting the pilot's chains there."""
    frozen_rmse_mean: float
    frozen_rmse_sd: float
    """Only F of each budget; a_t is that of the middle budget, as if cuts had not been looked at."""


def pilot_sufficiency(
    budgets: Sequence[int],
    lengths: ArrayLike,
    ended: ArrayLike,
    right: ArrayLike,
    *,
    questions: int = 50,
    draws: int = 20,
    seed: int = 0,
) -> Pilot:
    """Estimate on `questions` random ones, predict each budget's accuracy on the rest, root mean square error.

    `lengths`, `ended`: one run per question at the highest cap; `right`: questions x budgets cut from it.
    """
    spent, done, table = counts(lengths), bools(ended), bools(right)
    n = len(spent)
    if table.shape != (n, len(budgets)) or len(done) != n:
        raise DataError(f"wanted {n} questions x {len(budgets)} budgets, got {table.shape}")
    if not 0 < questions < n:
        raise DataError(f"a pilot of {questions} needs more than {questions} questions, got {n}")
    rng = np.random.default_rng(seed)
    errors = []
    for _ in range(draws):
        order = rng.permutation(n)
        errors.append(_pilot_error(budgets, spent, done, table, order[:questions], order[questions:]))
    free, frozen = np.array(errors).T
    spread = 1 if draws > 1 else 0
    return Pilot(
        questions,
        draws,
        float(free.mean()),
        float(free.std(ddof=spread)),
        float(frozen.mean()),
        float(frozen.std(ddof=spread)),
    )


def _pilot_error(
    budgets: Sequence[int], spent: Ints, done: Bools, table: Bools, pilot: Ints, rest: Ints
) -> tuple[float, float]:
    finished = [(done & (spent <= b))[pilot] for b in budgets]
    free, frozen = sweep_from_pilot(finished, table[pilot])
    truth = table[rest].mean(axis=0)
    return _rmse(free, truth), _rmse(frozen, truth)


def sweep_from_pilot(finished: Sequence[Bools], right: Bools) -> tuple[Floats, Floats]:
    """F(b) a_c + (1-F(b)) a_t(b) for each budget, and the same with a_t frozen at the middle budget.

    `finished[k]` and `right[:, k]` are of budget k. a_c is that of the largest budget at which a chain ended: one
    number for the whole sweep, so the prediction is wrong where a_c changes with the budget. A budget at which no
    chain was cut has no a_t: the nearest one that has stands in.
    """
    shares = np.array([f.mean() for f in finished])
    ended = [right[f, k].mean() for k, f in enumerate(finished) if f.any()]
    a_c = float(ended[-1]) if ended else 0.0
    cut = {k: float(right[~f, k].mean()) for k, f in enumerate(finished) if not f.all()}

    def nearest(k: int) -> float:
        # Where nothing was cut anywhere, a_t has no weight anywhere.
        return cut[min(cut, key=lambda other: (abs(other - k), other))] if cut else 0.0

    a_t = np.array([nearest(k) for k in range(len(finished))])
    return shares * a_c + (1 - shares) * a_t, shares * a_c + (1 - shares) * nearest(len(finished) // 2)


def _rmse(a: Floats, b: Floats) -> float:
    return float(np.sqrt(np.mean((a - b) ** 2)))
