"""What answering in a pass of its own is worth: points recovered, the inequality behind it, cuts, controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.pairs import aligned_or_none
from thinkcap.diagnose.passes import accepted, divided, extracted, finished, reading, still_open
from thinkcap.diagnose.totals import Division, SameTotal, divisions, same_totals
from thinkcap.logs import Arm
from thinkcap.policies.registry import declared
from thinkcap.statistics.arrays import Bools
from thinkcap.statistics.cuts import ConditionalAdvantage, Derivability, conditional_advantage, derivability
from thinkcap.statistics.decompose import Recovery, recovered
from thinkcap.statistics.halves import SplitSample, split_sample
from thinkcap.statistics.hazard import Hazard
from thinkcap.statistics.modal import (
    Dominance,
    Modal,
    TwoByTwo,
    continuation,
    dominance,
    modal_of,
    two_by_two,
)
from thinkcap.statistics.paired import McNemar, mcnemar
from thinkcap.statistics.split import coupling_gain
from thinkcap.statistics.survival import survival


@dataclass(frozen=True)
class Coupling:
    """(1 - F(b - |A|))(a_e - a_t): what it costs that thought and answer share one cap, from thoughts' lengths."""

    least_answer: int
    """Fewest tokens after the thought with which a chain ever ended right."""
    open_share: float
    """Of all questions, those whose thought is longer than the cap less that answer."""
    gain: float


@dataclass(frozen=True)
class Extraction:
    """An answer pass on cut chains against the cut chain itself, or against thinking on, on the same questions."""

    split: str
    coupled: str
    cut_at: int | None
    """Budget of the thinking pass, tau."""
    answer: int | None
    """Budget of the answer pass, b_a."""
    coupled_at: int | None
    """Budget of the coupled thinking: tau, or tau + b_a where it thinks on."""
    probed: bool
    """A first try without thinking had settled some questions."""
    n: int
    cut: int
    alpha_e: float
    alpha_t: float
    test: McNemar
    """On the cut chains."""
    recovery: Recovery | None
    """The coupled method's loss against no thinking: what the answer pass wins back of it, and what is left."""
    direct: str | None
    """The answers without thinking that the loss is counted from."""
    modal: Modal | None
    """Whether extracting at once should beat thinking b_a tokens more: all parts over the same chains."""
    observed: float | None
    """By how much the split really beats the coupled method on those chains."""
    bound: Dominance | None
    """The same bounded by the hazard at the cut."""
    halves: SplitSample | None
    """Predicted from one half's lengths and accuracies, checked on the other half."""
    derivability: Derivability
    """The gold in the trace, and the same prompt without the chain and with another question's chain."""
    coupling: Coupling | None

    @property
    def recoverable(self) -> float:
        """(alpha_e - alpha_t) x share cut: what splitting wins back of all questions."""
        return (self.alpha_e - self.alpha_t) * self.cut / self.n

    @property
    def thinks_on(self) -> bool:
        return None not in (self.cut_at, self.coupled_at) and (self.coupled_at or 0) > (self.cut_at or 0)


@dataclass(frozen=True)
class ModeByContext:
    """The 2 x 2 of mode and context on one split's cut chains."""

    split: str
    cells: TwoByTwo


@dataclass(frozen=True)
class Splitting:
    extractions: tuple[Extraction, ...]
    cuts: ConditionalAdvantage | None
    """Extraction against thinking on, at several cuts: on the chains still running, and on a fixed cohort."""
    matched_totals: tuple[SameTotal, ...]
    optima: tuple[Division, ...]
    mode_by_context: tuple[ModeByContext, ...]


def splitting(arms: Sequence[Arm], hazard: Hazard | None) -> Splitting:
    splits = [a for a in arms if declared(a.policy).splits and "stage" in a.extra]
    return Splitting(
        tuple(e for one in splits for e in _extractions(one, arms, hazard)),
        _cuts(arms),
        same_totals(arms),
        divisions(arms),
        tuple(square for one in splits if (square := _mode_by_context(one, arms))),
    )


def _extractions(one: Arm, arms: Sequence[Arm], hazard: Hazard | None) -> list[Extraction]:
    made = [e for two in _coupled(one, arms) if (e := _extraction(one, two, arms, hazard)) is not None]
    if any(e.thinks_on and e.modal is not None for e in made):
        # Where thinking on was run, the inequality is about that run and not about a longer chain.
        made = [e if e.thinks_on else replace(e, modal=None, observed=None, bound=None) for e in made]
    return made


def _coupled(one: Arm, arms: Sequence[Arm]) -> list[Arm]:
    """What reads the same chain as it stands, and what thinks on for the answer's tokens.

    TOWN shares the first try with IRIS, so it is the closer control; thinking alone stands in for it.
    """
    cut, answer = one.stages.think, one.stages.answer
    plain = [a for a in arms if a.policy == reading(arms) and a.budget is not None]
    towns = [a for a in arms if declared(a.policy).coupled and a.stages.first == one.stages.first]
    again = declared(one.policy).looks_again
    towns = [a for a in towns if declared(a.policy).looks_again == again] or towns
    if cut is None:
        return [a for a in (*towns, *plain) if a.budget == one.budget][:1]
    wanted = [cut] if answer is None else [cut, cut + answer]
    found: list[Arm] = []
    for length in wanted:
        same = [a for a in towns if a.stages.think == length] if one.stages.first is not None else []
        found += (same or [a for a in plain if a.budget == length])[:1]
    return found


