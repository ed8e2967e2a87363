"""How sure a model was of each token it wrote: kept beside the ids, and cut with them.

>>> scores = Scores.of([(-0.1, [-0.1, -2.4]), (-0.7, [-0.7, -0.7])])
>>> len(scores), len(scores.cut(1)), [round(x, 2) for x in scores.chosen]
(2, 1, [-0.1, -0.7])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

TOP = 20
"""How many of the likeliest tokens are looked at: what servers give at most, and what rivals' methods read."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Three numbers a token, in nats, of the model's own distribution (before temperature and top-p)."""

    chosen: tuple[float, ...] = ()
    """Log probability of the token that was written."""
    mean: tuple[float, ...] = ()
    """Mean log probability of the twenty likeliest: the lower, the more peaked the distribution."""
    entropy: tuple[float, ...] = ()
    """Of the twenty likeliest, with all that is left counted as one more: at most the true entropy."""

    @classmethod
    def of(cls, tokens: Iterable[tuple[float, Sequence[float]]]) -> Scores:
        """From the log probability of each token written and those of the likeliest in its place."""
        rows = [(chosen, *_peak(top)) for chosen, top in tokens]
        return cls(*zip(*rows, strict=True)) if rows else NO_SCORES

    def __len__(self) -> int:
        return len(self.chosen)

    def __add__(self, later: Scores) -> Scores:
        return Scores(self.chosen + later.chosen, self.mean + later.mean, self.entropy + later.entropy)

    def cut(self, end: int, start: int = 0) -> Scores:
        return Scores(self.chosen[start:end], self.mean[start:end], self.entropy[start:end])


NO_SCORES = Scores()


@dataclass(frozen=True, slots=True)
class Unsure:
    """Stop where the last `window` tokens were, on average, less peaked than `below`.

    Peaked is minus the mean log probability of the twenty likeliest; the higher, the surer.
    """

    window: int
    below: float

    def first(self, mean: Sequence[float]) -> int | None:
        """How many tokens are written when it says stop."""
        windows = enumerate(sliding(mean, self.window), self.window)
        return next((end for end, peaked in windows if peaked < self.below), None)


def sliding(mean: Sequence[float], window: int) -> Iterator[float]:
    """How peaked each full window was, the first one first."""
    total = 0.0
    for at, value in enumerate(mean):
        total -= value
        if at >= window:
            total += mean[at - window]
        if at + 1 >= window:
            yield total / window


def _peak(top: Sequence[float]) -> tuple[float, float]:
    likeliest = sorted(top, reverse=True)[:TOP]
    chances = [math.exp(value) for value in likeliest]
    left = max(0.0, 1.0 - sum(chances))
    entropy = -sum(p * value for p, value in zip(chances, likeliest, strict=True) if p)
    return sum(likeliest) / len(likeliest), entropy - (left * math.log(left) if left else 0.0)
