"""Counts of our own read like those of Prometheus's client library, number for number."""

from __future__ import annotations

import random

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from thinkcap.gateway.telemetry.tallies import Spread, Tally

LIMITS = (0.05, 0.5, 1.0, 8)


def told(registry: CollectorRegistry) -> list[str]:
    """Without the library's moments of creation, which nobody reads."""
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


def test_they_say_what_the_library_would_say() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    count, spread = Tally("tokens", "How many.", ("model",)), Spread("wait", "How long.", ("model",), LIMITS)
    ours.register(count)
    ours.register(spread)
    counter = Counter("tokens", "How many.", ("model",), registry=theirs)
    histogram = Histogram("wait", "How long.", ("model",), registry=theirs, buckets=LIMITS)
    chance = random.Random(0)
    for _ in range(200):
        model, value = chance.choice(("small", "large")), chance.choice((*LIMITS, chance.uniform(0, 10)))
        count.add((model,), value)
        counter.labels(model).inc(value)
        spread.add((model,), value)
        histogram.labels(model).observe(value)
    assert told(ours) == told(theirs)


def test_a_count_without_labels_begins_at_nought() -> None:
    registry = CollectorRegistry()
    registry.register(Tally("left", "How many left.", ()))
    assert "left_total 0.0" in told(registry)
