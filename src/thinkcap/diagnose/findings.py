"""What the records of one model on one task show: losses by budget, chain lengths, crossover, methods, routes.

Frozen tables made from arms by the estimators of `thinkcap.statistics`; the verdict puts them into words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thinkcap.diagnose.candidates import make_candidates
from thinkcap.diagnose.escalation import Escalation, escalations
from thinkcap.diagnose.gates import Gated, gated
from thinkcap.diagnose.pairs import Comparison, Comparisons, aligned_or_none, matched
from thinkcap.diagnose.passes import is_control, reading
from thinkcap.diagnose.routes import replayed
from thinkcap.diagnose.splitting import Splitting, splitting
from thinkcap.logs import Arm
from thinkcap.statistics.choice import Recommendation, recommend
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
from thinkcap.statistics.paired import PairedDifference
from thinkcap.statistics.precision import Proportion, StopPrecision, stop_precision
from thinkcap.statistics.predict import Pilot, pilot_sufficiency
from thinkcap.statistics.route import Routing
from thinkcap.statistics.survival import Survival, survival


@dataclass(frozen=True)
class ArmSummary:
    name: str
    policy: str
    method: str
    """The policy with its options."""
    budget: int | None
    file: str
    rows: int
    n: int
    """Rows with a verdict: accuracy is of these."""
    failed: int
    unreadable: int
    accuracy: Proportion
    mean_tokens: float | None
    most_tokens: int | None
    """What the dearest question cost."""
    control: bool
    """Run to be compared with, never to be advised."""
    criterion: str
    parts: Decomposition | None
    stop: StopPrecision | None
    provenance: Mapping[str, str]
    """Hardware, dtype, engine, prompts and grader, where the run says so."""
    thoughts: int | None
    """Rows of plain thinking in which a thought was opened; None where that is not known."""


@dataclass(frozen=True)
class AtBudget:
    """Both modes at one budget, on the same questions."""

    budget: int
    tax: Tax | None
    """None when the log does not tell which chains were cut."""
    comparison: Comparison
    """nothink minus think: positive when thinking loses."""
    predicted: Predicted | None
    """Crossover from this budget's accuracies and the chain lengths, exact and heuristic."""
    predicted_heuristic: Predicted | None

    @property
    def difference(self) -> PairedDifference:
        return self.comparison.result


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
    gates: tuple[Gated, ...]
    read_as: str
    """The reading of plain thinking all this is about: `think`, or a looser one where only that was run."""
    recommendation: Recommendation
    """What may be chosen for a budget, by the questions it was measured on."""


def summary(arm: Arm) -> ArmSummary:
    judged = arm.judged()
    parts = None if judged.ended is None or not judged.n else decompose(judged.ended, judged.right)
    stop = None
    if judged.ended is not None and judged.n:
        stop = stop_precision(judged.right[judged.ended], judged.repeats_on(judged.ended))
    known = arm.tokens is not None and arm.n > 0
    return ArmSummary(
        arm.name,
        arm.policy,
        arm.method,
        arm.budget,
        arm.file,
        arm.n,
        judged.n,
        arm.failed,
        arm.unreadable,
        judged.accuracy,
        float(arm.lengths.mean()) if known else None,
        int(arm.lengths.max()) if known else None,
        is_control(arm.policy),
        arm.criterion,
        parts,
        stop,
        arm.provenance,
        int((arm.extra["tokens_think"] > 0).sum()) if "tokens_think" in arm.extra else None,
    )


