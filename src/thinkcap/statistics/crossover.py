"""From which budget thinking pays: predicted from chain lengths, or seen in a sweep, or not at all.

>>> empirical([512, 1024, 2048], [0.36, 0.07, 0.0]).interval
(1024, 2048)
>>> needed_share(0.98, 0.9796, 0.585) > 1        # 27B at 4096: no budget is enough
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Floats, Ints, aligned, bools
from thinkcap.statistics.bootstrap import cells_of, percentile_interval
from thinkcap.statistics.clusters import by_question
from thinkcap.statistics.survival import Survival


def needed_share(nothink: float, alpha_c: float | None, alpha_t: float | None) -> float | None:
    """F* = (A_nt - a_t)/(a_c - a_t): the share of chains that must end for a draw. None where undefined."""
    if alpha_c is None or alpha_t is None or alpha_c <= alpha_t:
        return None
    return (nothink - alpha_t) / (alpha_c - alpha_t)


def needed_share_heuristic(nothink: float, alpha_c: float | None) -> float | None:
    """A_nt / a_c: as if cut chains were never right, so it asks for too much."""
    return None if alpha_c is None or alpha_c <= 0 else nothink / alpha_c


@dataclass(frozen=True)
class Predicted:
    """A crossover read off the chain-length curve. `budget` is None unless status is 'at'."""

    status: str
    """at; none (more than every chain would have to end); beyond (what was observed); undefined."""
    needed_share: float | None
    budget: int | None
    beyond: int | None
    """With status 'beyond': thinking pays, if ever, above this many tokens."""


def predicted(curve: Survival, needed: float | None) -> Predicted:
    """The budget at which the needed share of chains ends. The share at the caps' end may not suffice."""
    last = None if curve.last is None else int(curve.last)
    if needed is None:
        return Predicted("undefined", None, None, None)
    if needed > 1:
        return Predicted("none", needed, None, None)
    length = 0.0 if needed <= 0 else curve.quantile(needed)
    if length is None:
        return Predicted("beyond", needed, None, last)
    return Predicted("at", needed, int(length), None)


@dataclass(frozen=True)
class Empirical:
    """Where a sweep saw thinking catch up: after the last budget at which it lost."""

    status: str
    """between; before (never lost: pays from the first budget on); beyond (lost at the last budget)."""
    last_losing: int | None
    first_paying: int | None
    point: float | None
    """Interpolated on a log scale of budgets between the two; None unless status is 'between'."""
    low: float | None = None
    high: float | None = None
    """Bootstrap interval; an end is a number only where its word is 'at'."""
    low_is: str | None = None
    high_is: str | None = None
    """before (the first budget run), at, beyond (the last budget run); None where nothing was drawn."""
    beyond_share: float | None = None
    """Share of draws in which thinking never caught up within the sweep."""
    level: float | None = None

    @property
    def interval(self) -> tuple[int | None, int | None]:
        return self.last_losing, self.first_paying


def _crossings(logs: Floats, taxes: Floats) -> Floats:
    """log2 budget of the crossing per row of taxes; -inf if never losing, +inf if losing at the end."""
    losing = taxes > 0
    columns = taxes.shape[1]
    last = columns - 1 - np.argmax(losing[:, ::-1], axis=1)
    result = np.full(len(taxes), -np.inf)
    some = losing.any(axis=1)
    result[some & (last == columns - 1)] = np.inf
    inside = np.flatnonzero(some & (last < columns - 1))
    i = last[inside]
    before, after = taxes[inside, i], taxes[inside, i + 1]
    result[inside] = logs[i] + (logs[i + 1] - logs[i]) * before / (before - after)
    return result


def _checked(budgets: Sequence[int]) -> Floats:
    if len(budgets) == 0 or any(b <= 0 for b in budgets) or list(budgets) != sorted(set(budgets)):
        raise DataError(f"a sweep needs rising budgets above 0, got {list(budgets)}")
    return np.log2(np.asarray(budgets, dtype=np.float64))


