"""What operators watch, for Prometheus. Labels are the operator's own names only: a caller cannot add any.

metrics = Metrics()
metrics.text()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from thinkcap.core.errors import EngineError
from thinkcap.core.types import Run
from thinkcap.gateway.refusal import refusal_of
from thinkcap.gateway.telemetry.tallies import Spread, Tally
from thinkcap.policies.registry import POLICIES, PolicySpec, facts

_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_TOKENS = tuple(2**n for n in range(3, 18))
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
_EMBEDDED = "embedded"
_OURS = ("fallback", "json", "end", "round", "project")
"""Stages that no policy's facts name."""


class SpentPass(Struct, frozen=True):
    """One generation for a request, in numbers."""

    stage: str
    budget: int
    tokens: int
    """Charged: forced ones too."""
    reasoning: int
    prompt: int
    forced: int
    ended: bool
    seconds: float


class Metrics:
    """One registry a gateway, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}

        def count(name: str, what: str, *labels: str) -> Tally:
            found = Tally(f"thinkcap_{name}", what, labels)
            self.registry.register(found)
            return found

        def spread(name: str, what: str, *labels: str, limits: Sequence[float] = _SECONDS) -> Spread:
            found = Spread(f"thinkcap_{name}", what, labels, limits)
            self.registry.register(found)
            return found

        self._requests = count(
            "requests", "Requests by model, policy and HTTP status.", "model", "policy", "status"
        )
        self._tokens = count("tokens", "Tokens charged, by stage.", "model", "policy", "stage")
        self._reasoning = count("reasoning_tokens", "Tokens spent inside thoughts.", "model")
        self._prompt = count("prompt_tokens", "Tokens read, over all passes.", "model")
        self._cuts = count("cuts", "Answers cut off by the cap.", "model", "policy")
        self._extractions = count("extractions", "Answers taken from a cut thought.", "model", "policy")
        self._fallbacks = count("fallbacks", "Answers that the policy failed to give.", "model", "policy")
        self._upstream = count("upstream_errors", "Failures of the model server by kind.", "model", "code")
        self._refused = count("refused", "Requests that ended in an error the caller can fix, by reason.", "code")
        self.disconnects = count("disconnects", "Clients that left before the end.")
        self.retries = count("retries", "Upstream calls retried before the first byte.")
        # The log has a thread of its own, and so needs a counter with a lock.
        self.access_lost = Counter(
            "thinkcap_access_lines_lost", "Lines of the access log that were dropped.", registry=self.registry
        )
        by = ("model", "upstream")
        self._calls = count("upstream_requests", "Calls to a model server, by how they ended.", *by, "outcome")
        self._call_seconds = spread("upstream_seconds", "Calls to a model server, to their last byte.", *by)
        self._upstreams: dict[str, str] = {}
        self._seconds = spread(
            "request_seconds", "From the request's arrival to its last byte.", "policy", "stream"
        )
        self._first = spread("first_token_seconds", "From arrival to the first shown piece.", "policy")
        self._pass_seconds = spread("stage_seconds", "One pass, from prompt to last token.", "policy", "stage")
        self._pass_tokens = spread(
            "stage_tokens", "Tokens charged for one pass.", "policy", "stage", limits=_TOKENS
        )
        self._use = spread("cap_use", "Share of its cap a request used.", "policy", limits=_SHARES)
        known = [facts(PolicySpec(name)) for name in POLICIES]
        self._stages = {*_OURS, *(stage for one in known for stage in (*one.chain, *one.then))}

    def watch(self, name: str, what: str, value: Callable[[], float]) -> None:
        """A value to be asked for; a later one of the same name takes its place."""
        if name not in self._gauges:
            self._gauges[name] = Gauge(f"thinkcap_{name}", what, registry=self.registry)
        self._gauges[name].set_function(value)

    def answered(
        self, model: str, policy: str, status: int, stream: bool, seconds: float, first_s: float | None
    ) -> None:
        self._requests.add((model, policy, str(status)))
        self._seconds.add((policy, "yes" if stream else "no"), seconds)
        if first_s is not None:
            self._first.add((policy,), first_s)

    def filled(self, policy: str, tokens: int, cap: int) -> None:
        self._use.add((policy,), tokens / cap)

    def name_upstream(self, address: str, name: str) -> None:
        """What a model server is called in counts: readers of the counts must not learn where it is."""
        self._upstreams.setdefault(_netloc(address), name)

    def called(self, model: str, base: str, seconds: float, ended: BaseException | None) -> None:
        name = self._upstreams.get(_netloc(base), _EMBEDDED)
        outcome = "ok" if ended is None else "left"
        if isinstance(ended, EngineError):
            outcome = refusal_of(ended).code or "other"
        self._calls.add((model, name, outcome))
        self._call_seconds.add((model, name), seconds)

    def refused(self, code: str | None) -> None:
        self._refused.add((code or "other",))

    def upstream_error(self, model: str, code: str | None) -> None:
        self._upstream.add((model, code or "other"))

    def ran(self, model: str, policy: str, run: Run, fallback: bool) -> None:
        final = run.answer.completion
        if final is not None and not final.ended:
            self._cuts.add((model, policy))
        if any(s.request.inserts for s in run.steps):
            self._extractions.add((model, policy))
        if fallback:
            self._fallbacks.add((model, policy))

    def spent(self, model: str, policy: str, one: SpentPass) -> None:
        stage = self._stage(one.stage)
        self._tokens.add((model, policy, stage), one.tokens)
        self._reasoning.add((model,), one.reasoning)
        self._prompt.add((model,), one.prompt)
        self._pass_tokens.add((policy, stage), one.tokens)
        self._pass_seconds.add((policy, stage), one.seconds)

    def _stage(self, name: str) -> str:
        """Rounds and trials are counted together; a policy of the operator's own may call its stages anything."""
        kind = name.rstrip("0123456789")
        return kind if kind in self._stages else "other"

    def cut(self, model: str, policy: str) -> None:
        self._cuts.add((model, policy))

    def totals(self) -> dict[str, Any]:
        """The same counts over all models, for a reader rather than for Prometheus."""
        return {
            "answered": _sum(self._requests, lambda labels: labels["status"] == "200"),
            "failed": _sum(self._requests, lambda labels: labels["status"] >= "500"),
            "refused": _sum(self._refused),
            "left": _sum(self.disconnects),
            "cuts": _sum(self._cuts),
            "fallbacks": _sum(self._fallbacks),
            "prompt_tokens": _sum(self._prompt),
            "reasoning_tokens": _sum(self._reasoning),
            "tokens": _sum(self._tokens),
            "tokens_by_stage": _by(self._tokens, "stage"),
            "requests_by_policy": _by(self._requests, "policy"),
        }

    def text(self) -> bytes:
        return generate_latest(self.registry)


@lru_cache(maxsize=256)
def _netloc(address: str) -> str:
    return urlsplit(address).netloc


def _sum(counted: Tally, where: Callable[[dict[str, str]], bool] = lambda _: True) -> int:
    return sum(value for labels, value in counted.each() if where(labels))


def _by(counted: Tally, label: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for labels, value in counted.each():
        found[labels[label]] = found.get(labels[label], 0) + value
    return found