def findings(arms: Sequence[Arm], comparisons: Comparisons, *, draws: int, seed: int) -> Findings:
    """All that the arms of one model on one task show, each configuration once."""
    read_as = reading(arms)
    nothink, think = _series(arms, "nothink"), _series(arms, read_as)
    # A chain has a length whether or not anybody judged its answer.
    chains = [a for a in arms if a.method == read_as and a.budget is not None and a.n]
    lengths = _lengths(max(chains, key=lambda a: a.budget or 0)) if chains else None
    both = [b for b in sorted(set(nothink) & set(think)) if comparisons.between(nothink[b].name, think[b].name)]
    same = aligned_or_none([nothink[b] for b in both] + [think[b] for b in both]) or []
    direct, thought = same[: len(both)], same[len(both) :]
    crossing = _crossing(both, direct, thought, draws, seed)
    gamma = None
    if crossing is not None and len(both) > 1:
        gamma = multiplier(both, [float(a.right.mean()) for a in direct], crossing)
    only = aligned_or_none(think.values()) or [] if len(think) > 1 else []
    rate = None if lengths is None else lengths.hazard
    return Findings(
        arms[0].model,
        arms[0].task,
        tuple(summary(a) for a in arms),
        tuple(_at(nothink[b], think[b], lengths, comparisons) for b in both),
        lengths,
        crossing,
        gamma,
        frontier(list(think), np.stack([a.right for a in only], axis=1)) if only and only[0].n else None,
        _pilot(list(think), only, seed),
        tuple(Replayed(*at, *made) for at, made in replayed(nothink, think).items()),
        splitting(arms, rate),
        escalations(arms),
        gated(arms),
        read_as,
        recommend(make_candidates([a] for a in arms if not is_control(a.policy))),
    )


def _series(arms: Sequence[Arm], policy: str) -> dict[int, Arm]:
    """The plain arms of a mode by budget."""
    plain = [a for a in arms if a.method == policy and a.budget is not None and a.judged().n]
    return {a.budget or 0: a for a in sorted(plain, key=lambda a: a.budget or 0)}


def _lengths(arm: Arm) -> Lengths | None:
    if arm.tokens is None or arm.ended is None:
        return None
    curve = survival(arm.tokens, arm.ended, questions=arm.repeats)
    rate = tail = overall = None
    if arm.ended.any():
        edges = even_edges(arm.tokens)
        rate = hazard(arm.tokens, arm.ended, edges, questions=arm.repeats) if len(edges) > 1 else None
        overall = decreasing(arm.tokens, arm.ended, questions=arm.repeats)
        if curve.median is not None:
            tail = decreasing(arm.tokens, arm.ended, int(curve.median), arm.repeats)
    return Lengths(arm.budget or 0, curve, rate, overall, tail)


def _at(nothink: Arm, think: Arm, lengths: Lengths | None, comparisons: Comparisons) -> AtBudget:
    comparison = comparisons.between(nothink.name, think.name)
    assert comparison is not None
    direct, thought, _ = matched(nothink, think)
    cost = None if thought.ended is None else tax(direct.right, thought.ended, thought.right, direct.repeats)
    exact = guess = None
    if cost is not None and lengths is not None:
        a_c, a_t = cost.think.alpha_c, cost.think.alpha_t
        exact = predicted(lengths.curve, needed_share(cost.nothink_accuracy, a_c, a_t))
        guess = predicted(lengths.curve, needed_share_heuristic(cost.nothink_accuracy, a_c))
    return AtBudget(nothink.budget or 0, cost, comparison, exact, guess)


def _crossing(
    budgets: list[int], direct: list[Arm], thought: list[Arm], draws: int, seed: int
) -> Empirical | None:
    if not direct or not direct[0].n:
        return None
    one, two = np.stack([a.right for a in direct], axis=1), np.stack([a.right for a in thought], axis=1)
    if draws > 0:
        return empirical_with_interval(budgets, one, two, direct[0].repeats, draws=draws, seed=seed)
    return empirical(budgets, one.mean(axis=0) - two.mean(axis=0))


def _pilot(budgets: list[int], arms: list[Arm], seed: int) -> Pilot | None:
    """Only where the sweep is one chain cut at many places, enough questions, and ends are known."""
    if len(arms) < 2 or arms[-1].tokens is None or arms[-1].ended is None or not 100 <= arms[-1].n <= 200_000:
        return None
    table = np.stack([a.right for a in arms], axis=1)
    return pilot_sufficiency(budgets, arms[-1].tokens, arms[-1].ended, table, seed=seed)
