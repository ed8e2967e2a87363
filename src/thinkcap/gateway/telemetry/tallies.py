"""Counts that cost next to nothing to keep, and become Prometheus's when somebody asks for them.

    tokens = Tally("thinkcap_tokens", "Tokens charged, by stage.", ("model", "stage"))
    registry.register(tokens)
    tokens.add(("qwen3-8b", "think"), 198)

The client library's own take a lock for every number and go through all limits for every observation; with a dozen
numbers a request that was a tenth of what a request costs. These are for the one thread that serves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

LabelValues = tuple[str, ...]


class Tally(Collector):
    """A number that only grows, for each combination of labels."""

    def __init__(self, name: str, what: str, labels: Sequence[str]) -> None:
        self._name, self._what, self._labels = name, what, labels
        self._values: defaultdict[LabelValues, float] = defaultdict(float)
        if not labels:
            self._values[()] = 0

    def add(self, labels: LabelValues = (), amount: float = 1) -> None:
        self._values[labels] += amount

    def each(self) -> Iterator[tuple[dict[str, str], int]]:
        """The labels by name, and the number."""
        for labels, value in self._values.items():
            yield dict(zip(self._labels, labels, strict=True)), int(value)

    def collect(self) -> Iterator[CounterMetricFamily]:
        found = CounterMetricFamily(self._name, self._what, labels=self._labels)
        for labels, value in self._values.items():
            found.add_metric(labels, value)
        yield found


class Spread(Collector):
    """How often a number was at most so large, for each combination of labels."""

    def __init__(self, name: str, what: str, labels: Sequence[str], limits: Sequence[float]) -> None:
        self._name, self._what, self._labels = name, what, labels
        self._limits = limits
        self._counts: defaultdict[LabelValues, list[int]] = defaultdict(lambda: [0] * (len(limits) + 1))
        self._sums: defaultdict[LabelValues, float] = defaultdict(float)

    def add(self, labels: LabelValues, value: float) -> None:
        self._counts[labels][bisect_left(self._limits, value)] += 1
        self._sums[labels] += value

    def collect(self) -> Iterator[HistogramMetricFamily]:
        found = HistogramMetricFamily(self._name, self._what, labels=self._labels)
        names = [*(str(float(limit)) for limit in self._limits), "+Inf"]
        for labels, counts in self._counts.items():
            buckets = list(zip(names, accumulate(counts), strict=True))
            found.add_metric(labels, buckets, self._sums[labels])
        yield found
