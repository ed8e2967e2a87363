"""What the records of one model on one task show: losses by budget, chain lengths, crossover, methods, routes.

Frozen tables made from arms by the estimators of `thinkcap.statistics`; the verdict puts them into words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.escalation import Escalation, escalations
from thinkcap.diagnose.passes import thinking
from thinkcap.diagnose.splitting import Splitting, splitting
from thinkcap.logs.arms import Arm, Stages, matched
from thinkcap.statistics.crossover import (
    Empirical,
    Multiplier,
    Predicted,
    empirical,
    empirical_with_interval,
    multiplier,
    needed_share,
    needed_share_heuristic,
    predicted,
)
from thinkcap.statistics.decompose import Decomposition, Tax, decompose, tax
from thinkcap.statistics.frontier import Frontier, frontier
from thinkcap.statistics.hazard import DecreasingTest, Hazard, decreasing, even_edges, hazard
from thinkcap.statistics.paired import PairedDifference, difference
from thinkcap.statistics.precision import Proportion, StopPrecision, stop_precision, wilson
from thinkcap.statistics.predict import Pilot, pilot_sufficiency
from thinkcap.statistics.route import Routing, cascade_grid
from thinkcap.statistics.survival import Survival, survival


@dataclass(frozen=True)
class ArmSummary:
    name: str
    policy: str
    budget: int | None
    file: str
    n: int
    failed: int
    unreadable: int
    accuracy: Proportion
    mean_tokens: float | None
    criterion: str
    parts: Decomposition | None
    stop: StopPrecision | None
    provenance: Mapping[str, str]
    """Hardware, dtype, engine, prompts and grader, where the run says so."""
    thoughts: int | None = None
    """Rows of plain thinking in which a thought was opened; None where that is not known."""


@dataclass(frozen=True)
class AtBudget:
    """Both modes at one budget, on the same questions."""

    budget: int
    tax: Tax | None
    """None when the log does not tell which chains were cut."""
    difference: PairedDifference
    """nothink minus think: positive when thinking loses."""
    predicted: Predicted | None
    """Crossover from this budget's accuracies and the chain lengths, exact and heuristic."""
    predicted_heuristic: Predicted | None


@dataclass(frozen=True)
class Lengths:
    budget: int
    curve: Survival
    hazard: Hazard | None
    decreasing: DecreasingTest | None
    decreasing_tail: DecreasingTest | None
    """The same beyond the median, where a falling hazard would matter."""


@dataclass(frozen=True)
class Replayed:
    """A cascade computed from stored outcomes: direct at `first`, thinking at `second` where that did not end."""

    first: int
    second: int
    routing: Routing
    accuracy: Proportion


@dataclass(frozen=True)
class Findings:
    model: str
    task: str
    arms: tuple[ArmSummary, ...]
    budgets: tuple[AtBudget, ...]
    lengths: Lengths | None
    crossover: Empirical | None
    multiplier: Multiplier | None
    frontier: Frontier | None
    pilot: Pilot | None
    cascades: tuple[Replayed, ...]
    splitting: Splitting
    escalations: tuple[Escalation, ...]
    """What each cascade that was run wins on the questions its first try left open, and may cost."""
    read_as: str
    """The reading of plain thinking all this is about: `think`, or a looser one where only that was run."""
    refused: tuple[str, ...] = field(default=())
    """Comparisons that were not made, with the reason."""


def summary(arm: Arm) -> ArmSummary:
    right = int(arm.right.sum())
    parts = None if arm.ended is None else decompose(arm.ended, arm.right)
    stop = None if parts is None else stop_precision(parts.right_ended, parts.ended)
    mean = None if arm.tokens is None else float(arm.tokens.mean())
    return ArmSummary(
        arm.name,
        arm.method,
        arm.budget,
        arm.file,
        arm.n,
        arm.failed,
        arm.unreadable,
        wilson(right, arm.n),
        mean,
        arm.criterion,
        parts,
        stop,
        arm.provenance,
        int((arm.extra["tokens_think"] > 0).sum()) if "tokens_think" in arm.extra else None,
    )


def pooled(arms: Sequence[Arm]) -> list[Arm]:
    """Seeds of one arm as one arm, a question and its seed being one row; other arms as they are."""
    groups: dict[tuple[str, str, Stages], list[Arm]] = {}
    for arm in arms:
        key = (arm.name, arm.file, arm.stages)
        groups.setdefault(key, []).append(arm)
    result = []
    for same in groups.values():
        result.append(same[0] if len(same) == 1 else _join(same))
    return result


def _join(arms: Sequence[Arm]) -> Arm:
    def column(name: str) -> np.ndarray | None:
        parts = [getattr(a, name) for a in arms]
        return None if any(p is None for p in parts) else np.concatenate(parts)

    seeds = np.concatenate([np.full(a.n, a.seed or 0) for a in arms])
    return replace(
        arms[0],
        # One code per question and seed; 2**20 seeds are enough for anyone.
        question=np.concatenate([a.question for a in arms]) * 2**20 + seeds,
        verdict=np.concatenate([a.verdict for a in arms]),
        tokens=column("tokens"),
        ended=column("ended"),
        flag=column("flag"),
        content=column("content"),
        failed=sum(a.failed for a in arms),
        unreadable=sum(a.unreadable for a in arms),
        extra={k: np.concatenate([a.extra[k] for a in arms]) for k in _common(arms)},
    )


