"""Estimators that only the paper's own tables use: baselines of a router, prefixes, votes by text, costs.

>>> from thinkcap.statistics.route import Both
>>> r = by_length(Both.of([0, 1, 1], [1, 1, 0], [9, 5, 3], [20, 20, 20]), share=1/3)
>>> r.recovered, r.regretted, r.right
(1, 0, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from thinkcap.core.errors import ConfigError
from thinkcap.statistics.arrays import Bools, Ints, aligned, chains, counts
from thinkcap.statistics.route import Both, Routing, replay


def by_length(runs: Both, share: float, *, longest: bool = True) -> Routing:
    """The share with the longest (or shortest) direct answers; answers that hit the cap come first."""
    keys = -runs.direct_tokens if longest else runs.direct_tokens
    return replay(runs, _top(keys, _count(share, runs.n)))


def oracle(runs: Both) -> Routing:
    """Route exactly where thinking repairs the direct answer."""
    return replay(runs, runs.think_right & ~runs.direct_right)


def oracle_at(runs: Both, share: float) -> Routing:
    """The oracle at a given share: repairs first, then questions that lose nothing, then losses."""
    gain = runs.think_right.astype(np.int64) - runs.direct_right.astype(np.int64)
    return replay(runs, _top(-gain, _count(share, runs.n)))


def _top(keys: Ints, count: int) -> Bools:
    chosen = np.zeros(len(keys), dtype=np.bool_)
    # Stable, so ties go to the earlier question: the same set on every machine.
    chosen[np.argsort(keys, kind="stable")[:count]] = True
    return chosen


def _count(share: float, n: int) -> int:
    if not 0 <= share <= 1:
        raise ConfigError(f"a routed share lies between 0 and 1, got {share}")
    return round(share * n)


@dataclass(frozen=True)
class RandomRouting:
    """A random set of fixed size: exact expectation, and draws for the spread."""

    share: float
    recovered: float
    regretted: float
    accuracy: float
    mean_tokens: float
    accuracy_mean: float | None
    accuracy_sd: float | None


def random_share(runs: Both, share: float, *, draws: int = 100, seed: int = 0) -> RandomRouting:
    """Closed form: r R+ and r R- of routing everything; `draws` uniform sets show the spread.

    r is the share of whole questions that is really routed, in the closed form and in the draws alike.
    """
    everything = replay(runs, np.ones(runs.n, dtype=np.bool_))
    count = _count(share, runs.n)
    r = count / runs.n
    won, lost = r * everything.recovered, r * everything.regretted
    accuracy = (int(runs.direct_right.sum()) + won - lost) / runs.n
    tokens = float(runs.direct_tokens.mean() + r * runs.think_tokens.mean())
    rng = np.random.default_rng(seed)
    seen = [replay(runs, _top(rng.permutation(runs.n), count)).accuracy for _ in range(draws)]
    mean = float(np.mean(seen)) if seen else None
    return RandomRouting(r, won, lost, accuracy, tokens, mean, float(np.std(seen, ddof=1)) if draws > 1 else None)


def prefix_violations(short_lengths: ArrayLike, long_lengths: ArrayLike, budget: int) -> int:
    """Questions whose run at `budget` is not as long as the longer run cut at `budget`."""
    short, long = counts(short_lengths), counts(long_lengths)
    aligned(short=short, long=long)
    return int((short != np.minimum(long, budget)).sum())


def median_of_finished(lengths: ArrayLike, ended: ArrayLike) -> float | None:
    """Upper median of the chains that ended: biased low, it drops the long ones. For comparison only."""
    spent, done = chains(lengths, ended)
    finished = np.sort(spent[done])
    return float(finished[len(finished) // 2]) if finished.size else None


def top_class_size(votes: Sequence[Sequence[str]]) -> Ints:
    """Size of the largest class of equal answers per question; 0 where nobody answered."""
    given = [[b.strip() for b in ballots if b.strip()] for ballots in votes]
    return np.asarray([max(map(g.count, g), default=0) for g in given], dtype=np.int64)


def direct_on_hard(direct_accuracy: float, accepted: float, accepted_accuracy: float) -> float | None:
    """(A_nt - p a)/(1-p): the direct accuracy on the escalated part, from totals; None when p is 1."""
    return None if accepted >= 1 else (direct_accuracy - accepted * accepted_accuracy) / (1 - accepted)


def reread(passes: int, trace_tokens: int, n: int) -> float:
    """Trace tokens per question that answer passes read again as context."""
    return passes * trace_tokens / n
