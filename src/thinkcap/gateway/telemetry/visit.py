"""One request as it is seen from outside: its id, what was made of it, what it spent and how it ended.

    visit = Visit("3f9c", "POST", "/v1/chat/completions", metrics)
    visit.spent(SpentPass("think", 256, tokens=198, reasoning=198, prompt=40, forced=0, ended=True, seconds=1.2))

No text is in it: whatever counts, logs or traces requests reads them here, and can tell nobody what was asked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from msgspec import Struct, field

from thinkcap.core.complete import Complete, complete
from thinkcap.core.engine import Emit, Engine
from thinkcap.core.types import Completion, Request, Run, Step
from thinkcap.gateway.choose import Choice
from thinkcap.gateway.telemetry.metrics import Metrics, SpentPass

LEFT = 499
"""The client hung up first; no status of HTTP's own, but the one proxies have for it."""


class VisitSpans(Protocol):
    """The spans of one request."""

    id: str
    headers: Mapping[str, str]
    """For calls made on its behalf."""

    async def complete(self, engine: Engine, request: Request, emit: Emit | None = None) -> Completion:
        """Answers a request of a flow in a span of its own."""
        ...

    def passing(self, stage: str, budget: int) -> AbstractContextManager[object]:
        """A span around one pass; what is `spent` inside is the pass's."""
        ...

    def spent(self, one: SpentPass) -> None: ...

    def end(self, visit: Visit) -> None: ...


class Visit(Struct, eq=False):
    id: str
    method: str
    path: str
    metrics: Metrics
    trace: VisitSpans | None = None
    at: float = field(default_factory=time.time)
    arrived: float = field(default_factory=time.perf_counter)
    first: float | None = None
    """When the first piece was shown."""
    ended: float = 0.0
    key: str = ""
    """What the operator calls the key that was sent."""
    model: str = ""
    """The operator's name for it; empty where the request did not come so far."""
    upstream_model: str = ""
    """The server's own name for it."""
    policy: str = "none"
    chosen_by: str = ""
    cap: int = 0
    choices: int = 1
    stream: bool = False
    status: int = 0
    code: str = ""
    """Of the error, where it ended in one."""
    tokens: int = 0
    reasoning_tokens: int = 0
    prompt_tokens: int = 0
    passes: int = 0
    pass_began: float = 0.0
    finishes: list[str] = field(default_factory=list)
    fallback: bool = False
    _uncounted: list[SpentPass] = field(default_factory=list)

    def decided(self, choice: Choice, cap: int) -> None:
        self.policy, self.chosen_by, self.cap = choice.spec.name, choice.by, cap

    def shown(self) -> None:
        if self.first is None:
            self.first = time.perf_counter()

    def passing(self, stage: str, budget: int) -> AbstractContextManager[object]:
        """The one pass of a request that goes by the short way; `relayed` inside says what came of it."""
        self.pass_began = time.perf_counter()
        return self.trace.passing(stage, budget) if self.trace else nullcontext()

    @property
    def pass_s(self) -> float:
        return time.perf_counter() - self.pass_began

    @property
    def complete(self) -> Complete:
        return self.trace.complete if self.trace else complete

    def spent(self, one: SpentPass) -> None:
        """A pass that is over, however it ended."""
        self.passes += 1
        self.tokens += one.tokens
        self.reasoning_tokens += one.reasoning
        self.prompt_tokens += one.prompt
        self._uncounted.append(one)

    def relayed(self, one: SpentPass, finish: str) -> None:
        self.spent(one)
        self.finishes.append(finish)
        if self.trace:
            self.trace.spent(one)

    def ran(self, run: Run, finish: str, fallback: bool) -> None:
        """A flow that came to its end; one of several where several choices were asked for."""
        for step in run.steps:
            self.spent(pass_of(step))
        self.finishes.append(finish)
        self.fallback = self.fallback or fallback
        self.metrics.ran(self.model, self.policy, run, fallback)

    def called(self, base: str, seconds: float, ended: BaseException | None) -> None:
        """A call to a model server on its behalf is over."""
        self.metrics.called(self.model, base, seconds, ended)

    def counted(self) -> None:
        for one in self._uncounted:
            self.metrics.spent(self.model, self.policy, one)
        first_s = None if self.first is None else self.first - self.arrived
        self.metrics.answered(self.model, self.policy, self.status, self.stream, self.seconds, first_s)
        if self.tokens and self.cap:
            self.metrics.filled(self.policy, self.tokens, self.cap * self.choices)

    @property
    def seconds(self) -> float:
        return self.ended - self.arrived


def pass_of(step: Step) -> SpentPass:
    done = step.completion
    return SpentPass(
        step.request.stage,
        step.request.budget,
        done.charged,
        done.think_tokens,
        done.prompt_tokens,
        done.forced,
        done.ended,
        done.wall_s,
    )
