"""A study whose truth is known: chains of known lengths, read at a cut, thought on, and answered from apart.

    world = World(scale=300, alpha_c=0.95, epsilon=0.2, pi=0.7, eta=0.9)
    seen = world.study(500, cut=256, answer=64, seed=3)

Every question has one chain. What it gives is drawn once, so all columns are of the same chains; the parameters
are the truth that estimates are held against. `late_alpha_c` makes chains that end after the cut better or worse
than those that end before it: the one thing the theory assumes away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Study:
    lengths: np.ndarray
    """Uncapped."""
    nothink_right: np.ndarray
    gold_in_trace: np.ndarray
    """At the cut."""
    split_right: np.ndarray
    split_ended: np.ndarray
    coupled_right: np.ndarray
    """Thinking with cut + answer tokens."""
    coupled_ended: np.ndarray
    truncated_right: np.ndarray
    """Thinking with cut tokens."""


@dataclass(frozen=True)
class World:
    scale: float = 300.0
    """Mean length; lengths are geometric, so the hazard is constant."""
    nothink: float = 0.6
    alpha_c: float = 0.95
    late_alpha_c: float | None = None
    epsilon: float = 0.2
    pi: float = 0.7
    eta: float = 0.9
    guess: float = 0.1
    """Extraction is right though the gold does not stand in the trace."""

    def ended(self, length: int) -> float:
        return 1 - math.exp(length * math.log1p(-1 / self.scale))

    @property
    def pi_eta(self) -> float:
        return self.pi * self.eta + (1 - self.pi) * self.guess

    def margin(self, cut: int, answer: int) -> float:
        """Extraction less thinking on, on chains that outlive the cut."""
        delta = (self.ended(cut + answer) - self.ended(cut)) / (1 - self.ended(cut))
        late = self.alpha_c if self.late_alpha_c is None else self.late_alpha_c
        return self.pi_eta - delta * late - (1 - delta) * self.epsilon

    def study(self, n: int, *, cut: int, answer: int, seed: int) -> Study:
        rng = np.random.default_rng(seed)
        lengths = rng.geometric(1 / self.scale, n)
        luck = rng.random(n)
        late = self.alpha_c if self.late_alpha_c is None else self.late_alpha_c
        at_end = luck < np.where(lengths <= cut, self.alpha_c, late)
        broken = rng.random(n) < self.epsilon
        gold = rng.random(n) < self.pi
        extracted = rng.random(n) < np.where(gold, self.eta, self.guess)
        first, total = lengths <= cut, lengths <= cut + answer
        return Study(
            lengths,
            rng.random(n) < self.nothink,
            gold,
            np.where(first, at_end, extracted),
            first,
            np.where(total, at_end, broken),
            total,
            np.where(first, at_end, broken),
        )
