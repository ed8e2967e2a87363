"""What a key may use up: requests and tokens in any minute and any day.

Tokens are those a request may write: its cap is reserved before it begins, and what it did not write is given back
after it. So no minute and no day ever holds more than its limit, whatever its requests turn out to need.

    quota = LocalQuota()
    async with Reserved(quota, holder, tokens=300) as reserved:
        reserved.begin(work)         # work.written says how many they were in the end

A day is any 24 hours, not a date. Counts are kept in steps of a twentieth of the time; a step counts until all of
it is over, so what was used comes free up to a twentieth late and never early.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from types import TracebackType
from typing import Annotated, NamedTuple, Protocol

from msgspec import Meta

from thinkcap.core.types import Step
from thinkcap.gateway.refusal import Refusal

STEPS = 20
MINUTE_S, DAY_S = 60.0, 86400.0
Allowed = Annotated[int, Meta(ge=1, le=2**53)]


@dataclass(frozen=True)
class Limits:
    requests_per_minute: Allowed | None = None
    tokens_per_minute: Allowed | None = None
    requests_per_day: Allowed | None = None
    tokens_per_day: Allowed | None = None

    def __bool__(self) -> bool:
        return bool(self._set)

    @cached_property
    def _set(self) -> tuple[tuple[str, float, int], ...]:
        """Those that are set: name, time and most. They are asked for several times a request and never change."""
        found = [(one.name, getattr(self, one.name)) for one in fields(self)]
        return tuple(
            (n, MINUTE_S if n.endswith("minute") else DAY_S, most) for n, most in found if most is not None
        )

    @property
    def tokens(self) -> tuple[int, ...]:
        """The limits on tokens that are set."""
        return tuple(most for name, _, most in self._set if name.startswith("tokens"))

    def each(self, tokens: int) -> list[Claim]:
        """What a request of this many tokens claims of each limit that is set."""
        return [Claim(n, time_s, most, 1 if n.startswith("requests") else tokens) for n, time_s, most in self._set]

    def shared(self, among: int) -> Limits:
        """The share of one of several gateways that cannot ask each other."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return Limits(**{name: most and -(-most // among) for name, most in found.items()})


NO_LIMITS = Limits()


class Claim(NamedTuple):
    """Of one limit: how much is wanted of the most there may be in any `length_s`."""

    limit: str
    length_s: float
    most: int
    amount: int

    steps: int = STEPS

    @property
    def step_s(self) -> float:
        return self.length_s / self.steps

    def step(self, now: float) -> int:
        return math.floor(now / self.step_s)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks: the name of a key, empty for everybody where there are none."""

    name: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class Ticket:
    """What was reserved, and when."""

    holder: Holder
    tokens: int
    at: float


class Quota(Protocol):
    """Counts for all keys; `settle` says what a reserved request has really written."""

    async def reserve(self, holder: Holder, tokens: int) -> Ticket: ...

    def settle(self, ticket: Ticket, tokens: int) -> None: ...

    async def aclose(self) -> None: ...


class LocalQuota:
    """The counts of this process."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._windows: dict[tuple[str, str], dict[int, int]] = {}

    async def reserve(self, holder: Holder, tokens: int) -> Ticket:
        return self.take(holder, holder.limits, tokens)

    def take(self, holder: Holder, limits: Limits, tokens: int) -> Ticket:
        """Reserves of every limit, or raises for the one that frees last."""
        now = self.clock()
        claims = limits.each(tokens)
        waits = [(wait_s, claim) for claim in claims if (wait_s := self._wait(holder.name, claim, now))]
        if waits:
            wait_s, claim = max(waits, key=lambda one: one[0])
            raise exceeded(holder, claim, wait_s)
        ticket = Ticket(holder, tokens, now)
        self.count(ticket, claims)
        return ticket

    def count(self, ticket: Ticket, claims: Sequence[Claim]) -> None:
        """Adds what was admitted, here or by somebody else."""
        for claim in claims:
            self._add(ticket.holder.name, claim, claim.step(ticket.at), claim.amount)

    def settle(self, ticket: Ticket, tokens: int) -> None:
        if tokens == ticket.tokens:
            return
        for claim in ticket.holder.limits.each(tokens - ticket.tokens):
            if claim.limit.startswith("tokens"):
                self._add(ticket.holder.name, claim, claim.step(ticket.at), claim.amount)

    async def aclose(self) -> None:
        self._windows.clear()

    def used(self, name: str, limit: str) -> int:
        return sum(self._windows.get((name, limit), {}).values())

    def _add(self, name: str, claim: Claim, step: int, amount: int) -> None:
        counts = self._windows.setdefault((name, claim.limit), {})
        counts[step] = counts.get(step, 0) + amount

    def _wait(self, name: str, claim: Claim, now: float) -> float:
        """Seconds until so much fits; 0 where it does now."""
        counts = self._windows.setdefault((name, claim.limit), {})
        oldest = claim.step(now - claim.length_s)
        for step in [step for step in counts if step < oldest]:
            del counts[step]
        return wait_s(counts, claim, now)


