"""What answering in a separate pass is worth in these records: points recovered, controls, cuts, splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.diagnose.passes import accepted, beside, budgets, head, thinking
from thinkcap.diagnose.totals import Division, SameTotal, divisions, same_totals
from thinkcap.logs.arms import Arm, matched
from thinkcap.statistics.arrays import Bools
from thinkcap.statistics.cuts import ConditionalAdvantage, Derivability, conditional_advantage, derivability
from thinkcap.statistics.halves import SplitSample, split_sample
from thinkcap.statistics.modal import Modal, TwoByTwo, continuation, modal_of, two_by_two
from thinkcap.statistics.paired import McNemar, mcnemar
from thinkcap.statistics.split import coupling_gain
from thinkcap.statistics.survival import Survival, survival

_SPLITS = ("iris", "split", "two_pass")
_COUPLED = ("town", "think")


@dataclass(frozen=True)
class Coupling:
    """(1 - F(b - |A|))(a_e - a_t): what it costs that thought and answer share one cap, from thoughts' lengths."""

    least_answer: int | None
    """Fewest tokens after the thought with which a chain ever ended right."""
    open_share: float | None
    """Of all questions, those whose thought is longer than the cap less that answer."""
    gain: float | None
    undefined: str | None


@dataclass(frozen=True)
class Extraction:
    """An answer pass on cut chains against answering from the cut chain itself, on the same questions."""

    split: str
    coupled: str
    reasoning: int | None
    """Budget of the thinking pass."""
    probed: bool
    """A first try without thinking had settled some questions."""
    n: int
    cut: int
    alpha_e: float
    alpha_t: float
    recoverable: float
    """(alpha_e - alpha_t) x share cut: what splitting wins back of all questions."""
    test: McNemar
    controls: Derivability
    """The same prompt without the chain and with another question's chain, where these were run."""
    modal: Modal | None
    """Whether extracting at once should beat thinking on for as many tokens, from the chain lengths."""
    halves: SplitSample | None
    """Predicted on one half of the cut chains, checked on the other."""
    coupling: Coupling


@dataclass(frozen=True)
class Splitting:
    extractions: tuple[Extraction, ...]
    cuts: ConditionalAdvantage | None
    """Extraction against thinking on, at several caps: on the chains still running, and on a fixed cohort."""
    matched_totals: tuple[SameTotal, ...]
    optima: tuple[Division, ...]
    mode_by_context: TwoByTwo | None


def splitting(arms: Sequence[Arm], curve: Survival | None) -> Splitting:
    return Splitting(
        tuple(e for one in arms for e in _against(one, arms)),
        None if curve is None else _cuts(arms),
        same_totals(arms),
        divisions(arms),
        _two_by_two(arms),
    )


def extracted(arm: Arm) -> Bools | None:
    """Rows answered by a separate pass on a cut chain; None where the log does not name stages."""
    if "stage" in arm.extra:
        named = np.asarray(arm.extra["stage"] == "answer", dtype=np.bool_)
        return named if arm.ended is None else named & ~arm.ended
    return None


def _against(one: Arm, arms: Sequence[Arm]) -> list[Extraction]:
    if head(one) not in _SPLITS or _divided(one):
        return []
    others = [a for a in arms if head(a) in _COUPLED and beside(one, a)]
    # Town shares the probe with iris, so it is the closer control; thinking alone stands in where it was not run.
    probed = [a for a in others if head(a) == "town"] if head(one) == "iris" else []
    plain = thinking(arms)
    coupled = probed or [a for a in others if a.method == plain]
    result = []
    for two in coupled:
        try:
            a, b, _ = matched(one, two)
        except DataError:
            continue
        rows = extracted(a)
        if rows is None or not rows.any():
            continue
        e, t = float(a.right[rows].mean()), float(b.right[rows].mean())
        cut = int(rows.sum())
        found = Extraction(
            one.name,
            two.name,
            budgets(one).think,
            accepted(one) is not None,
            a.n,
            cut,
            e,
            t,
            (e - t) * cut / a.n,
            mcnemar(a.right[rows], b.right[rows]),
            _controls(a.take(rows), arms),
            _modal(one, a, b, arms),
            _halves(a, arms),
            _coupling(one, two, e, t, arms),
        )
        result.append(found)
    return result


def _modal(one: Arm, split: Arm, coupled: Arm, arms: Sequence[Arm]) -> Modal | None:
    """Needs the passes' budgets, and chains observed through the answer's share; all parts on the same chains."""
    own, rows = budgets(one), extracted(split)
    longest = _longest(arms)
    if not own.think or not own.answer or longest is None or rows is None:
        return None
    try:
        same, chain, _ = matched(split, longest)
        _, cut, _ = matched(same, coupled)
        on = continuation(own.think, own.answer, chain.lengths, chain.ends, chain.right, cut.right)
    except DataError:
        return None
    rows = extracted(same)
    alive = on.alive if rows is None else on.alive & rows
    return modal_of(same.right[alive], on.right[alive], on.ended[alive])


