"""How long a study still takes: the rows still to be done, at what rows of their kind took.

What a row costs is known by policy and budget, from the rows already done: a cut of a stored trace costs nothing,
a chain at a small budget less than at a large one, and before a short answer a long thought is read. So that every
policy and budget is known early, a few questions go ahead of the others (`feed.order`).

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
    """Counts what comes in. A row of `way` (a policy at a budget) takes a lane from `begins` to `ends`.

    Seconds are counted as at the speed of the first rows. How much longer rows take by now is known apart
    (`_speed`), so that a way whose rows ended long ago is known as well as one whose rows end now.
    """

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
        self._rows, self._tokens, self._seconds = ([0.0] * len(ways) for _ in range(3))
        self._under_way, self._begun = [0.0] * len(ways), [0.0] * len(ways)
        self._recent = (0.0, 0.0)
        """Seconds of rows, and what they should have taken; what is long ago fades."""
        self._speed = 1.0

    def begins(self, way: int) -> None:
        self._left[way] -= 1
        self._under_way[way] += 1
        self._begun[way] += self._clock()

    def ends(self, way: int, tokens: int, seconds: float) -> None:
        now = self._clock()
        self._under_way[way] -= 1
        self._begun[way] -= now - seconds
        self._compare(way, tokens, seconds, now)
        self._rows[way] += 1
        self._tokens[way] += tokens
        self._seconds[way] += seconds / self._speed

    def _compare(self, way: int, tokens: int, seconds: float, now: float) -> None:
        """A row with others of its way, by its tokens: short chains are no sign of speed, and cuts none at all."""
        if not (tokens and self._tokens[way] and seconds > 0 and self._seconds[way] > 0):
            return
        half_life = max(_HALF_LIFE_S, (now - self._started) / 4)
        faded = 0.5 ** ((now - self._last) / half_life)
        took, usual = self._recent
        took, usual = took * faded + seconds, usual * faded + self._seconds[way] * tokens / self._tokens[way]
        self._recent, self._last, self._speed = (took, usual), now, took / usual

    def seconds_left(self) -> float | None:
        """None before the first row."""
        if not any(self._rows):
            return None
        under_way, left = np.array(self._under_way), np.array(self._left)
        ages = np.maximum(0.0, under_way * self._clock() - np.array(self._begun)) / np.maximum(1.0, under_way)
        ages /= self._speed
        usual, most = self._of_rows(ages, under_way)
        # What has taken long takes long: a row under way as long again, and at least what others do, up to its
        # budget; one that should have reached it was slower than others, and is not done yet.
        again = np.clip(most - ages, usual / 2, np.maximum(usual, ages))
        work = self._speed * (left * usual + under_way * again)
        return float(work.sum() / min(self._lanes, max(1.0, float((left + under_way).sum()))))

    def _of_rows(self, ages: Floats, under_way: Floats) -> tuple[Floats, Floats]:
        """What a row of each way takes, and what it can take at most: up to its budget.

        The mean of those that ended and, since short ones end first, of those under way by their ages. Where none
        has ended: from the same policy at another budget, else the usual share of what the budgets allow.
        """
        rows, tokens, seconds = np.array(self._rows), np.array(self._tokens), np.array(self._seconds)
        seen, wrote = rows > 0, tokens > 0
        each = float(seconds[wrote].sum() / tokens[wrote].sum()) if wrote.any() else 0.0
        token_s = np.where(wrote, seconds / np.maximum(1.0, tokens), each)
        ended = seconds / np.maximum(1.0, rows)
        most = np.maximum(self._budgets * token_s, ended)
        expected = np.minimum(np.maximum(ended, ages + ended / 2), most) * under_way
        mean = (seconds + expected) / np.maximum(1.0, rows + under_way)
        paid = seen & ~self._free
        share = float(mean[paid].sum() / most[paid].sum()) if most[paid].any() else 0.0
        found = np.where(seen, mean, np.where(self._free, 0.0, share * most))
        for at in np.flatnonzero(~seen & ~self._free).tolist():
            same = [o for o in np.flatnonzero(paid).tolist() if self._labels[o] == self._labels[at]]
            if same:
                near = min(same, key=lambda o: abs(math.log(self._budgets[o] / self._budgets[at])))
                # Between a chain that every cap cuts (as the caps) and one that none does (not at all).
                found[at] = mean[near] * math.sqrt(self._budgets[at] / self._budgets[near])
        return found, most
