"""What a separate answer pass is worth: reasoning capped at b_r, then b_a tokens to answer from it.

>>> optimal_split(100, [40, 80], [0.2, 0.5], [0.9, 0.9], [0.5, 0.6]).best.reasoning
80
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Floats, aligned
from thinkcap.statistics.survival import Survival


@dataclass(frozen=True)
class MatchedTotal:
    """Split (b_r + b_a) against thinking at b = b_r + b_a: what each of three causes adds."""

    extraction: float
    """(1-F_r)(a_e - a_t(b)): cut chains answered apart."""
    finishing: float
    """-(F_b - F_r)(a_c(b) - a_t(b)): chains that the answer's share would have let end."""
    selection: float
    """F_r (a_c(b_r) - a_c(b)): the ended ones are not the same set."""

    @property
    def total(self) -> float:
        return self.extraction + self.finishing + self.selection


def matched_total(
    *,
    ended_at_reasoning: float,
    ended_at_total: float,
    alpha_c_reasoning: float | None,
    alpha_c_total: float | None,
    alpha_t_total: float | None,
    alpha_e: float,
) -> MatchedTotal | None:
    """None where an accuracy that carries weight is undefined."""
    f_r, f_b = ended_at_reasoning, ended_at_total
    if f_b < f_r - 1e-9:
        raise DataError(f"more chains end at the smaller cap ({f_r}) than at the larger ({f_b}); check the runs")
    # Even where every chain ends at b, the two first causes are told apart only by a_t(b).
    needs_t = f_r < 1
    if (alpha_c_total is None and f_b > 0) or (alpha_c_reasoning is None and f_r > 0):
        return None
    if alpha_t_total is None and needs_t:
        return None
    a_t, a_c = alpha_t_total or 0.0, alpha_c_total or 0.0
    return MatchedTotal(
        (1 - f_r) * (alpha_e - a_t),
        -(f_b - f_r) * (a_c - a_t),
        f_r * ((alpha_c_reasoning or 0.0) - a_c),
    )


def coupling_gain(curve: Survival, budget: int, least_answer: int, alpha_e: float, alpha_t: float) -> float:
    """(1-F(b - |A|min))(a_e - a_t): the loss of having thought and answer share one cap.

    F is of the thoughts alone: one of just b - |A|min tokens still leaves room for the answer.
    """
    return (1 - curve.at(budget - least_answer)) * (alpha_e - alpha_t)


@dataclass(frozen=True)
class SplitPoint:
    reasoning: int
    answer: int
    expected: float


@dataclass(frozen=True)
class OptimalSplit:
    """The best split of a total on a grid, with a check that it is where the first-order rule says."""

    total: int
    best: SplitPoint
    grid: tuple[SplitPoint, ...]
    interior: bool
    """False when the best point is at an end of the grid: the rule need not hold there."""
    first_order: float | None
    """f(a_c - a_e) + F da_c/db_r + (1-F)(da_e/db_r - da_e/db_a) at the best, in points per 100 tokens; ideal is 0.

    Along divisions that spend just the total; None where the best has no such neighbour on either side."""
    saturated: int | None
    """b - b_a_sat: where the split goes when more answer tokens stop helping; None without a saturation."""


def optimal_split(
    total: int,
    reasoning: Sequence[int],
    ended_share: ArrayLike,
    alpha_c: ArrayLike,
    alpha_e: ArrayLike,
    *,
    answers: Sequence[int] | None = None,
    answer_saturation: int | None = None,
) -> OptimalSplit:
    """Maximise F(b_r) a_c + (1-F(b_r)) a_e(b_r, total - b_r) over measured reasoning budgets.

    alpha_c may be nan only where F is 0, alpha_e only where F is 1. alpha_e[i] belongs to (reasoning[i],
    total - reasoning[i]), or to (reasoning[i], answers[i]) where less than the rest was given to the answer.
    Such a division may be the best, but takes no part in the first-order check.
    """
    steps = np.asarray(reasoning, dtype=np.float64)
    f = np.asarray(ended_share, dtype=np.float64)
    a_c, a_e = np.asarray(alpha_c, dtype=np.float64), np.asarray(alpha_e, dtype=np.float64)
    n = aligned(reasoning=steps, ended_share=f, alpha_c=a_c, alpha_e=a_e)
    if n == 0 or np.any(np.diff(steps) <= 0) or steps[0] <= 0 or steps[-1] >= total:
        raise DataError(f"a split of {total} needs rising reasoning budgets inside it, got {list(reasoning)}")
    if np.any(np.isnan(a_c) & (f > 0)) or np.any(np.isnan(a_e) & (f < 1)):
        raise DataError("an accuracy that carries weight is undefined; measure it or leave that split out")
    given = [total - int(r) for r in reasoning] if answers is None else list(answers)
    if any(r + a > total for r, a in zip(reasoning, given, strict=True)):
        raise DataError(f"a division spends more than {total}: {list(zip(reasoning, given, strict=True))}")
    expected = f * np.nan_to_num(a_c) + (1 - f) * np.nan_to_num(a_e)
    points = zip(reasoning, given, expected, strict=True)
    grid = tuple(SplitPoint(int(r), int(a), float(v)) for r, a, v in points)
    top = int(np.argmax(expected))
    inside = 0 < top < n - 1
    whole = np.array([p.reasoning + p.answer == total for p in grid])
    check = None
    if whole[top]:
        # Divisions that leave tokens unspent lie on other lines; a slope across lines is none.
        at = int(whole[:top].sum())
        check = _first_order(steps[whole], f[whole], a_c[whole], a_e[whole], at)
    rest = None if answer_saturation is None else max(0, total - answer_saturation)
    return OptimalSplit(total, grid[top], grid, inside, check, rest)


def _first_order(steps: Floats, f: Floats, a_c: Floats, a_e: Floats, top: int) -> float | None:
    """The slope of F a_c + (1-F) a_e along one total: there db_a = -db_r, so a_e's slope is both of its parts."""
    if not 0 < top < len(steps) - 1:
        return None

    def slope(values: Floats) -> float:
        return float(np.gradient(values[top - 1 : top + 2], steps[top - 1 : top + 2])[1])

    # An accuracy that nobody's chain carries (F = 0 or 1 at the best) has no weight there, whatever its slope.
    ended = f[top] * slope(a_c) if f[top] > 0 else 0.0
    cut = (1 - f[top]) * slope(a_e) if f[top] < 1 else 0.0
    premium = slope(f) * (a_c[top] - a_e[top]) if slope(f) else 0.0
    value = premium + ended + cut
    # A neighbour without an ended or a cut chain lacks that accuracy, and then there is no slope either.
    return None if np.isnan(value) else float(value * 100 * 100)


def answer_saturation(answer_budgets: Sequence[int], alpha_e: ArrayLike, within: float = 0.01) -> int:
    """Least answer budget whose extraction accuracy is within `within` of the best."""
    values = np.asarray(alpha_e, dtype=np.float64)
    aligned(budgets=np.asarray(answer_budgets), alpha_e=values)
    return int(answer_budgets[int(np.argmax(values >= values.max() - within))])