def _extraction(one: Arm, two: Arm, arms: Sequence[Arm], hazard: Hazard | None) -> Extraction | None:
    both = aligned_or_none([one, two])
    if both is None:
        return None
    a, b = both
    rows = extracted(a)
    if rows is None or not rows.any():
        return None
    e, t = float(a.right[rows].mean()), float(b.right[rows].mean())
    recovery, direct = _recovery(a, b, arms)
    parts, observed = _modal(a, b, arms)
    cut, answer = one.stages.think, one.stages.answer
    bound = None
    if parts is not None and hazard is not None and cut is not None and answer is not None:
        bound = dominance(hazard, cut, answer, parts)
    return Extraction(
        one.name,
        two.name,
        cut,
        answer,
        _thought(two),
        accepted(one) is not None,
        a.n,
        int(rows.sum()),
        e,
        t,
        mcnemar(a.right[rows], b.right[rows], a.repeats_on(rows)),
        recovery,
        direct,
        parts,
        observed,
        bound,
        _halves(a, b),
        _derivability(a.take(rows), arms),
        _coupling(a, b, e, t, arms),
    )


def _thought(arm: Arm) -> int | None:
    """Tokens a method may think."""
    return arm.budget if arm.mode == "think" else arm.stages.think


def _recovery(one: Arm, two: Arm, arms: Sequence[Arm]) -> tuple[Recovery | None, str | None]:
    """Against no thinking under the coupled method's cap, or under the split's where that was not run."""
    if one.stages.think is not None and _thought(two) != one.stages.think:
        return None, None
    for budget in (two.budget, one.budget):
        for direct in (a for a in arms if a.policy == "nothink" and budget is not None and a.budget == budget):
            every = aligned_or_none([one, two, direct])
            rows = None if every is None else extracted(every[0])
            if every is not None and rows is not None:
                a, b, c = every
                return recovered(c.right, ~rows, b.right, a.right), direct.name
    return None, None


def _modal(one: Arm, two: Arm, arms: Sequence[Arm]) -> tuple[Modal | None, float | None]:
    """Over the chains still running at the cut. Thinking on was run, or is read off a longer chain."""
    rows = extracted(one)
    cut, answer = one.stages.think, one.stages.answer
    if rows is None or cut is None or answer is None:
        return None, None
    if _thought(two) == cut + answer:
        a, b = one.take(rows), two.take(rows)
        return (None, None) if b.ended is None else (modal_of(a.right, b.right, b.ended), _gap(a, b))
    plain = [a for a in arms if a.policy == reading(arms) and a.tokens is not None and a.ended is not None]
    longer = [a for a in plain if (a.budget or 0) >= cut + answer]
    every = aligned_or_none([one, two, max(longer, key=lambda a: a.budget or 0)]) if longer else None
    rows = None if every is None else extracted(every[0])
    if every is None or rows is None:
        return None, None
    a, b, chain = (arm.take(rows) for arm in every)
    try:
        on = continuation(cut, answer, chain.lengths, chain.ends, chain.right, b.right)
    except DataError:
        return None, None
    if not on.alive.any():
        return None, None
    found = modal_of(a.right[on.alive], on.right[on.alive], on.ended[on.alive])
    return found, _gap(a.take(on.alive), b.take(on.alive))


def _gap(one: Arm, two: Arm) -> float:
    return float(one.right.mean() - two.right.mean())


def _halves(one: Arm, two: Arm) -> SplitSample | None:
    cut, answer = one.stages.think, one.stages.answer
    done = finished(one)
    if done is None or two.ended is None or cut is None or answer is None or _thought(two) != cut + answer:
        return None
    rows = still_open(one)
    try:
        return split_sample(one.right[rows], done[rows], two.right[rows], two.ended[rows], one.repeats_on(rows))
    except DataError:
        # Two runs that do not share their chains: more end at the cut of one than at the cap of the other.
        return None


def _coupling(one: Arm, two: Arm, alpha_e: float, alpha_t: float, arms: Sequence[Arm]) -> Coupling | None:
    """Needs the length of the thought apart from the answer's, on chains at least as long as the cap."""
    cap = _thought(two)
    told = [a for a in arms if a.policy == "think" and "tokens_think" in a.extra and a.ended is not None]
    if not told or cap is None:
        return None
    longest = max(told, key=lambda a: a.budget or 0)
    both = None if (longest.budget or 0) < cap else aligned_or_none([one, longest])
    if both is None:
        return None
    same, chain = both
    thought = np.asarray(chain.extra["tokens_think"])
    good = chain.ends & chain.right & (thought > 0)
    if not good.any():
        return None
    least = int((chain.lengths - thought)[good].min())
    rows = still_open(same)
    # A cut chain whose answer had begun has closed its thought all the same.
    closed = chain.ends | (thought < chain.lengths)
    if not rows.any():
        return None
    curve = survival(thought[rows], closed[rows])
    weight = float(rows.mean())
    gain = weight * coupling_gain(curve, cap, least, alpha_e, alpha_t)
    return Coupling(least, weight * (1 - curve.at(cap - least)), gain)


