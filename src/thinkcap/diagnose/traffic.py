"""What answers show that nobody judged: how many were cut or empty, what those cost, and what other caps would do.

    >>> traffic(read([Path("batch.jsonl")]).arms)[0].lost.k      # doctest: +SKIP

Rows with a verdict are left to the findings; these need none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from thinkcap.diagnose.shadow import is_shadow
from thinkcap.logs import UNJUDGED, Arm
from thinkcap.statistics.arrays import Bools, Floats, Ints
from thinkcap.statistics.capped import UnderCap, under
from thinkcap.statistics.precision import Proportion, proportion
from thinkcap.statistics.survival import Survival, survival
from thinkcap.study.values import FREE, Price

_SMALLEST = 64
_WORST = 10
"""Callers that are listed, those with the most lost answers first."""


@dataclass(frozen=True)
class Spent:
    """What some answers wrote. Only answers whose reply has counts are in it."""

    answers: int
    tokens: int
    prompt_tokens: int
    money: float | None
    """None where no price was given."""


@dataclass(frozen=True)
class Caller:
    """Answers of one caller, by the name of a key or by the group that a log tells."""

    name: str
    lost: Proportion
    tokens_lost: int


@dataclass(frozen=True)
class Traffic:
    """All answers of one model that have no verdict."""

    model: str
    held: bool
    """Answered by a policy, beside others that were only watched."""
    rows: int
    failed: int
    cut: Proportion
    """Stopped by a cap, of those whose end is known."""
    empty: Proportion
    """Without a word of an answer, of those whose text was seen."""
    lost: Proportion
    """Cut or empty."""
    all: Spent
    on_lost: Spent
    on_empty: Spent
    thought_tokens: int
    curve: Survival | None
    """Lengths, the cut ones censored where they were cut; None where no reply has counts and an end."""
    under: tuple[UnderCap, ...]
    """At powers of two up to the longest answer seen, at that length, and at twice that: bounds only."""
    enough: float | None
    """The least cap within which surely 95 % of answers end; None: not within what was seen."""
    callers: tuple[Caller, ...]
    callers_known: int


@dataclass(frozen=True)
class _Rows:
    """Columns of all arms of a model, -1 or nothing where an arm does not have them."""

    tokens: Ints
    prompt: Ints
    thought: Ints
    ended: Ints
    empty: Ints
    caller: Sequence[str]

    @property
    def lost(self) -> Bools:
        return np.asarray((self.ended == 0) | (self.empty == 1))

    @property
    def whole(self) -> Bools:
        """Rows with a length and an end."""
        return np.asarray((self.tokens >= 0) & (self.ended >= 0))


def traffic(arms: Iterable[Arm], price: Price = FREE) -> tuple[Traffic, ...]:
    """Per model, what was held apart; nothing where every row was judged."""
    open_arms = [a if (a.verdict == UNJUDGED).all() else a.take(a.verdict == UNJUDGED) for a in arms]
    known = sorted((a for a in open_arms if a.n and not is_shadow(a)), key=_kind)
    found = []
    for (model, held), group in groupby(known, key=_kind):
        same = list(group)
        found.append(_traffic(model, held, _columns(same), sum(a.failed for a in same), price))
    return tuple(found)


def _kind(arm: Arm) -> tuple[str, bool]:
    return arm.model, arm.policy == "hold"


def lengths_of(arms: Iterable[Arm]) -> tuple[Ints, Bools]:
    """Lengths and ends of all answers without a verdict that have both; a policy's depend on the cap they had."""
    rows = _columns(
        [a for a in arms if (a.verdict == UNJUDGED).all() and a.n and a.policy not in ("hold", "shadow")]
    )
    return rows.tokens[rows.whole], rows.ended[rows.whole] == 1


def _columns(arms: Sequence[Arm]) -> _Rows:
    def joined(columns: list[Ints]) -> Ints:
        return np.concatenate(columns) if columns else np.zeros(0, dtype=np.int64)

    def stored(arm: Arm, name: str) -> Ints:
        return arm.extra[name].astype(np.int64) if name in arm.extra else np.full(arm.n, -1)

    return _Rows(
        joined([np.full(a.n, -1) if a.tokens is None else a.tokens for a in arms]),
        joined([stored(a, "prompt_tokens") for a in arms]),
        joined([stored(a, "tokens_think") for a in arms]),
        joined([np.full(a.n, -1) if a.ended is None else a.ended.astype(np.int64) for a in arms]),
        joined([stored(a, "empty") for a in arms]),
        [str(name) for a in arms for name in _callers(a)],
    )


def _callers(arm: Arm) -> Sequence[str]:
    stored = arm.extra.get("caller", arm.extra.get("group"))
    return [""] * arm.n if stored is None else stored.tolist()


def _traffic(model: str, held: bool, rows: _Rows, failed: int, price: Price) -> Traffic:
    size, lost = len(rows.tokens), rows.lost
    ends, texts = rows.ended >= 0, rows.empty >= 0
    spent, done = rows.tokens[rows.whole], rows.ended[rows.whole] == 1
    curve = survival(spent, done) if len(spent) else None
    return Traffic(
        model,
        held,
        size,
        failed,
        proportion(int((rows.ended == 0).sum()), int(ends.sum())),
        proportion(int((rows.empty == 1).sum()), int(texts.sum())),
        proportion(int(lost.sum()), int((ends | texts).sum())),
        _spent(rows, np.ones(size, dtype=np.bool_), price),
        _spent(rows, lost, price),
        _spent(rows, rows.empty == 1, price),
        int(rows.thought[rows.thought > 0].sum()),
        curve,
        () if curve is None else tuple(under(spent, done, cap, curve) for cap in _caps(curve)),
        None if curve is None else curve.quantile_interval(0.95)[1],
        *_worst(rows),
    )


def _spent(rows: _Rows, which: Bools, price: Price) -> Spent:
    counted = which & (rows.tokens >= 0)
    tokens = int(rows.tokens[counted].sum())
    prompt = int(rows.prompt[which & (rows.prompt > 0)].sum())
    money = None if price == FREE else price.of(fresh_input=prompt, cached_input=0, output=tokens)
    return Spent(int(counted.sum()), tokens, prompt, money)


def _caps(curve: Survival) -> list[int]:
    last = int(curve.last or 0)
    # Below the shortest tenth a cap would cut nearly everything.
    shortest = curve.quantile(0.1) or last
    powers = [2**k for k in range(6, 24) if max(_SMALLEST, shortest / 2) <= 2**k < last]
    return [*powers, last, 2 * last] if last else []


def _worst(rows: _Rows) -> tuple[tuple[Caller, ...], int]:
    names: list[str]
    codes: Ints
    if not any(rows.caller):
        return (), 0
    found, codes = np.unique(np.asarray(rows.caller, dtype=object).astype(str), return_inverse=True)
    names = [str(name) for name in found]
    known = (rows.ended >= 0) | (rows.empty >= 0)
    all_of = np.bincount(codes, weights=known, minlength=len(names))
    lost_of = np.bincount(codes, weights=rows.lost, minlength=len(names))
    weights: Floats = np.where(rows.lost & (rows.tokens > 0), rows.tokens, 0).astype(np.float64)
    tokens_of = np.bincount(codes, weights=weights, minlength=len(names))
    order = sorted(range(len(names)), key=lambda i: (-lost_of[i], names[i]))[:_WORST]
    callers = (Caller(names[i], proportion(int(lost_of[i]), int(all_of[i])), int(tokens_of[i])) for i in order)
    return tuple(callers), len(names)
