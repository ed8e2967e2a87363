"""Several servers of one model: which of them gets the next call, and which is left alone for a while.

A conversation keeps its server, so that what the server remembers of its beginning is of use, unless that one
would then hold more than its share. Health is learnt from the calls themselves: who fails is left out for a pause
that grows, then gets one call to show that it is well again. Nothing is asked only to find out.

    fleet = Fleet([Upstream("http://10.0.0.1:8000"), Upstream("http://10.0.0.2:8000", weight=2)])
    with routed(Route(conversation=b"...", tokens=300)):
        with fleet.lease(tried=()) as lease:
            ...                                  # call fleet.upstreams[lease.member.index]; an EngineError counts

Servers are ranked for a conversation by rendezvous hashing: every gateway ranks alike without a word to another,
and a server that comes or goes moves only its own conversations.
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType

from thinkcap.core.errors import EngineError, EngineRefused, EngineTimeout

SLACK, ROOM = 0.25, 4
"""What a server may hold beyond its share of the work under way, for a conversation's sake: a quarter of it, and
so many calls like the one at hand. Shares of little work say little."""
STRIKES = 3
"""Answers in a row that are errors before a server that still speaks is left out."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
_BUSY_PAUSE_S, _LONGEST_BUSY_S = 1.0, 30.0
_ELSEWHERE = (401, 403, 404)
"""Refusals that another server of the same model may not repeat."""
_MASK = 2**64 - 1


@dataclass(frozen=True)
class Upstream:
    """One server: where it is, how much of the work it gets beside the others, and its key."""

    address: str
    weight: float = 1.0
    key: str | None = field(default=None, repr=False)


@dataclass(slots=True, eq=False)
class Member:
    """One server as this fleet knows it."""

    index: int
    weight: float
    salt: int
    tokens: int = 0
    """Under way, as far as can be told before they are written."""
    calls: int = 0
    strikes: int = 0
    pauses: int = 0
    """How often in a row it was left out; 0 while it is well."""
    until: float = 0.0
    on_trial: bool = False
    left_out_at: float = -math.inf
    alive_at: float = -math.inf
    """When something last came from it."""
    answered: int = 0
    failed: int = 0

    @property
    def load(self) -> float:
        return self.tokens / self.weight

    def takes(self, now: float) -> bool:
        """Well, or due for its one trial."""
        return not self.pauses or (now >= self.until and not self.on_trial)


@dataclass(slots=True)
class Route:
    """What the calls of one request share. `tokens` is what one of them may cost."""

    conversation: bytes = b""
    """Same for all turns of a conversation; empty where there is none."""
    tokens: int = 1
    last: Member | None = None
    under_way: int = 0
    ranked: Sequence[Member] = ()


_route: ContextVar[Route | None] = ContextVar("route", default=None)
"""Of the request at work. Between a gateway and its HTTP calls stand policies and engines that need not know."""


@contextmanager
def routed(route: Route) -> Iterator[Route]:
    """Every call made in here, also by tasks started in here, belongs to this route."""
    token = _route.set(route)
    try:
        yield route
    finally:
        _route.reset(token)


def moves(error: EngineError) -> bool:
    """Whether another server of the same model may do better."""
    return error.retriable or (isinstance(error, EngineRefused) and error.status in _ELSEWHERE)