def _derivability(cut: Arm, arms: Sequence[Arm]) -> Derivability:
    """On the very questions that were extracted; a control that misses some of them is left out."""
    gold = cut.extra.get("gold_in_trace")
    return derivability(
        cut.right,
        gold_in_trace=None if gold is None else gold.astype(np.bool_),
        any_right=_generous(cut, arms),
        without_trace=_control(cut, arms, "without_trace"),
        placebo=_control(cut, arms, "other_trace"),
    )


def _control(cut: Arm, arms: Sequence[Arm], kind: str, mode: str = "nothink") -> Bools | None:
    """A control's verdicts on the rows of an arm: with the same answer budget, or else the same total."""
    named = [a for a in arms if declared(a.policy).control == kind and a.options.get("mode", "nothink") == mode]
    passes = [a for a in named if _answer(a) is not None and _answer(a) == cut.stages.answer]
    passes = [a for a in passes if a.stages.think in (None, cut.stages.think)]
    found = (_on_rows(cut, control) for control in passes or [a for a in named if a.budget == cut.budget])
    return next((right for right in found if right is not None), None)


def _generous(cut: Arm, arms: Sequence[Arm]) -> Bools | None:
    """Right in any other answer pass on the same chain with at least as many tokens; None where there is none."""
    own, same = cut.stages, []
    for arm in arms:
        chain = declared(arm.policy).splits and (arm.stages.first, arm.stages.think) == (own.first, own.think)
        if chain and arm.name != cut.name and (arm.stages.answer or 0) >= (own.answer or 0):
            same.append(_on_rows(cut, arm))
    known = [right for right in same if right is not None]
    return np.logical_or.reduce(known) if known else None


def _on_rows(cut: Arm, other: Arm) -> Bools | None:
    """Another arm's verdicts on the rows of this one; None where it lacks some of them."""
    both = aligned_or_none([cut, other])
    return both[1].right if both is not None and both[0].n == cut.n else None


def _answer(arm: Arm) -> int | None:
    """A control without a chain spends all it has on the answer."""
    return arm.budget if declared(arm.policy).control == "without_trace" else arm.stages.answer


def _mode_by_context(one: Arm, arms: Sequence[Arm]) -> ModeByContext | None:
    """Thinking and not thinking, with the cut chain and without it, in the same words and tokens."""
    rows = extracted(one)
    if rows is None or not rows.any():
        return None
    cut = one.judged().take(rows) if one.is_judged else None
    if cut is None:
        return None
    cells = (
        _control(cut, arms, "without_trace", mode="think"),
        _control(cut, arms, "thinking"),
        _control(cut, arms, "without_trace"),
        cut.right,
    )
    think_without, think_with, nothink_without, nothink_with = cells
    if think_without is None or think_with is None or nothink_without is None:
        return None
    return ModeByContext(
        one.name, two_by_two(think_without, think_with, nothink_without, nothink_with, cut.repeats)
    )


def _cuts(arms: Sequence[Arm]) -> ConditionalAdvantage | None:
    """Splits of one answer budget cut at several places, beside thinking on from there."""
    plain = {
        a.budget: a for a in arms if a.policy == reading(arms) and a.ended is not None and a.tokens is not None
    }
    families: dict[int, dict[int, Arm]] = {}
    for arm in arms:
        cut, answer = arm.stages.think, arm.stages.answer
        if divided(arm) == "split" and cut and answer and cut + answer in plain:
            families.setdefault(answer, {}).setdefault(cut, arm)
    if not families:
        return None
    family = max(families.values(), key=len)
    if len(family) < 2:
        # A sweep over caps divides each in the same proportion, so every cut has its own answer budget.
        every = sorted((cut, -answer) for answer, mine in families.items() for cut in mine)
        family = {cut: families[-answer][cut] for cut, answer in every}
    cuts = sorted(family)
    on = [plain[(family[c].stages.think or 0) + (family[c].stages.answer or 0)] for c in cuts]
    longest = plain[max(b for b in plain if b is not None)]
    same = aligned_or_none([*(family[c] for c in cuts), *on, longest])
    if same is None or not same[0].n:
        return None
    half = len(cuts)
    try:
        return conditional_advantage(
            cuts,
            same[-1].lengths,
            same[-1].ends,
            np.stack([a.right for a in same[:half]], axis=1),
            np.stack([a.right for a in same[half:-1]], axis=1),
            same[-1].repeats,
        )
    except DataError:
        # A chain that was cut before the last place: nobody knows whether it came that far.
        return None