def wait_s(counts: Mapping[int, int], claim: Claim, now: float) -> float:
    too_much = sum(counts.values()) + claim.amount - claim.most
    if too_much <= 0:
        return 0.0
    for step in sorted(counts):
        too_much -= counts[step]
        if too_much <= 0:
            return max(0.001, (step + 1) * claim.step_s + claim.length_s - now)
    return claim.length_s


def exceeded(holder: Holder, claim: Claim, wait_s: float) -> Refusal:
    who = f"key '{holder.name}'" if holder.name else "everybody together"
    what = claim.limit.replace("_per_", " a ")
    if claim.amount > claim.most:
        return Refusal(
            f"this request may write {claim.amount} tokens, and {who} is allowed {claim.most} {what}; "
            f"lower max_tokens or n",
            code="too_many_tokens",
            param="max_tokens",
        )
    return Refusal(
        f"{who} is allowed {claim.most} {what}, and this request would exceed it; try again in "
        f"{math.ceil(wait_s)} s",
        status=429,
        kind="rate_limit_error",
        code=f"limit_{claim.limit}",
        retry_after_s=wait_s,
    )


class AtWork(Protocol):
    """What a request at work knows of itself."""

    @property
    def written(self) -> int | None:
        """Tokens so far; None where nobody has counted any."""
        ...

    @property
    def started(self) -> bool:
        """Whether its client has seen anything."""
        ...


class Reserved:
    """`async with Reserved(quota, holder, tokens)`: reserved on the way in, settled on the way out."""

    __slots__ = ("_holder", "_quota", "_ticket", "_tokens", "_work")

    def __init__(self, quota: Quota, holder: Holder, tokens: int) -> None:
        self._quota = quota
        self._holder = holder
        self._tokens = tokens
        self._ticket: Ticket | None = None
        self._work: AtWork | None = None

    def begin(self, work: AtWork) -> None:
        """From here on tokens are written; a request that never came so far owes none."""
        self._work = work

    async def __aenter__(self) -> Reserved:
        if self._holder.limits:
            self._ticket = await self._quota.reserve(self._holder, self._tokens)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticket is not None:
            owed = 0 if self._work is None else _owed(self._work, self._tokens, error)
            self._quota.settle(self._ticket, owed)


def _owed(work: AtWork, reserved: int, error: BaseException | None) -> int:
    """A request that failed owes what its passes had written. One that was broken off, or that nobody counted,
    owes what was reserved: nobody knows less."""
    written = work.written
    if isinstance(error, Exception) and not isinstance(error, TimeoutError) and not work.started:
        steps: tuple[Step, ...] = getattr(error, "steps", ())
        return (written or 0) + sum(step.completion.charged for step in steps)
    return written if error is None and written is not None else max(reserved, written or 0)
