"""What operators watch, for Prometheus. Labels are the operator's own names only: a caller cannot add any.

metrics = Metrics()
metrics.text()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from thinkcap.core.errors import EngineError
from thinkcap.core.types import Run
from thinkcap.gateway.refusal import refusal_of
from thinkcap.policies.registry import POLICIES, PolicySpec, facts

_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_TOKENS = tuple(2**n for n in range(3, 18))
_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
_EMBEDDED = "embedded"
_OURS = ("fallback", "json", "end", "round", "project")
"""Stages that no policy's facts name."""


@dataclass(frozen=True, slots=True)
class SpentPass:
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

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"thinkcap_{name}", what, labels, registry=self.registry)

        def histogram(name: str, what: str, *labels: str, buckets: Sequence[float] = _SECONDS) -> Histogram:
            return Histogram(f"thinkcap_{name}", what, labels, registry=self.registry, buckets=buckets)

        self._requests = counter(
            "requests", "Requests by model, policy and HTTP status.", "model", "policy", "status"
        )
        self._tokens = counter("tokens", "Tokens charged, by stage.", "model", "policy", "stage")
        self._reasoning = counter("reasoning_tokens", "Tokens spent inside thoughts.", "model")
        self._prompt = counter("prompt_tokens", "Tokens read, over all passes.", "model")
        self._cuts = counter("cuts", "Answers cut off by the cap.", "model", "policy")
        self._extractions = counter("extractions", "Answers taken from a cut thought.", "model", "policy")
        self._fallbacks = counter("fallbacks", "Answers that the policy failed to give.", "model", "policy")
        self._upstream = counter("upstream_errors", "Failures of the model server by kind.", "model", "code")
        self._refused = counter(
            "refused", "Requests that ended in an error the caller can fix, by reason.", "code"
        )
        self.disconnects = counter("disconnects", "Clients that left before the end.")
        self.retries = counter("retries", "Upstream calls retried before the first byte.")
        self.access_lost = counter("access_lines_lost", "Lines of the access log that were dropped.")
        by = ("model", "upstream")
        self._calls = counter("upstream_requests", "Calls to a model server, by how they ended.", *by, "outcome")
        self._call_seconds = histogram("upstream_seconds", "Calls to a model server, to their last byte.", *by)
        self._upstreams: dict[str, str] = {}
        self._seconds = histogram(
            "request_seconds", "From the request's arrival to its last byte.", "policy", "stream"
        )
        self._first = histogram("first_token_seconds", "From arrival to the first shown piece.", "policy")
        self._pass_seconds = histogram("stage_seconds", "One pass, from prompt to last token.", "policy", "stage")
        self._pass_tokens = histogram(
            "stage_tokens", "Tokens charged for one pass.", "policy", "stage", buckets=_TOKENS
        )
        self._use = histogram("cap_use", "Share of its cap a request used.", "policy", buckets=_SHARES)
        known = [facts(PolicySpec(name)) for name in POLICIES]
        self._stages = {*_OURS, *(stage for one in known for stage in (*one.chain, *one.then))}
        # labels() takes a lock and builds a key each time; the combinations are few.
        self._of: Callable[..., Any] = lru_cache(maxsize=4096)(lambda metric, *values: metric.labels(*values))

    def watch(self, name: str, what: str, value: Callable[[], float]) -> None:
        """A value to be asked for; a later one of the same name takes its place."""
        if name not in self._gauges:
            self._gauges[name] = Gauge(f"thinkcap_{name}", what, registry=self.registry)
        self._gauges[name].set_function(value)

    def answered(
        self, model: str, policy: str, status: int, stream: bool, seconds: float, first_s: float | None
    ) -> None:
        self._of(self._requests, model, policy, str(status)).inc()
        self._of(self._seconds, policy, "yes" if stream else "no").observe(seconds)
        if first_s is not None:
            self._of(self._first, policy).observe(first_s)

    def filled(self, policy: str, tokens: int, cap: int) -> None:
        self._of(self._use, policy).observe(tokens / cap)

    def name_upstream(self, address: str, name: str) -> None:
        """What a model server is called in counts: where it is, is nobody's business who may read them."""
        self._upstreams.setdefault(_netloc(address), name)

    def called(self, model: str, base: str, seconds: float, ended: BaseException | None) -> None:
        name = self._upstreams.get(_netloc(base), _EMBEDDED)
        outcome = "ok" if ended is None else "left"
        if isinstance(ended, EngineError):
            outcome = refusal_of(ended).code or "other"
        self._of(self._calls, model, name, outcome).inc()
        self._of(self._call_seconds, model, name).observe(seconds)

    def refused(self, code: str | None) -> None:
        self._of(self._refused, code or "other").inc()

    def upstream_error(self, model: str, code: str | None) -> None:
        self._of(self._upstream, model, code or "other").inc()

    def ran(self, model: str, policy: str, run: Run, fallback: bool) -> None:
        final = run.answer.completion
        if final is not None and not final.ended:
            self._of(self._cuts, model, policy).inc()
        if any(s.request.inserts for s in run.steps):
            self._of(self._extractions, model, policy).inc()
        if fallback:
            self._of(self._fallbacks, model, policy).inc()

    def spent(self, model: str, policy: str, one: SpentPass) -> None:
        stage = self._stage(one.stage)
        self._of(self._tokens, model, policy, stage).inc(one.tokens)
        self._of(self._reasoning, model).inc(one.reasoning)
        self._of(self._prompt, model).inc(one.prompt)
        self._of(self._pass_tokens, policy, stage).observe(one.tokens)
        self._of(self._pass_seconds, policy, stage).observe(one.seconds)

    def _stage(self, name: str) -> str:
        """Rounds and trials are counted together; a policy of the operator's own may call its stages anything."""
        kind = name.rstrip("0123456789")
        return kind if kind in self._stages else "other"

    def cut(self, model: str, policy: str) -> None:
        self._of(self._cuts, model, policy).inc()

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


def _samples(counter: Counter) -> Iterator[tuple[dict[str, str], int]]:
    for metric in counter.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                yield sample.labels, int(sample.value)


def _sum(counter: Counter, where: Callable[[dict[str, str]], bool] = lambda _: True) -> int:
    return sum(value for labels, value in _samples(counter) if where(labels))


def _by(counter: Counter, label: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for labels, value in _samples(counter):
        found[labels[label]] = found.get(labels[label], 0) + value
    return found
