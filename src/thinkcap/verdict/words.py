"""How numbers are said: one sentence with the numbers behind it, and the few ways figures are written.

>>> points(0.36164), percent(None), small(9.1e-131)
('36.2', 'unknown', 'p = 9e-131')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sentence:
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    topic: str = ""
    """What it is about: a page puts a heading where the topic changes; the first words of a verdict have none."""


def points(value: float) -> str:
    return f"{100 * value + 0.0:.1f}".replace("-0.0", "0.0") if abs(value) < 5e-4 else f"{100 * value:.1f}"


def percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


def small(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else f"p = {p:.0e}"
