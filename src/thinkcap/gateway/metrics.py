"""What operators watch, for Prometheus. Labels are the operator's own names only: a caller cannot add any.

metrics = Metrics()
metrics.text()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from thinkcap.core.types import Run
from thinkcap.policies.registry import POLICIES, PolicySpec, facts

_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Metrics:
    """One registry a gateway, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"thinkcap_{name}", what, labels, registry=self.registry)

        def histogram(name: str, what: str, *labels: str) -> Histogram:
            return Histogram(f"thinkcap_{name}", what, labels, registry=self.registry, buckets=_SECONDS)

        self._requests = counter(
            "requests", "Requests by model, policy and HTTP status.", "model", "policy", "status"
        )
        self._tokens = counter("tokens", "Tokens charged, by stage.", "model", "stage")
        self._reasoning = counter("reasoning_tokens", "Tokens spent inside thoughts.", "model")
        self._prompt = counter("prompt_tokens", "Tokens read, over all passes.", "model")
        self._cuts = counter("cuts", "Answers the cap cut off.", "model", "policy")
        self._extractions = counter("extractions", "Answers taken from a cut thought.", "model", "policy")
        self._fallbacks = counter("fallbacks", "Answers the policy did not give.", "model", "policy")
        self._upstream = counter("upstream_errors", "Failures of the model server by kind.", "model", "code")
        self._refused = counter("refused", "Requests refused before any work, by reason.", "code")
        self.disconnects = counter("disconnects", "Clients that left before the end.")
        self.retries = counter("retries", "Upstream calls made again before the first byte.")
        self._seconds = histogram(
            "request_seconds", "From the request's arrival to its last byte.", "policy", "stream"
        )
        self._first = histogram("first_token_seconds", "From arrival to the first shown piece.", "policy")
        known = [facts(PolicySpec(name)) for name in POLICIES]
        self._stages = {"fallback", *(stage for one in known for stage in (*one.chain, *one.then))}
        # labels() takes a lock and builds a key each time; the combinations are few.
        self._of: Callable[..., Any] = lru_cache(maxsize=4096)(lambda metric, *values: metric.labels(*values))

    def watch(self, name: str, what: str, value: Callable[[], float]) -> None:
        Gauge(f"thinkcap_{name}", what, registry=self.registry).set_function(value)

    def answered(self, model: str, policy: str, status: int, stream: bool, seconds: float) -> None:
        self._of(self._requests, model, policy, str(status)).inc()
        self._of(self._seconds, policy, "yes" if stream else "no").observe(seconds)

    def first(self, policy: str, seconds: float) -> None:
        self._of(self._first, policy).observe(seconds)

    def refused(self, code: str | None) -> None:
        self._of(self._refused, code or "other").inc()

    def upstream_error(self, model: str, code: str | None) -> None:
        self._of(self._upstream, model, code or "other").inc()

    def ran(self, model: str, policy: str, run: Run, fallback: bool) -> None:
        for step in run.steps:
            done = step.completion
            self.spent(
                model, step.request.stage.rstrip("0123456789"), done.charged, done.think_tokens, done.prompt_tokens
            )
        final = run.answer.completion
        if final is not None and not final.ended:
            self._of(self._cuts, model, policy).inc()
        if any(s.request.inserts for s in run.steps):
            self._of(self._extractions, model, policy).inc()
        if fallback:
            self._of(self._fallbacks, model, policy).inc()

    def spent(self, model: str, stage: str, tokens: int, reasoning: int, prompt: int) -> None:
        self._of(self._tokens, model, stage if stage in self._stages else "other").inc(tokens)
        self._of(self._reasoning, model).inc(reasoning)
        self._of(self._prompt, model).inc(prompt)

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
