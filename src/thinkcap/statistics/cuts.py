"""Extraction against thinking on at several cuts of the same chains, and what extraction owes to the chain.

>>> found = conditional_advantage([200], [150, 300], [True, True], [[0], [1]], [[0], [0]])
>>> found.survivors[0].n, found.survivors[0].advantage
(1, 1.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from thinkcap.core.errors import DataError
from thinkcap.statistics.arrays import Bools, Ints, bools, chains, outcomes, share
from thinkcap.statistics.paired import McNemar, mcnemar


@dataclass(frozen=True)
class CutAdvantage:
    """Extraction against thinking on, from the same prefix of the same chains."""

    cut: int
    n: int
    extraction: float | None
    continuation: float | None
    test: McNemar | None

    @property
    def advantage(self) -> float | None:
        return None if self.test is None else self.test.difference


def _at_cut(cut: int, rows: Bools, extracted: Bools, continued: Bools, questions: Ints | None) -> CutAdvantage:
    n = int(rows.sum())
    if n == 0:
        return CutAdvantage(cut, 0, None, None, None)
    e, c = extracted[rows], continued[rows]
    return CutAdvantage(
        cut, n, float(e.mean()), float(c.mean()), mcnemar(e, c, None if questions is None else questions[rows])
    )


@dataclass(frozen=True)
class ConditionalAdvantage:
    """The advantage on chains still running at each cut, and on the fixed cohort that outlived the last cut.

    The first mixes in that survivors are harder; the second holds the questions fixed.
    """

    survivors: tuple[CutAdvantage, ...]
    cohort: tuple[CutAdvantage, ...]


def conditional_advantage(
    cuts: Sequence[int],
    lengths: ArrayLike,
    ended: ArrayLike,
    extracted_right: ArrayLike,
    continued_right: ArrayLike,
    questions: Ints | None = None,
) -> ConditionalAdvantage:
    """On L > tau, for each tau of `cuts`: where thinking was broken off, not the cap with the answer in it.

    Columns of both tables are the cuts. `continued_right` is thinking on for as many tokens as the answer pass
    got; a chain that ends within them belongs here, for it is what thinking on can win. `lengths` and `ended` are
    of the longest chains, which must have been observed to the last cut.
    """
    spent, done = chains(lengths, ended)
    extracted, continued = bools(extracted_right), bools(continued_right)
    shape = (len(spent), len(cuts))
    if not cuts or extracted.shape != shape or continued.shape != shape:
        raise DataError(f"wanted tables of {shape} (questions x cuts), got {extracted.shape}, {continued.shape}")
    short = ~done & (spent < max(cuts))
    if short.any():
        raise DataError(
            f"{int(short.sum())} chains were cut before {max(cuts)} tokens, so it is unknown whether they "
            "outlived that cut; use chains with a larger cap"
        )
    alive = [~(done & (spent <= cut)) for cut in cuts]
    last = alive[max(range(len(cuts)), key=lambda k: cuts[k])]
    columns = list(enumerate(cuts))
    return ConditionalAdvantage(
        tuple(_at_cut(c, alive[k], extracted[:, k], continued[:, k], questions) for k, c in columns),
        tuple(_at_cut(c, last, extracted[:, k], continued[:, k], questions) for k, c in columns),
    )


@dataclass(frozen=True)
class Derivability:
    """pi and eta apart, with what the same prompt yields without the chain and with somebody else's chain.

    pi_eta = pi eta + (1-pi) without_gold. The gold's own text is a lower bound of what can be derived, several
    generous extractions an upper one.
    """

    n: int
    pi: float | None
    """Share of the cut chains in which the gold already stands."""
    eta: float | None
    """Extraction at the real answer budget, where it stands there."""
    without_gold: float | None
    """Extraction where it does not: derived all the same, or known without the chain."""
    pi_upper: float | None
    """Share where any of several generous extractions was right."""
    eta_lower: float | None
    """Extraction at the real answer budget, given that one of them was."""
    pi_eta: float | None
    """Accuracy of extraction, as the paper measures the product."""
    without_trace: float | None
    placebo: float | None

    @property
    def trace_worth(self) -> float | None:
        """What the chain adds over the same prompt without it."""
        if self.pi_eta is None or self.without_trace is None:
            return None
        return self.pi_eta - self.without_trace


def derivability(
    extracted_right: ArrayLike,
    *,
    gold_in_trace: ArrayLike | None = None,
    any_right: ArrayLike | None = None,
    without_trace: ArrayLike | None = None,
    placebo: ArrayLike | None = None,
) -> Derivability:
    """Every row a cut chain, the same ones in every column; what was not run or looked for is None."""
    base = bools(extracted_right)

    def column(values: ArrayLike | None) -> Bools | None:
        return None if values is None else outcomes(extracted=base, control=values)[1]

    def mean(found: Bools | None) -> float | None:
        return None if found is None else share(int(found.sum()), len(found))

    gold, some = column(gold_in_trace), column(any_right)
    with_gold, without_gold = (None, None) if gold is None else (base[gold], base[~gold])
    some = None if some is None else some | base
    return Derivability(
        len(base),
        mean(gold),
        mean(with_gold),
        mean(without_gold),
        mean(some),
        mean(None if some is None else base[some]),
        mean(base),
        mean(column(without_trace)),
        mean(column(placebo)),
    )