def _halves(split: Arm, arms: Sequence[Arm]) -> SplitSample | None:
    """Against thinking with the same total, over the questions that were thought about."""
    own, plain = budgets(split), thinking(arms)
    total = (own.think or 0) + (own.answer or 0)
    rivals = [a for a in arms if a.method == plain and a.budget == total and a.ended is not None]
    if not rivals or not own.think or not own.answer:
        return None
    try:
        same, whole, _ = matched(split, rivals[0])
        rows, kept = extracted(same), accepted(same)
        if rows is None:
            return None
        open_ = np.ones(same.n, dtype=np.bool_) if kept is None else ~kept
        if open_.sum() < 20:
            return None
        return split_sample(same.right[open_], ~rows[open_], whole.right[open_], whole.ends[open_])
    except DataError:
        return None


def _longest(arms: Sequence[Arm]) -> Arm | None:
    plain = thinking(arms)
    chains = [a for a in arms if a.method == plain and a.tokens is not None and a.ended is not None]
    return max(chains, key=lambda a: a.budget or 0, default=None)


def _coupling(one: Arm, two: Arm, alpha_e: float, alpha_t: float, arms: Sequence[Arm]) -> Coupling:
    """Needs the length of the thought apart from the answer's, on chains at least as long as the cap."""

    def undefined(why: str) -> Coupling:
        return Coupling(None, None, None, why)

    cap = budgets(two).think or two.budget
    told = [a for a in arms if head(a) == "think" and "tokens_think" in a.extra and a.ended is not None]
    if not told or cap is None:
        return undefined("the records do not tell where a thought ends and its answer begins")
    longest = max(told, key=lambda a: (a.budget or 0, a.file == one.file))
    if (longest.budget or 0) < cap:
        return undefined(f"chains were observed up to {longest.budget} tokens, not to {cap}")
    try:
        same, chain, _ = matched(one, longest)
    except DataError as err:
        return undefined(str(err))
    kept = accepted(same)
    thought, good = np.asarray(chain.extra["tokens_think"]), chain.ends & chain.right
    good &= thought > 0
    if not good.any():
        return undefined("no chain ended right after a thought of known length")
    least = int((chain.lengths - thought)[good].min())
    rows = np.ones(same.n, dtype=np.bool_) if kept is None else ~kept
    # A cut chain whose answer had begun has closed its thought all the same.
    closed = chain.ends | (thought < chain.lengths)
    curve = survival(thought[rows], closed[rows])
    weight = float(rows.mean())
    open_share = weight * (1 - curve.at(cap - least))
    return Coupling(least, open_share, weight * coupling_gain(curve, cap, least, alpha_e, alpha_t), None)


def _controls(cut: Arm, arms: Sequence[Arm]) -> Derivability:
    """On the very questions that were extracted; a control that misses some of them is left out."""
    columns: dict[str, Bools] = {}
    for name, policy in (("without_trace", "no_trace"), ("placebo", "placebo")):
        for other in (a for a in arms if head(a) == policy and a.budget == cut.budget):
            try:
                same, control, _ = matched(cut, other)
            except DataError:
                continue
            if same.n == cut.n:
                columns[name] = control.right
    return derivability(cut.right, without_trace=columns.get("without_trace"), placebo=columns.get("placebo"))


def _cuts(arms: Sequence[Arm]) -> ConditionalAdvantage | None:
    """The first family of split arms that was run at several caps, beside thinking at the same caps."""
    plain = thinking(arms)
    think = {a.budget: a for a in arms if a.method == plain and a.ended is not None and a.tokens is not None}
    families: dict[str, dict[int, Arm]] = {}
    for a in arms:
        if head(a) in _SPLITS and a.budget in think and not _divided(a):
            families.setdefault(a.method, {})[a.budget or 0] = a
    for family in families.values():
        caps = sorted(family)
        if len(caps) < 2:
            continue
        every = [family[b] for b in caps] + [think[b] for b in caps]
        # A log that names no stages gives the budget of its thinking pass.
        cuts = [budgets(family[b]).think or b for b in caps]
        try:
            base = every[0]
            for other in every[1:]:
                base, _, _ = matched(base, other)
            same = [matched(base, a)[1] for a in every]
        except DataError:
            continue
        longest, half = same[-1], len(caps)
        try:
            return conditional_advantage(
                cuts,
                longest.lengths,
                longest.ends,
                np.stack([a.right for a in same[:half]], axis=1),
                np.stack([a.right for a in same[half:]], axis=1),
            )
        except DataError:
            continue
    return None


def _divided(arm: Arm) -> bool:
    """One of several measured divisions of a total, as sweeps over the thinking share write them."""
    return arm.policy == "split" and {"think", "answer"} <= arm.options.keys()


def _two_by_two(arms: Sequence[Arm]) -> TwoByTwo | None:
    cells = {f"{a.options.get('mode')}_{a.options.get('context')}": a for a in arms if a.policy == "answer_pass"}
    names = ("think_neutral", "think_extraction", "nothink_neutral", "nothink_extraction")
    if not all(n in cells for n in names):
        return None
    rows = np.asarray(cells[names[0]].extra["stage"] == "answer")
    if not rows.any():
        return None
    return two_by_two(*(cells[n].right[rows] for n in names))
