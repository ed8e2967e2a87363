"""How numbers are said: one sentence with the numbers behind it, and the few ways figures are written.

>>> points(0.36164), percent(None), small(9.1e-131), spans([64, 128, 256], [64, 128, 256, 512])
('36.2', 'unknown', 'p = 9e-131', '64 to 256')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sentence:
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    topic: str = ""
    """What it is about: a page puts a heading where the topic changes; the headline has none."""
    detail: bool = False
    """Shown only with --details."""


def points(value: float) -> str:
    """Without a minus before a zero."""
    text = f"{100 * value:.1f}"
    return "0.0" if text == "-0.0" else text


def signed(value: float) -> str:
    """With its sign: `+33.1`, `-2.9`; a zero has none."""
    text = points(value)
    return text if text.startswith("-") or text == "0.0" else f"+{text}"


def percent(value: float | None) -> str:
    return "unknown" if value is None else f"{points(value)} %"


def small(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else f"p = {p:.0e}"


def tokens(count: float) -> str:
    return f"{count:,.0f} tokens" if round(count) != 1 else "1 token"


def times(count: int, word: str, plural: str = "") -> str:
    return f"{count} {word}" if count == 1 else f"{count} {plural or word + 's'}"


def spans(chosen: Sequence[int], every: Sequence[int]) -> str:
    """Caps in few words: neighbours among those run become `64 to 256`."""
    runs: list[list[int]] = []
    order = sorted(every)
    for cap in sorted(chosen):
        if runs and order.index(cap) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(cap)
        else:
            runs.append([cap])
    said = [str(r[0]) if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
