"""A stretch of working: its text, how much is settled after it, and whether the model should learn to write it."""

from __future__ import annotations

from random import Random
from typing import NamedTuple


class Piece(NamedTuple):
    text: str
    done: int
    learn: bool = True
    """False on a planted slip: the model learns to find slips, not to make them."""
    sound: bool = True
    """False from a slip until its repair: a working is never cut there."""


def looks_again(deserved: bool, rng: Random) -> bool:
    """Whether to take a second look: by what the question deserves, so that greedy decoding still does it.

    The small share of chance gives sampled chains different lengths.
    """
    return rng.random() < (0.9 if deserved else 0.08)
