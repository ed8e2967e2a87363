"""The limits of keys counted together by any number of gateways, in one Redis.

One script decides for all gateways, one request after another, by Redis' own clock, so no limit is exceeded
however many ask at once. Requests that come while the last question is on its way are asked together.

    quota = SharedQuota("redis://localhost:6379/0")
    ticket = await quota.reserve(holder, tokens=300)

Without Redis no request is lost: each gateway then keeps its own share of every limit, counted from what it let in
before, and tells Redis of it once it is back. How many share is what was last seen there.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from thinkcap.core.errors import ConfigError
from thinkcap.gateway.admission.quota import Claim, Holder, LocalQuota, Ticket, exceeded

log = logging.getLogger("thinkcap.gateway")

ANSWER_S = 0.5
"""Longest wait for Redis before a gateway goes by its own share."""
_HELLO_S, _GONE_S = 10.0, 60.0
"""How often a gateway says that it is there, and after which silence it is not."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 15.0

SCRIPT = """
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local asked = cjson.decode(ARGV[1])
if asked.hello then
  redis.call('ZADD', asked.prefix .. 'gateways', now, asked.hello)
  redis.call('ZREMRANGEBYSCORE', asked.prefix .. 'gateways', '-inf', now - asked.gone)
end
local found = {now, redis.call('ZCARD', asked.prefix .. 'gateways')}
for _, add in ipairs(asked.adds) do
  local key, step, amount, length = add[1], add[2], add[3], add[4]
  redis.call('HINCRBY', asked.prefix .. key, string.format('%d', step), string.format('%d', amount))
  redis.call('EXPIRE', asked.prefix .. key, math.ceil(length * 1.1))
end
for _, claims in ipairs(asked.claims) do
  local refused, longest = 0, 0
  for at, claim in ipairs(claims) do
    local key, length, steps, most, amount = claim[1], claim[2], claim[3], claim[4], claim[5]
    local width = length / steps
    local oldest = math.floor((now - length) / width)
    local kept, sum = {}, 0
    local all = redis.call('HGETALL', asked.prefix .. key)
    for i = 1, #all, 2 do
      local step, count = tonumber(all[i]), tonumber(all[i + 1])
      if step < oldest then
        redis.call('HDEL', asked.prefix .. key, all[i])
      else
        kept[#kept + 1] = {step, count}
        sum = sum + count
      end
    end
    local too_much = sum + amount - most
    if too_much > 0 then
      table.sort(kept, function(a, b) return a[1] < b[1] end)
      local wait = length
      for _, one in ipairs(kept) do
        too_much = too_much - one[2]
        if too_much <= 0 then
          wait = math.max(0.001, (one[1] + 1) * width + length - now)
          break
        end
      end
      if refused == 0 or wait > longest then refused, longest = at, wait end
    end
  end
  if refused == 0 then
    for _, claim in ipairs(claims) do
      local width = claim[2] / claim[3]
      redis.call('HINCRBY', asked.prefix .. claim[1], string.format('%d', math.floor(now / width)), claim[5])
      redis.call('EXPIRE', asked.prefix .. claim[1], math.ceil(claim[2] * 1.1))
    end
  end
  found[#found + 1] = refused
  found[#found + 1] = longest
end
return cjson.encode(found)
"""


class _Asked(NamedTuple):
    claims: list[Claim]
    holder: Holder
    answer: asyncio.Future[tuple[float, int, float]]
    """When, which claim is refused (0: none, else its number), and for how long."""


