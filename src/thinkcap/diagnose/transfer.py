"""What splitting should win another model, or the same model on another task, from passes measured on the first.

(1 - F)(a_e - a_t): the other's share of cut chains with our accuracies, checked where the other was measured too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from thinkcap.diagnose.findings import Findings
from thinkcap.diagnose.splitting import Extraction
from thinkcap.statistics.predict import cross_scale


@dataclass(frozen=True)
class Transfer:
    source: str
    target: str
    split: str
    coupled: str
    alpha_e: float
    alpha_t: float
    cut_share: float | None
    """Of the target's chains; None where it cannot be known."""
    cut_from: str
    """`measured`: the target ran the same split; `chain lengths`: its own, at the split's thinking budget."""
    predicted: float | None
    measured: float | None
    undefined: str | None
    """Why one of the two is missing."""

    @property
    def error(self) -> float | None:
        return None if self.predicted is None or self.measured is None else self.predicted - self.measured


def transfers(found: Sequence[Findings]) -> tuple[Transfer, ...]:
    """Every measured split, carried to every other model on the task and to the model's other tasks."""
    pairs = permutations(found, 2)
    return tuple(t for a, b in pairs if (a.model == b.model) != (a.task == b.task) for t in _carried(a, b))


def _carried(source: Findings, target: Findings) -> Iterator[Transfer]:
    names = (_name(source, target), _name(target, source))
    there = {(e.split, e.coupled): e for e in target.splitting.extractions}
    for e in source.splitting.extractions:
        seen = there.get((e.split, e.coupled))
        cut, why = (seen.cut / seen.n, "") if seen is not None else _cut_share(e, target)
        how = "" if cut is None else "chain lengths" if seen is None else "measured"
        if how == "chain lengths":
            why = f"{names[1]} did not run {e.split} beside {e.coupled}"
        predicted = None if cut is None else cross_scale(cut, e.alpha_e, e.alpha_t)
        measured = None if seen is None else seen.recoverable
        said = why or None
        yield Transfer(*names, e.split, e.coupled, e.alpha_e, e.alpha_t, cut, how, predicted, measured, said)


def _name(one: Findings, other: Findings) -> str:
    return one.model if one.task == other.task else one.task


def _cut_share(e: Extraction, target: Findings) -> tuple[float | None, str]:
    """From the target's chain lengths, where the split has no first try that picks its questions."""
    if e.probed:
        return None, f"{e.split} thinks only where a first try did not end, and that was not run there"
    if e.cut_at is None:
        return None, f"the thinking budget of {e.split} is not stored"
    if target.lengths is None:
        return None, "the other's chain lengths are not known"
    if e.cut_at > target.lengths.budget:
        return None, f"the other's chains were observed up to {target.lengths.budget} tokens, not to {e.cut_at}"
    return 1 - target.lengths.curve.at(e.cut_at), ""
