"""Fits when to stop thinking: a dynamic programme over what chains do between checkpoints.

At a checkpoint a chain that still runs shows one of three signals. Answering now is worth the share of such
chains whose forced answer is right, less the price of that answer's tokens. Going on is worth what the chance
to end before the next checkpoint brings, plus the best choice there, less the price of the tokens until then.
Backwards from the last checkpoint a cap allows, the larger of the two decides.

    rule = fit_stopping(chains, price=0.0001)
    right, tokens, stopped_at = walk(rule, chains, limit=256)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinkcap.allocate.stop import SIGNALS, StopCheck, Stopping, StopRule
from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Floats, Ints

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