class SharedQuota:
    """Opened inside a running loop, which is never kept waiting for Redis longer than `ANSWER_S`."""

    def __init__(self, url: str, prefix: str = "thinkcap:", clock: Callable[[], float] = time.time) -> None:
        try:
            import redis.asyncio
            from redis.exceptions import RedisError
        except ModuleNotFoundError as err:
            raise ConfigError(
                f"shared limits need '{err.name}', which is not installed; run: pip install 'thinkcap[shared]'"
            ) from err
        try:
            self._redis: Any = redis.asyncio.from_url(
                url, socket_timeout=ANSWER_S, socket_connect_timeout=ANSWER_S
            )
        except ValueError as err:
            raise ConfigError(f"`redis` is no address: {err}; wanted redis://host:6379/0") from err
        self._errors = (RedisError, OSError, TimeoutError, asyncio.TimeoutError)
        self._script = self._redis.register_script(SCRIPT)
        self._prefix = prefix
        self._own = secrets.token_hex(8)
        self._local = LocalQuota(clock)
        self._clock = clock
        self._said_hello = float("-inf")
        self._waiting: list[_Asked] = []
        self._adds: Counter[tuple[str, int, float]] = Counter()
        """What Redis has yet to be told, by key, step and length."""
        self._asking: asyncio.Task[None] | None = None
        self._pause_s, self._until = 0.0, float("-inf")
        self.gateways = 1

    @property
    def alone(self) -> bool:
        """Redis did not answer lately."""
        return self._clock() < self._until

    async def reserve(self, holder: Holder, tokens: int) -> Ticket:
        claims = holder.limits.each(tokens)
        if self.alone:
            return self._by_share(holder, tokens)
        answer: asyncio.Future[tuple[float, int, float]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Asked(claims, holder, answer))
        self._ask()
        try:
            at, refused, wait_s = await answer
        except self._errors:
            return self._by_share(holder, tokens)
        if refused:
            raise exceeded(holder, claims[refused - 1], wait_s)
        ticket = Ticket(holder, tokens, at)
        self._local.count(ticket, claims)
        return ticket

    def settle(self, ticket: Ticket, tokens: int) -> None:
        self._local.settle(ticket, tokens)
        for claim in ticket.holder.limits.each(tokens - ticket.tokens):
            if claim.limit.startswith("tokens") and claim.amount:
                self._later(ticket.holder, claim, ticket.at)
        if not self.alone:
            self._ask()

    async def aclose(self) -> None:
        """What is left to say is said, if Redis listens."""
        while self._asking is not None and not self._asking.done():
            await asyncio.gather(self._asking, return_exceptions=True)
        if self._adds and not self.alone:
            await self._round()
        await self._redis.aclose()

    def _by_share(self, holder: Holder, tokens: int) -> Ticket:
        ticket = self._local.take(holder, holder.limits.shared(self.gateways), tokens)
        for claim in holder.limits.each(tokens):
            self._later(holder, claim, ticket.at)
        return ticket

    def _later(self, holder: Holder, claim: Claim, at: float) -> None:
        self._adds[_key(holder, claim), claim.step(at), claim.length_s] += claim.amount

    def _ask(self) -> None:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._rounds())

    async def _rounds(self) -> None:
        # The turn after the next, so that requests that came together are asked together.
        await asyncio.sleep(0)
        while self._waiting or (self._adds and not self.alone):
            await self._round()

    async def _round(self) -> None:
        """One question to Redis, for everybody who waits."""
        asked, self._waiting = self._waiting, []
        adds, self._adds = self._adds, Counter()
        now = self._clock()
        hello = now - self._said_hello >= _HELLO_S
        question = {
            "prefix": self._prefix,
            "gone": _GONE_S,
            "adds": [[key, step, amount, length_s] for (key, step, length_s), amount in adds.items()],
            "claims": [_claimed(one) for one in asked],
            **({"hello": self._own} if hello else {}),
        }
        try:
            async with asyncio.timeout(ANSWER_S):
                reply = await self._script(keys=(), args=(msgspec.json.encode(question),))
            at, gateways, *found = msgspec.json.decode(reply)
        except (*self._errors, msgspec.DecodeError, ValueError) as err:
            # What Redis counted before its answer was lost is counted twice: rather too much than too little.
            self._adds.update(adds)
            self._lost(err)
            for one in asked:
                if not one.answer.done():
                    one.answer.set_exception(ConnectionError("no answer from Redis"))
            return
        if hello:
            self._said_hello = now
        if self._pause_s:
            log.warning("Redis answers again; limits are shared by %d gateways", gateways)
            self._pause_s = 0.0
        self.gateways = max(1, int(gateways))
        for place, one in enumerate(asked):
            if not one.answer.done():
                one.answer.set_result((at, int(found[2 * place]), float(found[2 * place + 1])))

    def _lost(self, err: Exception) -> None:
        if not self._pause_s:
            log.warning(
                "Redis does not answer (%s); until it does each of %d gateways keeps its share of every limit",
                type(err).__name__,
                self.gateways,
            )
        self._pause_s = min(_LONGEST_PAUSE_S, 2 * self._pause_s or _FIRST_PAUSE_S)
        self._until = self._clock() + self._pause_s


def _key(holder: Holder, claim: Claim) -> str:
    return f"{claim.limit}:{holder.name}"


def _claimed(one: _Asked) -> Sequence[Sequence[Any]]:
    return [[_key(one.holder, c), c.length_s, c.steps, c.most, c.amount] for c in one.claims]
