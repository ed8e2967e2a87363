"""Two ways of answering, compared on the same questions, and refused when they are not the same questions.

>>> mcnemar([1, 1, 1, 0], [0, 0, 1, 0]).only_first
2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.arrays import Bools, Ints, aligned, bools
from thinkcap.statistics.bootstrap import cells_of, percentile_interval


@dataclass(frozen=True)
class Answers:
    """One arm's outcomes with what identifies each question."""

    question: NDArray[Any]
    """Ids of any kind that sorts: texts or codes."""
    right: Bools
    content: NDArray[np.uint64] | None = None
    """A hash of gold or question text per row; None when the records store neither."""
    status: str = "actual"
    """actual, estimated or reconstructed: only actual records enter a test."""
    order: str | None = None
    """Name of the declared order of questions (dataset, seed, count), when no content was stored."""
    name: str = "arm"


@dataclass(frozen=True)
class Pairing:
    """Which rows of two arms are the same question, and on what evidence."""

    first: Ints
    second: Ints
    matched_by: str

    @property
    def n(self) -> int:
        return len(self.first)


def pair(first: Answers, second: Answers) -> Pairing:
    """Match two arms question by question; refuses estimated records, repeated ids, other questions."""
    for arm in (first, second):
        if arm.status != "actual":
            raise DataError(f"{arm.name} is {arm.status}, not actual: no paired test on records nobody ran")
        ordered = np.sort(arm.question)
        if bool((ordered[1:] == ordered[:-1]).any()):
            raise DataError(f"{arm.name} answers some question twice; a paired test needs one answer each")
    common, i, j = np.intersect1d(first.question, second.question, assume_unique=True, return_indices=True)
    if len(common) == 0:
        raise DataError(f"{first.name} and {second.name} share no question id; nothing to pair")
    if first.content is not None and second.content is not None:
        same = first.content[i] == second.content[j]
        if not same.all():
            raise DataError(
                f"{first.name} and {second.name} have the same id on {len(common)} questions but the same "
                f"gold or text on {int(same.sum())}: these are different questions, so no paired test"
            )
        return Pairing(i.astype(np.int64), j.astype(np.int64), "id and content")
    if first.order is not None and first.order == second.order:
        return Pairing(i.astype(np.int64), j.astype(np.int64), f"id in the declared order {first.order}")
    raise DataError(
        f"{first.name} and {second.name} share ids, but no gold or text was stored to prove the questions "
        f"equal, and their declared orders differ ({first.order} and {second.order})"
    )


@dataclass(frozen=True)
class McNemar:
    """Exact two-sided McNemar on discordant pairs."""

    n: int
    only_first: int
    only_second: int
    p: float

    @property
    def difference(self) -> float:
        """Accuracy of the first minus that of the second."""
        return (self.only_first - self.only_second) / self.n


def mcnemar_counts(only_first: int, only_second: int, n: int) -> McNemar:
    if min(only_first, only_second) < 0 or only_first + only_second > n:
        raise ConfigError(f"impossible discordant counts {only_first}:{only_second} of {n}")
    trials = only_first + only_second
    p = 1.0 if trials == 0 else min(1.0, 2.0 * float(binom.cdf(min(only_first, only_second), trials, 0.5)))
    return McNemar(n, only_first, only_second, p)


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """Row i of both must be the same question; `compare_arms` checks that."""
    a, b = bools(first), bools(second)
    n = aligned(first=a, second=b)
    return mcnemar_counts(int((a & ~b).sum()), int((b & ~a).sum()), n)


@dataclass(frozen=True)
class PairedDifference:
    test: McNemar
    matched_by: str
    low: float
    high: float
    level: float


def difference_interval(
    first: ArrayLike, second: ArrayLike, *, draws: int = 2000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap of the paired difference: a multinomial over the outcomes +1, 0, -1."""
    a, b = bools(first), bools(second)
    aligned(first=a, second=b)
    gaps = (a.astype(np.int8) - b.astype(np.int8))[:, None]
    return percentile_interval(cells_of(gaps).draws(draws, seed)[:, 0], level)


def compare_arms(first: Answers, second: Answers, *, draws: int = 2000, seed: int = 0) -> PairedDifference:
    """Match, then test: refuses whatever `pair` refuses."""
    pairing = pair(first, second)
    a, b = first.right[pairing.first], second.right[pairing.second]
    return difference(a, b, pairing.matched_by, draws=draws, seed=seed)


def difference(
    first: ArrayLike, second: ArrayLike, matched_by: str, *, draws: int = 2000, seed: int = 0
) -> PairedDifference:
    """Test and interval of rows that somebody has already matched, and says how."""
    low, high = difference_interval(first, second, draws=max(draws, 1000), seed=seed)
    return PairedDifference(mcnemar(first, second), matched_by, low, high, 0.95)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjustment over a family of tests; keeps the order given."""
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    adjusted: dict[str, float] = {}
    running = 0.0
    for rank, (name, p) in enumerate(ordered):
        running = max(running, min(1.0, (len(ordered) - rank) * p))
        adjusted[name] = running
    return {name: adjusted[name] for name in p_values}


def mcnemar_power(n: int, only_first: float, only_second: float, alpha: float = 0.05) -> float:
    """Chance that the exact test rejects at n questions with these discordant shares; summed exactly."""
    if not (only_first >= 0 and only_second >= 0 and only_first + only_second <= 1):
        raise ConfigError(f"discordant shares must be a partition, got {only_first} and {only_second}")
    discordant = only_first + only_second
    if discordant == 0:
        return 0.0
    trials = np.arange(n + 1)
    chance = binom.pmf(trials, n, discordant)
    power = 0.0
    for t in trials[chance > 1e-12]:
        wins = np.arange(t + 1)
        p = np.minimum(1.0, 2.0 * binom.cdf(np.minimum(wins, t - wins), t, 0.5)) if t else np.ones(1)
        power += float(chance[t] * binom.pmf(wins, t, only_first / discordant)[p <= alpha].sum())
    return power


@lru_cache(maxsize=1024)
def least_detectable(n: int, alpha: float = 0.05, power: float = 0.8, noise: float = 0.05) -> float | None:
    """Smallest one-way difference seen with this power, when `noise` of the questions flip the other way too.

    None when even a difference of 1 - 2 noise is not: the sample is too small to show anything.
    """
    for step in range(1, 101):
        effect = step / 100
        if effect + 2 * noise > 1:
            return None
        if mcnemar_power(n, effect + noise, noise, alpha) >= power:
            return effect
    return None


def holm_of(tests: Sequence[tuple[str, McNemar]]) -> dict[str, float]:
    return holm({name: test.p for name, test in tests})