def empirical(budgets: Sequence[int], taxes: ArrayLike) -> Empirical:
    """The interval (last budget with tax > 0, next budget)."""
    logs, values = _checked(budgets), np.asarray(taxes, dtype=np.float64)
    aligned(budgets=logs, taxes=values)
    point = float(_crossings(logs, values[None, :])[0])
    if point == -math.inf:
        return Empirical("before", None, int(budgets[0]), None)
    if point == math.inf:
        return Empirical("beyond", int(budgets[-1]), None, None)
    last = int(np.flatnonzero(values > 0)[-1])
    return Empirical("between", int(budgets[last]), int(budgets[last + 1]), float(2.0**point))


def empirical_with_interval(
    budgets: Sequence[int],
    nothink_right: ArrayLike,
    think_right: ArrayLike,
    questions: Ints | None = None,
    *,
    draws: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Empirical:
    """The same with a bootstrap over questions: table columns are budgets, rows the same questions.

    Where a question has several rows (`questions` says which), they are drawn together.

    Two imagined questions, one always right only directly and one always only by thinking, are drawn along: where
    the modes never differed, the interval runs from before the first budget to beyond the last, not nowhere.
    """
    logs = _checked(budgets)
    direct, thought = bools(nothink_right), bools(think_right)
    if direct.shape != thought.shape or direct.ndim != 2 or direct.shape[1] != len(logs):
        raise DataError(
            f"wanted two tables of questions x {len(logs)} budgets, got {direct.shape} and {thought.shape}"
        )
    # Only the difference matters: +1, 0, -1 per question and budget, so few distinct rows.
    gaps = direct.astype(np.int8) - thought.astype(np.int8)
    if len(gaps) == 0:
        raise DataError("a crossover needs at least one question answered in both modes at every budget")
    best = empirical(budgets, gaps.mean(axis=0))
    if questions is not None:
        # A crossing asks where the sum changes its sign, so sums of questions serve as well as means of rows.
        gaps = by_question(gaps, questions).astype(np.int16)
    ones = np.full((1, len(logs)), max(1, len(direct) // len(gaps)), dtype=gaps.dtype)
    drawn = _crossings(logs, cells_of(np.concatenate((gaps, ones, -ones))).draws(draws, seed))
    low, high = percentile_interval(drawn, level)
    return replace(
        best,
        low=None if math.isinf(low) else float(2.0**low),
        high=None if math.isinf(high) else float(2.0**high),
        low_is=_where(low),
        high_is=_where(high),
        beyond_share=float(np.mean(drawn == np.inf)),
        level=level,
    )


def _where(log_budget: float) -> str:
    return "at" if math.isfinite(log_budget) else ("before" if log_budget < 0 else "beyond")


@dataclass(frozen=True)
class Multiplier:
    """gamma = b*/b_sat: how many times the direct answer's saturated budget thinking needs. One is set."""

    saturation: int
    gamma: float | None
    """At the crossover itself, where the sweep saw one."""
    gamma_above: float | None
    """Thinking still lost at the largest budget: gamma is above this."""
    gamma_at_most: float | None
    """Thinking never lost: gamma is this or less."""


def multiplier(
    budgets: Sequence[int], nothink_accuracy: ArrayLike, crossing: Empirical, *, within: float = 0.01
) -> Multiplier:
    """b_sat is the least budget whose direct accuracy is within `within` of the best."""
    values = np.asarray(nothink_accuracy, dtype=np.float64)
    _checked(budgets)
    aligned(budgets=np.asarray(budgets), accuracy=values)
    saturation = int(budgets[int(np.argmax(values >= values.max() - within))])

    def times(budget: float | None) -> float | None:
        return None if budget is None else budget / saturation

    if crossing.status == "between":
        return Multiplier(saturation, times(crossing.point), None, None)
    return Multiplier(saturation, None, times(crossing.last_losing), times(crossing.first_paying))