def _common(arms: Sequence[Arm]) -> list[str]:
    return [k for k in arms[0].extra if all(k in a.extra for a in arms)]


def findings(model: str, task: str, arms: Sequence[Arm], *, draws: int, seed: int) -> Findings:
    ready = sorted(pooled(arms), key=lambda a: (a.method, a.budget or 0))
    refused: list[str] = []
    read_as = thinking(ready)
    nothink, think = _series(ready, "nothink"), _series(ready, read_as)
    lengths = _lengths(think[max(think)]) if think else None
    both = sorted(set(nothink) & set(think))
    rows = []
    for b in both:
        try:
            rows.append(_at(b, nothink[b], think[b], lengths))
        except DataError as err:
            refused.append(str(err))
    aligned = _aligned([nothink[b] for b in both] + [think[b] for b in both], refused) if both else []
    direct, thought = aligned[: len(both)], aligned[len(both) :]
    crossing = _crossing(both, direct, thought, draws, seed)
    gamma = None
    if crossing is not None and len(both) > 1:
        gamma = multiplier(both, [float(a.right.mean()) for a in direct], crossing)
    only = _aligned(list(think.values()), refused) if len(think) > 1 else []
    return Findings(
        model,
        task,
        tuple(summary(a) for a in ready),
        tuple(rows),
        lengths,
        crossing,
        gamma,
        frontier(list(think), np.stack([a.right for a in only], axis=1)) if only else None,
        _pilot(list(think), only, seed),
        _cascades(nothink, think),
        splitting(ready, None if lengths is None else lengths.curve),
        escalations(ready),
        read_as,
        tuple(dict.fromkeys(refused)),
    )


def _series(arms: Sequence[Arm], mode: str) -> dict[int, Arm]:
    """The plain arms of a mode by budget; of several runs at one budget the first counts."""
    found: dict[int, Arm] = {}
    for arm in sorted((a for a in arms if a.method == mode and a.budget is not None), key=lambda a: a.budget or 0):
        found.setdefault(arm.budget or 0, arm)
    return found


def _aligned(arms: list[Arm], refused: list[str]) -> list[Arm]:
    try:
        base = arms[0]
        for other in arms[1:]:
            base, _, _ = matched(base, other)
        return [base, *(matched(base, a)[1] for a in arms[1:])]
    except DataError as err:
        refused.append(str(err))
        return []


def _lengths(arm: Arm) -> Lengths | None:
    if arm.tokens is None or arm.ended is None:
        return None
    curve = survival(arm.tokens, arm.ended)
    rate = tail = overall = None
    if arm.ended.any():
        edges = even_edges(arm.tokens)
        rate = hazard(arm.tokens, arm.ended, edges) if len(edges) > 1 else None
        overall = decreasing(arm.tokens, arm.ended)
        tail = None if curve.median is None else decreasing(arm.tokens, arm.ended, int(curve.median))
    return Lengths(arm.budget or 0, curve, rate, overall, tail)


def _at(budget: int, nothink: Arm, think: Arm, lengths: Lengths | None) -> AtBudget:
    direct, thought, how = matched(nothink, think)
    gap = difference(direct.right, thought.right, how)
    cost = None if thought.ended is None else tax(direct.right, thought.ended, thought.right)
    exact = guess = None
    if cost is not None and lengths is not None:
        a_c, a_t = cost.think.alpha_c, cost.think.alpha_t
        exact = predicted(lengths.curve, needed_share(cost.nothink_accuracy, a_c, a_t))
        guess = predicted(lengths.curve, needed_share_heuristic(cost.nothink_accuracy, a_c))
    return AtBudget(budget, cost, gap, exact, guess)


def _crossing(
    budgets: list[int], direct: list[Arm], thought: list[Arm], draws: int, seed: int
) -> Empirical | None:
    if not direct:
        return None
    one, two = np.stack([a.right for a in direct], axis=1), np.stack([a.right for a in thought], axis=1)
    if draws > 0:
        return empirical_with_interval(budgets, one, two, draws=draws, seed=seed)
    return empirical(budgets, one.mean(axis=0) - two.mean(axis=0))


def _pilot(budgets: list[int], arms: list[Arm], seed: int) -> Pilot | None:
    """Only where the sweep is one chain cut at many places, enough questions, and ends are known."""
    if len(arms) < 2 or arms[-1].tokens is None or arms[-1].ended is None or not 100 <= arms[-1].n <= 200_000:
        return None
    table = np.stack([a.right for a in arms], axis=1)
    return pilot_sufficiency(budgets, arms[-1].tokens, arms[-1].ended, table, seed=seed)


def _cascades(nothink: dict[int, Arm], think: dict[int, Arm]) -> tuple[Replayed, ...]:
    usable = [*nothink.values(), *think.values()]
    if not nothink or not think or any(a.tokens is None for a in usable):
        return ()
    if any(a.ended is None for a in nothink.values()):
        return ()
    aligned = _aligned(usable, [])
    if not aligned:
        return ()
    direct, thought = aligned[: len(nothink)], aligned[len(nothink) :]
    grid = cascade_grid(
        {a.budget or 0: (a.right, a.ends, a.lengths) for a in direct},
        {a.budget or 0: (a.right, a.lengths) for a in thought},
    )
    return tuple(Replayed(b1, b2, r, wilson(r.right, r.n)) for (b1, b2), r in grid.items())
