"""What a study does next, so that its engine is full from the first second to the last.

Lanes are refilled across policies and budgets, large budgets first. No lane waits for a chain that another one is
writing as long as there is anything else to do. Questions come in stretches, so that what was written for one is
still at hand when its next row needs it.

    feed = Feed(plan, done, lanes=64)
    while places := feed.take(): ...; feed.give_back(places)
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise, zip_longest

from thinkcap.policies.registry import PolicySpec
from thinkcap.statistics.arrays import Bools
from thinkcap.study.pace import cut_of
from thinkcap.study.plan import StudyPlan

_AHEAD, _AHEAD_SHARE = 16, 0.02
"""Questions that go ahead: enough for a mean over chains whose lengths vary as much as they are long."""
_STRETCH, _STRETCH_LANES = 1024, 4
"""Questions of a stretch, at least; and so many a lane, so that the last stretch ends as evenly as all in one."""


class Feed:
    """Hands out places of a plan. One lane works on a question at a time: what its other rows need is most often
    what that lane is writing. They are set aside until it is done, or until nothing else is left."""

    def __init__(self, plan: StudyPlan, done: Bools, lanes: int, *, online: bool = False) -> None:
        self._questions = len(plan.asked)
        self._waiting = order(plan, done, lanes, online=online)
        self._at_work: Counter[int] = Counter()
        self._aside: dict[int, deque[list[int]]] = {}
        self._ready: deque[list[int]] = deque()

    def take(self) -> list[int] | None:
        """What one lane does next, in this order; None where nothing is left."""
        places = self._next()
        if places is not None:
            self._at_work[places[0] % self._questions] += 1
        return places

    def give_back(self, places: Sequence[int]) -> None:
        """These are done."""
        question = places[0] % self._questions
        self._at_work[question] -= 1
        if not self._at_work[question]:
            del self._at_work[question]
            if question in self._aside:
                self._ready.append(self._set_free(question))

    def _next(self) -> list[int] | None:
        if self._ready:
            return self._ready.popleft()
        for places in self._waiting:
            question = places[0] % self._questions
            if question not in self._at_work:
                return places
            self._aside.setdefault(question, deque()).append(places)
        return self._set_free(next(iter(self._aside))) if self._aside else None

    def _set_free(self, question: int) -> list[int]:
        waiting = self._aside[question]
        places = waiting.popleft()
        if not waiting:
            del self._aside[question]
        return places


def order(plan: StudyPlan, done: Bools, lanes: int, *, online: bool = False) -> Iterator[list[int]]:
    """The places still to be done, those together that one lane takes: a chain, and what is only cut from it.

    Large budgets come first and whole chains before what goes on from them, so that the last rows are short ones
    and lanes run empty together. Cuts are made while other lanes write, not at the end when nobody does.
    """
    width = len(plan.asked)
    together = _together(plan.ways, online=online)
    ahead = max(_AHEAD, math.ceil(_AHEAD_SHARE * width))
    ahead = ahead if 2 * ahead < width else 0

    def places(chosen: Iterable[Sequence[int]], start: int, stop: int) -> Iterator[list[int]]:
        for ways in chosen:
            for question in range(start, stop):
                if left := [at for way in ways if not done[at := way * width + question]]:
                    yield left

    chains = [ways for ways in together if cut_of(plan.ways[ways[0]][0])][:2]
    others = [ways for ways in together if ways not in chains]
    stretches = max(1, (width - ahead) // max(_STRETCH, _STRETCH_LANES * lanes))
    bounds = [ahead + (width - ahead) * at // stretches for at in range(stretches + 1)]
    spans = list(pairwise(bounds))

    def by_stretch() -> Iterator[list[int]]:
        yield from places(together[:1], *spans[0])
        for span, after in zip_longest(spans, spans[1:]):
            # The chains of the next one first, so that there is short work beside the last chains of all.
            if after:
                yield from places(together[:1], *after)
            yield from places(together[1:], *span)

    rest = by_stretch()
    yield from places(chains, 0, ahead)
    # Meanwhile the chains of those ahead are written: nobody has to wait for one.
    yield from islice(rest, 2 * lanes)
    yield from places(others, 0, ahead)
    yield from rest


def _together(ways: Sequence[tuple[PolicySpec, int]], *, online: bool) -> list[list[int]]:
    """The ways that follow each other in one lane: a chain with its cuts, any other by itself."""
    # A plain chain first: it shares with nobody before it, and everybody after it cuts it.
    first = sorted(range(len(ways)), key=lambda at: (-ways[at][1], ways[at][0].label != "think"))
    found: dict[str | int, list[int]] = {}
    for way in first:
        mode = None if online else cut_of(ways[way][0])
        found.setdefault(way if mode is None else mode, []).append(way)
    return list(found.values())
