"""When to stop thinking: a dynamic programme over what chains do between checkpoints.

At a checkpoint a chain that still runs shows one of three signals. Answering now is worth the share of such
chains whose forced answer is right, less the price of that answer's tokens. Going on is worth what the chance
to end before the next checkpoint brings, plus the best choice there, less the price of the tokens until then.
Backwards from the last checkpoint a cap allows, the larger of the two decides.

    rule = fit_stopping(chains, price=0.0001)
    rule.stops(128, signal=2, limit=256)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinkcap.allocate.signals import NAMES
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints

SIGNALS = len(NAMES)
_PRIOR = 10.0
"""Chains of all signals together that count beside those of one signal: few chains loop, and fewer late."""


@dataclass(frozen=True)
class Chains:
    """Per question, row by row: one thought written to its end, and what answering at each checkpoint gave."""

    checkpoints: tuple[int, ...]
    length: Ints
    """Tokens of the whole turn, or of as much as was watched."""
    ended: Bools
    right: Bools
    """The turn ended and its answer is right."""
    signal: Ints
    """(n, checkpoints): -1 where the chain had ended."""
    now_right: Bools
    """(n, checkpoints): the answer forced there is right."""
    now_tokens: Ints
    """(n, checkpoints): what that answer cost."""

    def alive(self, at: int) -> Bools:
        return np.asarray(self.signal[:, at] >= 0)


@dataclass(frozen=True)
class StopCheck:
    """What the fit saw and chose at one checkpoint for one signal, under one limit."""

    chains: int
    ends: float
    """Chance to end before the next checkpoint."""
    now: float
    """Worth of answering now, the price of tokens taken off."""
    on: float
    """Worth of going on and choosing best from there."""

    @property
    def stop(self) -> bool:
        return self.now >= self.on


@dataclass(frozen=True)
class StopRule:
    """Up to `limit` tokens of thought: one row a checkpoint below it, one entry a signal."""

    limit: int
    checks: tuple[tuple[StopCheck, ...], ...]


@dataclass(frozen=True)
class Stopping:
    checkpoints: tuple[int, ...]
    rules: tuple[StopRule, ...] = ()
    """One a limit, growing; none: stop where the chain loops."""
    price: float = 0.0
    """Accuracy one token must bring to be worth it."""

    def __post_init__(self) -> None:
        if list(self.checkpoints) != sorted(set(self.checkpoints)) or any(c < 1 for c in self.checkpoints):
            raise ConfigError(f"checkpoints must grow from 1 on, saw {list(self.checkpoints)}")

    def stops(self, at: int, signal: int, limit: int) -> bool:
        """Whether a chain that shows `signal` at `at` ends here, when `limit` is the most it may have."""
        if not self.rules:
            return signal == SIGNALS - 1
        fitting = [rule for rule in self.rules if rule.limit <= limit] or [self.rules[0]]
        checks = fitting[-1].checks
        i = self.checkpoints.index(at) if at in self.checkpoints else -1
        # Beyond the last checkpoint a rule was fitted for nothing is known, except that a loop is a loop.
        return checks[i][signal].stop if 0 <= i < len(checks) else signal == SIGNALS - 1

    def to_mapping(self) -> dict[str, Any]:
        return {
            "checkpoints": list(self.checkpoints),
            "price": self.price,
            "signals": list(NAMES),
            "rules": [
                {
                    "limit": rule.limit,
                    "stop": [[c.stop for c in row] for row in rule.checks],
                    "chains": [[c.chains for c in row] for row in rule.checks],
                    "ends": [[round(c.ends, 4) for c in row] for row in rule.checks],
                    "now": [[round(c.now, 4) for c in row] for row in rule.checks],
                    "on": [[round(c.on, 4) for c in row] for row in rule.checks],
                }
                for rule in self.rules
            ],
        }

    @classmethod
    def from_mapping(cls, table: Mapping[str, Any]) -> Stopping:
        try:
            rules = tuple(
                StopRule(
                    int(rule["limit"]),
                    tuple(
                        _signals(tuple(_check(*entry) for entry in zip(*columns, strict=True)))
                        for columns in zip(
                            *(rule[key] for key in ("stop", "chains", "ends", "now", "on")), strict=True
                        )
                    ),
                )
                for rule in table["rules"]
            )
            return cls(tuple(int(c) for c in table["checkpoints"]), rules, float(table.get("price", 0.0)))
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as err:
            raise ConfigError(f"the table of stops is not as `calibrate` writes it: {err!r}") from err


def _signals(checks: tuple[StopCheck, ...]) -> tuple[StopCheck, ...]:
    if len(checks) != SIGNALS:
        raise ValueError(f"a checkpoint with {len(checks)} signals; wanted {SIGNALS}")
    return checks


def _check(stop: bool, chains: int, ends: float, now: float, on: float) -> StopCheck:
    # Somebody may have edited the decision: it counts, whatever the worths beside it say.
    if stop != (now >= on):
        now, on = (1.0, 0.0) if stop else (0.0, 1.0)
    return StopCheck(int(chains), float(ends), float(now), float(on))


DEFAULT = Stopping((64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384))
"""Where no study was made: look at every doubling, stop a chain that loops."""


def fit_stopping(chains: Chains, *, price: float = 0.0, limits: Sequence[int] = ()) -> Stopping:
    """One rule for every limit (by default every checkpoint but the first): the thought may not grow beyond it."""
    points = chains.checkpoints
    n = len(chains.length)
    if n == 0 or chains.signal.shape != (n, len(points)):
        raise DataError(f"a table of stops needs signals of n chains at {len(points)} checkpoints")
    moves = [_moves(chains, i) for i in range(len(points))]
    rules = [_backwards(moves, points, limit, price) for limit in limits or points[1:]]
    return Stopping(points, tuple(rules), price)


@dataclass(frozen=True)
class _Moves:
    """By signal at one checkpoint: how many, worth and cost of answering now, what happens until the next."""

    count: Ints
    right: Floats
    tokens: Floats
    ends: Floats
    ends_right: Floats
    """Chance to end before the next checkpoint with the right answer."""
    spends: Floats
    """Tokens until the end or the next checkpoint."""
    goes: Floats
    """(signals, signals): chance to be alive at the next checkpoint, by the signal shown there."""


def _moves(chains: Chains, i: int) -> _Moves:
    alive = chains.alive(i)
    here = chains.checkpoints[i]
    last = i + 1 == len(chains.checkpoints)
    until = chains.checkpoints[i + 1] if not last else int(chains.length.max(initial=here))
    ends = chains.ended & (chains.length <= until)
    spends = np.minimum(chains.length, until) - here
    after = np.full(len(alive), -1) if last else chains.signal[:, i + 1]
    columns = [chains.now_right[:, i], chains.now_tokens[:, i], ends, ends & chains.right, spends]
    columns += [after == s for s in range(SIGNALS)]
    rows = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)[alive]
    pooled = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
    shown = chains.signal[alive, i]
    means = np.stack(
        [(rows[shown == s].sum(axis=0) + _PRIOR * pooled) / ((shown == s).sum() + _PRIOR) for s in range(SIGNALS)]
    )
    count = np.bincount(shown, minlength=SIGNALS).astype(np.int64)
    right, tokens, ending, ending_right, spending = means[:, :5].T
    return _Moves(count, right, tokens, ending, ending_right, spending, means[:, 5:])


def _backwards(moves: Sequence[_Moves], points: Sequence[int], limit: int, price: float) -> StopRule:
    """The limit itself is no choice: there the thought is closed."""
    inside = [i for i, at in enumerate(points) if at < limit]
    end = len(inside)
    if end < len(points):
        value = moves[end].right - price * moves[end].tokens
    else:
        value = moves[end - 1].right - price * moves[end - 1].tokens
    checks: list[tuple[StopCheck, ...]] = []
    for i in reversed(inside):
        m = moves[i]
        now = m.right - price * m.tokens
        on = m.ends_right - price * m.spends + m.goes @ value
        # Where nobody was ever alive, nothing is known: answer.
        on = np.where(m.count.sum() == 0, now, on)
        checks.append(
            tuple(
                StopCheck(int(m.count[s]), float(m.ends[s]), float(now[s]), float(on[s])) for s in range(SIGNALS)
            )
        )
        value = np.maximum(now, on)
    return StopRule(limit, tuple(reversed(checks)))


def walk(rule: Stopping, chains: Chains, limit: int) -> tuple[Bools, Ints, Ints]:
    """Each chain under the table: (right, tokens charged, checkpoint it was stopped at or -1).

    `limit` must be a checkpoint: only there is known what closing gives.
    """
    if limit not in chains.checkpoints:
        raise DataError(f"a walk ends at a measured checkpoint, one of {list(chains.checkpoints)}, not {limit}")
    right, tokens = chains.right & (chains.length <= limit), np.minimum(chains.length, limit)
    stopped = np.full(len(tokens), -1, dtype=np.int64)
    running = np.ones(len(tokens), dtype=bool)
    for i, at in enumerate(chains.checkpoints):
        if at > limit:
            break
        alive = running & chains.alive(i)
        halt = np.zeros(len(tokens), dtype=bool)
        for s in range(SIGNALS):
            if at == limit or rule.stops(at, s, limit):
                halt |= alive & (chains.signal[:, i] == s)
        right = np.where(halt, chains.now_right[:, i], right)
        tokens = np.where(halt, at + chains.now_tokens[:, i], tokens)
        stopped[halt & (at < limit)] = at
        running &= ~halt
    return right.astype(bool), tokens.astype(np.int64), stopped
