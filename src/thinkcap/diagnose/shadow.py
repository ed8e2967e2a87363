"""What a policy did beside the answers that were sent, request by request.

    >>> shadows(read([Path("thinkcap-journal")]).arms)[0].same.k      # doctest: +SKIP

Nobody judged either answer: what is compared is whether there is one, what it took, and whether both say the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from thinkcap.logs import Arm
from thinkcap.statistics.paired import PairedDifference, difference, mean_difference
from thinkcap.statistics.precision import Proportion, proportion


@dataclass(frozen=True)
class TokensBeside:
    """Of pairs that both have counts; the difference is the policy's less what was sent."""

    pairs: int
    sent: float
    shadow: float
    low: float
    high: float


@dataclass(frozen=True)
class Shadowed:
    model: str
    policies: tuple[str, ...]
    pairs: int
    sent_empty: int
    shadow_empty: int
    empty: PairedDifference
    """The policy's share of empty answers less that of what was sent."""
    tokens: TokensBeside | None
    same: Proportion
    """Of pairs in which both have an answer."""


def is_shadow(arm: Arm) -> bool:
    return arm.policy == "shadow" and "sent_empty" in arm.extra


def shadows(arms: Iterable[Arm]) -> tuple[Shadowed, ...]:
    """Per model."""
    known = sorted((a for a in arms if is_shadow(a)), key=lambda a: a.model)
    return tuple(_shadowed(model, list(group)) for model, group in groupby(known, key=lambda a: a.model))


def _shadowed(model: str, arms: list[Arm]) -> Shadowed:
    def joined(name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.concatenate([arm.extra[name].astype(np.int64) for arm in arms])

    spent = np.concatenate([np.full(a.n, -1) if a.tokens is None else a.tokens for a in arms])
    sent, same = joined("sent_tokens"), joined("same")
    ours, theirs = joined("empty") == 1, joined("sent_empty") == 1
    counted = (spent >= 0) & (sent >= 0)
    tokens = None
    if counted.sum() > 1:
        interval = mean_difference(spent[counted], sent[counted])
        means = float(sent[counted].mean()), float(spent[counted].mean())
        tokens = TokensBeside(int(counted.sum()), *means, *interval)
    return Shadowed(
        model,
        tuple(sorted({str(name) for arm in arms for name in arm.extra["served_by"].tolist() if name})),
        len(spent),
        int(theirs.sum()),
        int(ours.sum()),
        difference(ours, theirs, "request"),
        tokens,
        proportion(int((same == 1).sum()), int((same >= 0).sum())),
    )
