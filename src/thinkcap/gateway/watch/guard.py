"""When a share of requests goes to a policy, somebody has to notice that it does worse than the server alone.

    guard = Guard(rise=0.1, slower=2.0)
    guard.watched(SeenEnd(failed=False, empty=False, seconds=1.2))
    guard.held(SeenEnd(failed=True, empty=False, seconds=0.1))     # "" or why holding must end

Three things are counted in both arms: requests that failed, answers that were empty, answers that were slow
(longer than `slower` times what 95 of 100 watched ones took). For each there is a CUSUM: a held request adds the
log of how much likelier it is if the share has risen by `rise` than if it is as in the watched arm, the sum never
falls below 0, and holding ends when it reaches `_ALARM`. Where nothing is wrong, a false alarm comes once in a
million held requests or later (Lorden's bound, e to the `_ALARM`), as far as the watched share is known.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

_ALARM = math.log(1e6)
_WINDOW = 1000
"""Watched requests that are remembered: what was usual an hour ago is no measure."""
_FEWEST = 20
"""Watched requests before anything is called slow."""
_LEAST = 0.01
"""A watched share below this is taken for it: nobody knows a share of one in a thousand from a thousand."""
_MOST = 0.999


@dataclass(frozen=True)
class SeenEnd:
    failed: bool
    empty: bool
    seconds: float


def within(watched: float, rise: float) -> int:
    """After how many held requests holding ends where all of them go wrong, and `watched` do in the other arm."""
    usual, worse = _shares(watched, rise)
    return math.ceil(_ALARM / math.log(worse / usual))


def _shares(watched: float, rise: float) -> tuple[float, float]:
    usual = min(max(watched, _LEAST), _MOST - 0.001)
    return usual, min(usual + rise, _MOST)


class _Share:
    """One thing that may go wrong: how often it does where nobody interferes, and the sum of the other arm."""

    def __init__(self, rise: float) -> None:
        self._rise = rise
        self._seen: deque[bool] = deque(maxlen=_WINDOW)
        self._count = 0
        self._sum = 0.0

    def watched(self, wrong: bool) -> None:
        if len(self._seen) == _WINDOW:
            self._count -= self._seen[0]
        self._seen.append(wrong)
        self._count += wrong

    @property
    def usual(self) -> float:
        """Half, as long as nothing was seen: who knows nothing raises no alarm early."""
        return (self._count + 1) / (len(self._seen) + 2)

    def held(self, wrong: bool, usual: float | None = None) -> bool:
        """Whether the share has risen too far. `usual` replaces what was counted here."""
        low, high = _shares(self.usual if usual is None else usual, self._rise)
        self._sum += math.log(high / low) if wrong else math.log((1 - high) / (1 - low))
        self._sum = max(0.0, self._sum)
        return self._sum >= _ALARM


class Guard:
    def __init__(self, rise: float, slower: float) -> None:
        self.rise, self.slower = rise, slower
        self._failed, self._empty, self._slow = _Share(rise), _Share(rise), _Share(rise)
        self._seconds: deque[float] = deque(maxlen=_WINDOW)

    def watched(self, one: SeenEnd) -> None:
        self._failed.watched(one.failed)
        if not one.failed:
            self._empty.watched(one.empty)
            self._seconds.append(one.seconds)

    def held(self, one: SeenEnd) -> str:
        """Why holding must end; nothing as long as it need not."""
        points = f"{100 * self.rise:g} points more than where requests are only watched"
        if self._failed.held(one.failed):
            return f"requests fail, {points}"
        if one.failed:
            # A refusal is quick and says nothing; neither is a sign of health.
            return ""
        if self._empty.held(one.empty):
            return f"answers are empty, {points}"
        if len(self._seconds) >= _FEWEST:
            times = sorted(self._seconds)
            limit = self.slower * times[math.ceil(0.95 * len(times)) - 1]
            usual = (sum(t > limit for t in times) + 1) / (len(times) + 2)
            if self._slow.held(one.seconds > limit, usual):
                return f"answers take longer than {limit:.2f} s, {points}"
        return ""
