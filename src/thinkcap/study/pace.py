"""How long a study still takes: the tokens still to be written, at the pace of the last while.

What a row costs is known by policy and budget, from the rows already written: a cut of a stored trace costs
nothing, a chain at a small budget less than at a large one. So that every policy and budget is known early, a few
questions go ahead of the others (`feed.order`).

    pace = Pace(plan.ways, left=[500, 500], lanes=64)
    pace.begins(0); ...; pace.ends(0, tokens=212, seconds=3.1)
    pace.seconds_left()
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from thinkcap.policies.registry import PolicySpec, declared
from thinkcap.statistics.arrays import Bools, Floats, Ints

_HALF_LIFE_S = 10.0


def cut_of(spec: PolicySpec) -> str | None:
    """The mode of whose trace a policy is nothing but a cut: one generation at the largest budget serves all."""
    return declared(spec.label).plain or None


def free(ways: Sequence[tuple[PolicySpec, int]], *, online: bool = False) -> Bools:
    """Which policies at which budgets write nothing, since a chain at a larger one is stored."""
    found, written = [], set()
    for spec, _ in ways:
        mode = cut_of(spec)
        found.append(mode in written and not online)
        written |= {mode} - {None}
    return np.array(found, dtype=np.bool_)


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
        # Lists of plain numbers, since every row changes a few of them: in an array that takes ten times as long.
        self._left = [float(rows) for rows in left]
        """Rows that have not begun."""
        self._lanes = max(1, lanes)
        self._clock = clock
        self._started = self._last = clock()
        self._rows, self._tokens = [0.0] * len(ways), [0.0] * len(ways)
        self._under_way, self._begun = [0.0] * len(ways), [0.0] * len(ways)
        self._recent = (0.0, 0.0, 0.0, 0.0, 0.0)
        """Sums over rows of 1, tokens, tokens^2, seconds, tokens x seconds; what is long ago fades."""

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
        left = 0.5 ** ((now - self._last) / half_life)
        n, x, xx, y, xy = self._recent
        self._recent = (
            n * left + 1.0,
            x * left + tokens,
            xx * left + tokens * tokens,
            y * left + seconds,
            xy * left + tokens * seconds,
        )
        self._last = now

    def seconds_left(self) -> float | None:
        """None before the first row."""
        if not self._recent[0]:
            return None
        token_s, row_s = self._rates()
        under_way = np.array(self._under_way)
        ages = np.maximum(0.0, under_way * self._clock() - np.array(self._begun)) / np.maximum(1.0, under_way)
        written = ages / token_s if token_s else np.zeros_like(ages)
        tokens = self._tokens_of_rows(written, under_way)
        left = np.array(self._left)
        # What has been written for long is long: a row under way takes as long again, and at least what others do.
        again = np.clip(self._budgets - written, 0.0, np.maximum(tokens, written))
        work = left * (tokens * token_s + row_s) + under_way * (again * token_s + row_s)
        return float(work.sum() / min(self._lanes, max(1.0, float((left + under_way).sum()))))

    def _rates(self) -> tuple[float, float]:
        """Seconds of a lane for one token, and for a row beside its tokens: the line through the recent rows."""
        n, x, xx, y, xy = self._recent
        spread = xx - x * x / n
        slope = (xy - x * y / n) / spread if spread > 1e-9 * max(1.0, xx) else 0.0
        slope = min(max(0.0, slope), y / x if x else 0.0)
        if x and not slope:
            slope = y / x
        return float(slope), float(max(0.0, (y - slope * x) / n))

    def _tokens_of_rows(self, written: Floats, under_way: Floats) -> Floats:
        """What a row of each way writes: the mean of those that ended and, since short ones end first, of those
        under way by what they have `written`. Where none has ended: from the same policy at another budget, else
        the usual share of a cap."""
        rows, tokens = np.array(self._rows), np.array(self._tokens)
        seen = rows > 0
        ended = tokens / np.maximum(1.0, rows)
        expected = np.maximum(ended, written + ended / 2) * under_way
        mean = np.minimum((tokens + expected) / np.maximum(1.0, rows + under_way), self._budgets)
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