class Fleet:
    """Shared by everybody who calls these servers, so that all that is under way is known."""

    def __init__(
        self,
        upstreams: Sequence[Upstream],
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.upstreams = tuple(upstreams)
        self.members = tuple(Member(i, u.weight, _salt(u.address)) for i, u in enumerate(upstreams))
        self.clock = clock
        self._chance = chance

    def lease(self, tried: Collection[Member] = (), silence_s: float = math.inf) -> Lease:
        """The server for the next call. One that says nothing for `silence_s` is taken for dead."""
        route = _route.get() or Route()
        return Lease(self, self.choose(route, tried), route, silence_s)

    def choose(self, route: Route, tried: Collection[Member] = ()) -> Member:
        if len(self.members) == 1:
            return self.members[0]
        now = self.clock()
        well = [p for p in self.members if p.takes(now) and p not in tried]
        if not well:
            # Nobody is known to be well: who has been left out longest may be so by now.
            left = [p for p in self.members if p not in tried]
            return min(left or self.members, key=lambda p: p.until)
        # The next pass of a request goes where its last one was; passes side by side are spread like any others.
        if route.last is not None and not route.under_way and route.last in well:
            return route.last
        if route.conversation:
            share = (1 + SLACK) * (sum(p.tokens for p in well) + route.tokens) / sum(p.weight for p in well)
            for member in self._ranked(route):
                most = share * member.weight + ROOM * route.tokens
                if member.tokens + route.tokens <= most and member in well:
                    return member
        return min(well, key=lambda p: (p.load, self._chance()))

    def _ranked(self, route: Route) -> Sequence[Member]:
        if not route.ranked:
            key = int.from_bytes(hashlib.blake2b(route.conversation, digest_size=8).digest())
            route.ranked = sorted(self.members, key=lambda p: _score(key, p))
        return route.ranked

    def failed(self, member: Member, error: EngineError, begun: float, heard: float) -> None:
        """A call that began at `begun` and last heard of the server at `heard` has failed."""
        member.failed += 1
        if begun < member.left_out_at or not moves(error):
            # Calls that were under way when it fell say nothing new about it.
            return
        now = self.clock()
        if isinstance(error, EngineRefused) and error.status == 429:
            member.until = now + min(error.retry_after_s or _BUSY_PAUSE_S, _LONGEST_BUSY_S)
            member.pauses, member.left_out_at = max(1, member.pauses), now
            return
        if isinstance(error, EngineTimeout) and member.alive_at > heard:
            # It was slow for this call and answered others meanwhile.
            return
        member.strikes += 1
        speaks = isinstance(error, EngineRefused)
        if speaks and member.strikes < STRIKES and not member.pauses:
            return
        grown = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**member.pauses)
        member.pauses += 1
        member.left_out_at = now
        # Half of it by chance: gateways that lost it together do not all try it together.
        member.until = now + grown * (0.5 + self._chance() / 2)

    def succeeded(self, member: Member, begun: float) -> None:
        member.answered += 1
        member.alive_at = self.clock()
        if begun >= member.left_out_at:
            member.strikes = member.pauses = 0


class Lease:
    """One call at one server: its tokens are counted as under way, and how it ended is remembered."""

    __slots__ = ("_begun", "_fleet", "_heard", "_route", "_silence_s", "_trial", "member")

    def __init__(self, fleet: Fleet, member: Member, route: Route, silence_s: float) -> None:
        self._fleet = fleet
        self._route = route
        self._silence_s = silence_s
        self.member = member
        self._begun = self._heard = fleet.clock()
        self._trial = False

    def heard(self) -> None:
        """Something came."""
        self._heard = self.member.alive_at = self._fleet.clock()

    def __enter__(self) -> Lease:
        self.member.tokens += self._route.tokens
        self.member.calls += 1
        if self.member.pauses and not self.member.on_trial:
            self.member.on_trial = self._trial = True
        self._route.last = self.member
        self._route.under_way += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.member.tokens -= self._route.tokens
        self.member.calls -= 1
        self._route.under_way -= 1
        if self._trial:
            self.member.on_trial = False
        if error is None:
            self._fleet.succeeded(self.member, self._begun)
        elif isinstance(error, EngineError):
            self._fleet.failed(self.member, error, self._begun, self._heard)
        elif self._fleet.clock() - self._heard >= self._silence_s:
            # Somebody else lost patience first: a server that has said nothing to anybody is not well.
            self._fleet.failed(self.member, EngineTimeout("no answer"), self._begun, self._heard)
        elif self._heard > self._begun:
            self._fleet.succeeded(self.member, self._begun)


def _salt(address: str) -> int:
    return int.from_bytes(hashlib.blake2b(address.encode(), digest_size=8).digest())


def _score(key: int, member: Member) -> float:
    """Weighted rendezvous hashing: the least is first, and twice the weight is first twice as often."""
    mixed = (key ^ member.salt) & _MASK
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
    mixed ^= mixed >> 31
    return -math.log((mixed + 1) / 2**64) / member.weight
