"""From watching to holding: the profile's policy answers a share of requests, beside the server or instead of it.

    arms = Arms(config, gateway, note, counts)
    if arms.holds(one):
        await arms.hold(one, receive, send, noted)      # as the gateway without --watch would answer
    arms.seen(one)                                      # counts, the guard, and perhaps a shadow

Which request is in which arm depends on its bytes alone: the same request is held by every gateway and on every
try, and a larger share keeps those that were held before. A shadow runs when the client has its answer; it is
never sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import Message, Receive, Send

from thinkcap.engines.retry import key_for
from thinkcap.gateway.admission.auth import Keys, hashed, keys_of
from thinkcap.gateway.app import Gateway
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.watch.guard import Guard
from thinkcap.gateway.watch.onlooker import ArmName, Onlooker, described
from thinkcap.logs.answered import said

log = logging.getLogger("thinkcap.gateway")

Compared = Literal["same", "other", "not comparable", "skipped"]
Note = Callable[[Onlooker, Mapping[str, Any]], None]
_READ_CHARS = 20_000
"""Of the end of an answer, where it is looked for."""


class ArmCounts:
    """Per arm: requests by how they ended, tokens and seconds. Labels are ours alone, and few."""

    def __init__(self, registry: CollectorRegistry) -> None:
        # labels() takes a lock and builds a key each time; the combinations are few.
        self._of: Callable[..., Any] = lru_cache(maxsize=64)(lambda metric, *values: metric.labels(*values))
        self._requests = Counter(
            "thinkcap_arm_requests", "Requests by arm and end.", ("arm", "end"), registry=registry
        )
        self._tokens = Counter("thinkcap_arm_tokens", "Tokens written, by arm.", ("arm",), registry=registry)
        self._seconds = Histogram(
            "thinkcap_arm_seconds", "From arrival to the last byte.", ("arm",), registry=registry
        )
        self._compared = Counter(
            "thinkcap_shadow_answers", "Shadows beside what was sent.", ("compared",), registry=registry
        )
        self._backs = Counter("thinkcap_guard_alarms", "Times that the guard ended holding.", registry=registry)
        self.holding = Gauge("thinkcap_holding", "Share of requests held now.", registry=registry)

    def seen(self, one: Onlooker) -> None:
        found = one.outcome
        end = "left" if found is None else "failed" if found.failed else "empty" if found.empty else "answered"
        self._of(self._requests, one.arm, end).inc()
        self._of(self._tokens, one.arm).inc(sum(a.tokens or 0 for a in one.answers))
        if found is not None:
            self._of(self._seconds, one.arm).observe(found.seconds)

    def compared(self, how: Compared) -> None:
        self._compared.labels(how).inc()

    def back(self) -> None:
        self._backs.inc()
        self.holding.set(0)

    def told(self) -> dict[str, Any]:
        """For a person; Prometheus has the same and more."""
        arms: dict[str, dict[str, int]] = {name: {} for name in get_args(ArmName)}
        for metric in (*self._requests.collect(), *self._tokens.collect()):
            for sample in metric.samples:
                if sample.name.endswith("_total"):
                    arms[sample.labels["arm"]][sample.labels.get("end", "tokens")] = int(sample.value)
        shadows = {
            sample.labels["compared"]: int(sample.value)
            for metric in self._compared.collect()
            for sample in metric.samples
            if sample.name.endswith("_total")
        }
        return {"arms": {name: found for name, found in arms.items() if found}, "shadows": shadows}


class Arms:
    """The gateway comes opened and is closed by whoever opened it."""

    def __init__(self, config: ServeConfig, gateway: Gateway, note: Note, counts: ArmCounts) -> None:
        self._config, self._gateway, self._note, self._counts = config, gateway, note, counts
        self._guard = Guard(config.guard_rise, config.guard_slower)
        own = key_for(config.models[0].model)
        self._keys = Keys(config.keys or keys_of({"own": hashed(own)} if own else {}))
        self._shadows: set[asyncio.Task[None]] = set()
        self.holding = config.hold
        """The share that is held now."""
        self.why_back = ""
        counts.holding.set(config.hold)

    async def aclose(self) -> None:
        for task in self._shadows:
            task.cancel()
        await asyncio.gather(*self._shadows, return_exceptions=True)
        await self._gateway.service.judge.aclose()

    def holds(self, one: Onlooker) -> bool:
        """Asked once all of the request has come."""
        return not one.unread and place(one) < self.holding and self._takes(one)

    async def hold(self, one: Onlooker, receive: Receive, send: Send, noted: Callable[[], None]) -> None:
        one.arm = "hold"
        await self._gateway(dict(one.scope), receive, one.sending(send, noted))

    def seen(self, one: Onlooker) -> None:
        """Once a request is over, whichever way."""
        self._counts.seen(one)
        if one.arm == "watch":
            # The connection may have its next request already; what follows can wait for it.
            asyncio.get_running_loop().call_soon(self._watched, one)
        elif (found := one.outcome) and self.holding and (why := self._guard.held(found)):
            self._back(why)

    def _watched(self, one: Onlooker) -> None:
        found = one.outcome
        shadowed = 1 - place(one) < self._config.shadow and found is not None and not found.failed
        if found is None or not (shadowed or self.holding) or not self._takes(one):
            return
        # Only what could have been held is a measure for what is.
        self._guard.watched(found)
        if not shadowed:
            return
        if len(self._shadows) >= self._config.shadow_at_once:
            self._counts.compared("skipped")
            return
        task = asyncio.ensure_future(self._shadow(one))
        self._shadows.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._shadows.discard(task)
        if not task.cancelled() and (err := task.exception()):
            # The client has its answer; what is lost is one comparison. Its words may hold what somebody asked.
            log.error("a shadow failed (%s)", type(err).__name__)

    def _takes(self, one: Onlooker) -> bool:
        """Whether the gateway would answer it: what it cannot read, or whose sender it does not know, it leaves.

        Policies ask the server with the gateway's own key, so who sends another one gets nothing by it.
        """
        if self._keys and not self._keys.name_of(one.scope["headers"]):
            return False
        return self._gateway.takes(one.scope["path"], one.body)

    def _back(self, why: str) -> None:
        self.holding, self.why_back = 0.0, why
        self._counts.back()
        log.error("holding has ended, and all requests are only watched again: %s", why)

    async def _shadow(self, sent: Onlooker) -> None:
        headers = [(n, v) for n, v in sent.scope["headers"] if n != b"content-length"]
        one = Onlooker({**sent.scope, "headers": headers}, "shadow", sent.name)
        one.request(_unstreamed(sent.body))
        await self._gateway(dict(one.scope), _Body(one.body), one.sending(_nowhere, lambda: None))
        same, by = await self._same(sent, one)
        self._counts.seen(one)
        self._counts.compared("not comparable" if same is None else "same" if same else "other")
        before = sent.outcome
        beside = [described(a) for a in sent.answers]
        seconds = round(before.seconds, 4) if before else None
        self._note(one, {"same": same, "same_by": by, "sent": beside, "sent_seconds": seconds})

    async def _same(self, sent: Onlooker, one: Onlooker) -> tuple[bool | None, str]:
        """Whether both say the same: by their answers where both state one, else by their texts."""
        if len(sent.answers) != 1 or len(one.answers) != 1 or sent.answers[0].empty or one.answers[0].empty:
            return None, ""
        from thinkcap.grading import extract

        texts = [said(a.text, a.model).strip() for a in (sent.answers[0], one.answers[0])]
        stated = [extract(text[-_READ_CHARS:], "math") for text in texts]
        first, second = stated[0].answer, stated[1].answer
        if first is None or second is None or any(found.weak for found in stated):
            return texts[0] == texts[1], "text"
        return await self._gateway.service.judge.same(first, second, "math"), "answer"

    def told(self) -> dict[str, Any]:
        asked = self._config
        return {"hold": asked.hold, "holding": self.holding, "why_back": self.why_back, "shadow": asked.shadow}


def place(one: Onlooker) -> float:
    """Where a request stands between 0 and 1: those below a share are held, those above the rest are shadowed."""
    digest = hashlib.blake2b(one.wire.encode() + b"\0" + one.body, digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _unstreamed(body: bytes) -> bytes:
    """Nobody reads a shadow's stream."""
    asked = msgspec.json.decode(body)
    asked.pop("stream_options", None)
    return msgspec.json.encode({**asked, "stream": False})


class _Body:
    """A request of our own: its body, and a client that never leaves."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body

    async def __call__(self) -> Message:
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _nowhere(_: Message) -> None:
    return
