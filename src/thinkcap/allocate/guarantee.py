"""Learn, then test: a choice made on some questions is used only if others show that it does no harm.

What is chosen on one half of the questions (and only there) is tested on the other half against every fixed
policy: "it is worse than this one by `margin` or more" must be refuted. The test bets on each question in turn
(Waudby-Smith and Ramdas); its p-value holds for every number of questions and any law of the outcomes, without a
normal approximation. A choice must refute all fixed policies, so the largest p-value counts, and no correction is
needed for how many there are. Several candidates share the risk by Holm's rule, which keeps the chance of any
false "no harm" at one cap below it; of those that pass, the one preferred beforehand is used.

    found = learn_then_test([bold, careful], fixed, margin=0.01, risk=0.1)
    found.chosen                    # 0, 1, or None: fall back to the best fixed policy
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.arrays import Bools, Floats
from thinkcap.statistics.paired import holm

_CAREFUL = 0.75
"""Share of the capital a single question may cost; below 1, so that no question ruins the bettor."""


def harm_p(candidate: Bools, fixed: Bools, margin: float, seed: int = 0) -> float:
    """Chance of such outcomes, at most, if the candidate were worse than `fixed` by `margin` or more."""
    if candidate.shape != fixed.shape or len(candidate) == 0:
        raise DataError("a test of harm needs both outcomes of the same questions, at least one")
    gain = candidate.astype(np.float64) - fixed.astype(np.float64)
    # The order must not depend on the outcomes; the questions' own order might (easy ones first).
    gain = gain[np.random.default_rng(seed).permutation(len(gain))]
    return min(1.0, math.exp(-_log_capital((1 + gain) / 2, (1 - margin) / 2)))


def _log_capital(x: Floats, mean: float) -> float:
    """Largest log capital of a bettor on "the mean is above `mean`", who knows at each step only the past."""
    n = len(x)
    steps = np.arange(1, n + 1)
    centre = (0.5 + np.cumsum(x)) / (steps + 1)
    spread = (0.25 + np.cumsum((x - centre) ** 2)) / (steps + 1)
    known_spread = np.concatenate(([0.25], spread[:-1]))
    known_centre = np.concatenate(([0.5], centre[:-1]))
    # Two bettors of half the capital each: one aims at the fixed number of questions, one at the edge seen so far.
    planned = np.sqrt(2 * math.log(10) / (n * known_spread))
    seen = np.maximum(0.0, known_centre - mean) / known_spread
    most = _CAREFUL / mean
    logs = [np.cumsum(np.log1p(np.minimum(bet, most) * (x - mean))) for bet in (planned, seen)]
    return float(np.logaddexp(*logs).max() - math.log(2))


@dataclass(frozen=True)
class Certified:
    """Of repeated studies, at most `risk` choose a candidate that is worse than some fixed policy by `margin`.

    That is the chance of "chosen and harmful" before the study, at this cap; not the chance of harm once chosen.
    """

    chosen: int | None
    p: tuple[float, ...]
    """One a candidate: the largest over the fixed policies, adjusted for the number of candidates."""
    margin: float
    risk: float
    n: int


def learn_then_test(
    candidates: Sequence[Bools], fixed: Sequence[Bools], *, margin: float, risk: float, seed: int = 0
) -> Certified:
    """Candidates in order of preference; outcomes of questions that had no part in making or ordering them."""
    if not 0 < risk < 1 or not 0 <= margin < 1:
        raise ConfigError(f"wanted a risk between 0 and 1 and a margin of at least 0, got {risk} and {margin}")
    if not fixed:
        raise DataError("a guarantee against fixed policies needs at least one of them")
    worst = [max(harm_p(candidate, other, margin, seed) for other in fixed) for candidate in candidates]
    adjusted = holm({str(i): p for i, p in enumerate(worst)})
    chosen = next((i for i in range(len(worst)) if adjusted[str(i)] <= risk), None)
    return Certified(chosen, tuple(adjusted.values()), margin, risk, len(fixed[0]))


def harm_bound(candidate: Bools, fixed: Sequence[Bools], *, risk: float, seed: int = 0) -> float:
    """Upper bound, at level 1 - `risk`, of what a candidate named beforehand loses to the best fixed policy."""
    low, high = -1.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        if max(harm_p(candidate, other, middle, seed) for other in fixed) <= risk:
            high = middle
        else:
            low = middle
    return high
