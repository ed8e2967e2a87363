"""Accuracy of traffic from labels of a part of it, per model and arm.

>>> labelled(read_labels(Path("to-label.jsonl")))[0].accuracy.low      # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thinkcap.logs.labels import AnswerLabel
from thinkcap.logs.models import canonical
from thinkcap.logs.sampling import STRATA
from thinkcap.statistics.precision import Proportion, proportion
from thinkcap.statistics.stratified import StratifiedShare, Stratum, stratified


@dataclass(frozen=True)
class LabelledStratum:
    name: str
    size: int
    """Answers it stands for."""
    open: int
    """Drawn, and not labelled yet."""
    right: Proportion


@dataclass(frozen=True)
class Labelled:
    model: str
    arm: str
    """`watch`: the server's own answers; `hold`: a policy's."""
    labels: int
    answers: int
    """All that the labels stand for."""
    accuracy: StratifiedShare
    strata: tuple[LabelledStratum, ...]


def labelled(labels: Iterable[AnswerLabel]) -> tuple[Labelled, ...]:
    groups: dict[tuple[str, str], list[AnswerLabel]] = {}
    for label in labels:
        groups.setdefault((canonical(label.model), label.arm), []).append(label)
    return tuple(_labelled(*key, group) for key, group in sorted(groups.items()))


def _labelled(model: str, arm: str, labels: Sequence[AnswerLabel]) -> Labelled:
    strata = []
    for name in STRATA:
        own = [label for label in labels if label.stratum == name]
        told = [label.right for label in own if label.right is not None]
        if own:
            size = max(round(sum(label.weight for label in own)), len(own))
            strata.append(LabelledStratum(name, size, len(own) - len(told), proportion(sum(told), len(told))))
    # Every empty answer is known not to be right, drawn or not.
    known = [Stratum(s.size, s.size if s.name == "empty" else s.right.n, s.right.k) for s in strata]
    return Labelled(
        model,
        arm,
        sum(s.right.n for s in strata),
        sum(s.size for s in strata),
        stratified(known),
        tuple(strata),
    )
