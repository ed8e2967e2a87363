"""How long a study still takes: the tokens still to be written, at the pace of the last while.

What a row costs is known by policy and budget, from the rows already written: a cut of a stored trace costs
nothing, a chain at a small budget less than at a large one. So that every policy and budget is known early, a few
questions go ahead of the others (`order`).

    pace = Pace(plan.ways, left=[500, 500], lanes=64)
    pace.begins(0); ...; pace.ends(0, tokens=212, seconds=3.1)
    pace.seconds_left()
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from thinkcap.policies.registry import PolicySpec
from thinkcap.statistics.arrays import Bools, Floats, Ints
from thinkcap.study.plan import StudyPlan

CUTS: Mapping[str, str] = {"nothink": "nothink", "think": "think", "think[heuristic]": "think"}
"""Policies that are nothing but a cut of one mode's trace: a generation at the largest budget serves them all."""
_AHEAD, _AHEAD_SHARE = 16, 0.02
"""Questions that go ahead: enough for a mean over chains whose lengths vary as much as they are long."""
_HALF_LIFE_S = 10.0


def free(ways: Sequence[tuple[PolicySpec, int]], *, online: bool = False) -> Bools:
    """Which policies at which budgets write nothing, since a chain at a larger one is stored."""
    found, written = [], set()
    for spec, _ in ways:
        mode = CUTS.get(spec.label)
        found.append(mode in written and not online)
        written |= {mode} - {None}
    return np.array(found, dtype=np.bool_)


def order(plan: StudyPlan, done: Bools, lanes: int) -> Iterator[int]:
    """The places still to be done: large budgets first and whole chains before what is cut from them, so that the
    last rows are short ones and lanes run empty together."""
    width = len(plan.asked)
    # A plain chain first: it shares with nobody before it, and everybody after it cuts it.
    ways = sorted(range(len(plan.ways)), key=lambda at: (-plan.ways[at][1], plan.ways[at][0].label != "think"))
    ahead = max(_AHEAD, math.ceil(_AHEAD_SHARE * width))
    ahead = ahead if 2 * ahead < width else 0

    def places(chosen: Iterable[int], start: int, stop: int) -> Iterator[int]:
        return (at for way in chosen for at in range(way * width + start, way * width + stop) if not done[at])

    chains = [way for way in ways if plan.ways[way][0].label in CUTS][:2]
    others = [way for way in ways if way not in chains]
    rest = places(ways, ahead, width)
    yield from places(chains, 0, ahead)
    # Meanwhile the chains of those ahead are written: nobody has to wait for one.
    yield from islice(rest, 2 * lanes)
    yield from places(others, 0, ahead)
    yield from rest


class Pace:
    """Counts what comes in. A row of `way` (a policy at a budget) takes a lane from `begins` to `ends`."""

    def __init__(
        self,
        ways: Sequence[tuple[PolicySpec, int]],
        left: Sequence[int] | Ints,
        lanes: int,
        *,
        online: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._free = free(ways, online=online)
        self._labels = [spec.label for spec, _ in ways]
        self._budgets = np.array([budget for _, budget in ways], dtype=np.float64)
        self._left = np.array(left, dtype=np.float64)
        """Rows that have not begun."""
        self._lanes = max(1, lanes)
        self._clock = clock
        self._started = self._last = clock()
        self._rows, self._tokens = np.zeros(len(ways)), np.zeros(len(ways))
        self._under_way, self._begun = np.zeros(len(ways)), np.zeros(len(ways))
        # Sums over rows of 1, tokens, tokens^2, seconds, tokens x seconds; what is long ago fades.
        self._recent = np.zeros(5)

    def begins(self, way: int) -> None:
        self._left[way] -= 1
        self._under_way[way] += 1
        self._begun[way] += self._clock()

    def ends(self, way: int, tokens: int, seconds: float) -> None:
        now = self._clock()
        self._under_way[way] -= 1
        self._begun[way] -= now - seconds
        self._rows[way] += 1
        self._tokens[way] += tokens
        half_life = max(_HALF_LIFE_S, (now - self._started) / 4)
        self._recent *= 0.5 ** ((now - self._last) / half_life)
        self._recent += (1.0, tokens, tokens * tokens, seconds, tokens * seconds)
        self._last = now

    def seconds_left(self) -> float | None:
        """None before the first row."""
        if not self._recent[0]:
            return None
        token_s, row_s = self._rates()
        ages = np.maximum(0.0, self._under_way * self._clock() - self._begun) / np.maximum(1.0, self._under_way)
        tokens = self._tokens_of_rows(ages / token_s if token_s else np.zeros_like(ages))
        # A row under way is expected to take as long again: how far it is says little about its end.
        still = self._left + self._under_way
        return float((still * (tokens * token_s + row_s)).sum() / min(self._lanes, max(1.0, still.sum())))

    def _rates(self) -> tuple[float, float]:
        """Seconds of a lane for one token, and for a row beside its tokens: the line through the recent rows."""
        n, x, xx, y, xy = self._recent
        spread = xx - x * x / n
        slope = (xy - x * y / n) / spread if spread > 1e-9 * max(1.0, xx) else 0.0
        slope = min(max(0.0, slope), y / x if x else 0.0)
        if x and not slope:
            slope = y / x
        return float(slope), float(max(0.0, (y - slope * x) / n))

    def _tokens_of_rows(self, written: Floats) -> Floats:
        """What a row of each way writes: the mean of those that ended and, since short ones end first, of those
        under way by what they have `written`. Where none has ended: from the same policy at another budget, else
        the usual share of a cap."""
        seen = self._rows > 0
        ended = self._tokens / np.maximum(1.0, self._rows)
        under_way = np.maximum(ended, written + ended / 2) * self._under_way
        mean = np.minimum(
            (self._tokens + under_way) / np.maximum(1.0, self._rows + self._under_way), self._budgets
        )
        paid = seen & ~self._free
        share = float(mean[paid].sum() / self._budgets[paid].sum()) if paid.any() else 0.0
        found = np.where(seen, mean, np.where(self._free, 0.0, share * self._budgets))
        for at in np.flatnonzero(~seen & ~self._free).tolist():
            same = [o for o in np.flatnonzero(paid).tolist() if self._labels[o] == self._labels[at]]
            if same:
                near = min(same, key=lambda o: abs(math.log(self._budgets[o] / self._budgets[at])))
                # Between a chain that every cap cuts (as the caps) and one that none does (not at all).
                found[at] = mean[near] * math.sqrt(self._budgets[at] / self._budgets[near])
        return np.minimum(found, self._budgets)
