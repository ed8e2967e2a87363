"""Cascades that nobody ran, computed from stored outcomes of both modes on the same questions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from thinkcap.diagnose.pairs import aligned_or_none
from thinkcap.logs import Arm
from thinkcap.statistics.precision import Proportion, accuracy
from thinkcap.statistics.route import Routing, cascade_grid


def both_aligned(
    nothink: Mapping[int, Arm], think: Mapping[int, Arm]
) -> tuple[dict[int, Arm], dict[int, Arm]] | None:
    """The arms that tell their tokens, and without thinking their ends, by budget and row by row."""
    direct = {b: a for b, a in nothink.items() if a.tokens is not None and a.ended is not None}
    thought = {b: a for b, a in think.items() if a.tokens is not None}
    same = aligned_or_none([*direct.values(), *thought.values()]) if direct and thought else None
    if not same or not same[0].n:
        return None
    return dict(zip(direct, same, strict=False)), dict(zip(thought, same[len(direct) :], strict=True))


def replayed(
    nothink: Mapping[int, Arm], think: Mapping[int, Arm]
) -> dict[tuple[int, int], tuple[Routing, Proportion]]:
    """Every cascade of a first try at one budget and thinking at a larger one, where the try did not end."""
    both = both_aligned(nothink, think)
    if both is None:
        return {}
    direct, thought = both
    grid = cascade_grid(
        {b: (a.right, a.ends, a.lengths) for b, a in direct.items()},
        {b: (a.right, a.lengths) for b, a in thought.items()},
    )
    repeats = next(iter(direct.values())).repeats
    return {
        at: (made, accuracy(np.where(direct[at[0]].ends, direct[at[0]].right, thought[at[1]].right), repeats))
        for at, made in grid.items()
    }
