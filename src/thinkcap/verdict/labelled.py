"""Labels in words: how many answers are right, where the wrong ones are, and what is not labelled yet."""

from __future__ import annotations

from collections.abc import Iterator

from thinkcap.diagnose.document import named
from thinkcap.diagnose.labelled import Labelled
from thinkcap.verdict.words import Sentence, percent, points, times


def accuracy(found: Labelled) -> Iterator[Sentence]:
    name = f"{found.model or 'Unnamed model'}{', held by a policy' if found.arm == 'hold' else ''}"
    share, span = found.accuracy, f"{points(found.accuracy.low)} to {points(found.accuracy.high)}"
    basis = f"{times(found.labels, 'label')} out of {times(found.answers, 'answer')}"
    if share.value is None:
        text = f"{name}: {span} % of answers are right, going by {basis}."
    else:
        text = f"{name}: {percent(share.value)} of answers are right ({span}), going by {basis}."
    yield Sentence(text, named(share, "value", "low", "high", labels=found.labels, answers=found.answers))
    for one in found.strata:
        if one.name != "empty" and one.right.n:
            yield Sentence(
                f"{percent(one.right.value)} of {_kind(one.name)} answers are right "
                f"({points(one.right.low or 0)} to {points(one.right.high or 0)}); there are {one.size} of them.",
                named(one, "name", "size", right=one.right.k, n=one.right.n),
            )
    missing = [f"{one.open} of the {_kind(one.name)} ones" for one in found.strata if one.open]
    if missing:
        yield Sentence(f"Not labelled yet: {', '.join(missing)}; they are assumed to be like the labelled ones.")


def _kind(stratum: str) -> str:
    return {"near the cap": "barely finished"}.get(stratum, stratum)
