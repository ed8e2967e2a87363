"""What methods made of several calls win, and why, in words: comparisons first, causes as details."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thinkcap.diagnose.document import named
from thinkcap.diagnose.escalation import Escalation
from thinkcap.diagnose.findings import Findings
from thinkcap.diagnose.gates import Gated
from thinkcap.diagnose.pairs import Comparison, Comparisons
from thinkcap.diagnose.splitting import Extraction, ModeByContext
from thinkcap.diagnose.totals import SameTotal
from thinkcap.diagnose.transfer import Transfer
from thinkcap.policies.registry import declared
from thinkcap.verdict.words import Sentence, percent, points, small, times, tokens

_FEW = 3
"""So many comparisons are said to everybody."""


def ways(found: Findings, comparisons: Comparisons) -> list[Sentence]:
    said = _compared(found, comparisons)
    said += _recovered(found.splitting.extractions)
    said += [s for e in found.escalations for s in _escalation(e)]
    said += [_gate(g) for g in found.gates]
    said += _causes(found)
    return said


def _compared(found: Findings, comparisons: Comparisons) -> list[Sentence]:
    """Methods against each other and against the plain modes, the clearest first; what is not clear is counted."""
    plain = {a.name for a in found.arms if declared(a.policy).plain}
    controls = {a.name for a in found.arms if a.control}
    made = [c for c in comparisons.made if not {c.first, c.second} <= plain and not {c.first, c.second} & controls]
    made.sort(key=lambda c: (c.p_holm, -abs(c.difference), c.first, c.second))
    clear = [c for c in made if c.clear]
    cascades = [c for c in made if c.matched_by == "stages" and not {c.first, c.second} & plain]
    telling = {id(c) for c in (*cascades[:_FEW], *clear[:1])}
    said = [compared(c, detail=id(c) not in telling) for c in made if c.clear or id(c) in telling]
    rest = len(made) - len(said)
    if rest:
        text = f"{times(rest, 'other pair')} of methods cannot be told apart."
        said.append(Sentence(text, {"pairs": rest}, detail=True))
    return said


def compared(c: Comparison, *, detail: bool) -> Sentence:
    """`iris(...)@144 gets 35.0 points more than town(...)@112 (21:0 ...)`."""
    test = c.result.test
    rows = times(c.result.questions, "question")
    if c.n > c.result.questions:
        rows = f"{times(c.n, 'answer')} to {rows}"
    counts = f"{test.only_first}:{test.only_second} of {rows}, {small(c.p_holm)}"
    counts += ", same cap" if c.matched_by == "cap" else ", same stages"
    if not c.clear:
        text = f"{c.first} and {c.second} cannot be told apart ({counts})."
    else:
        word = "more" if c.difference > 0 else "fewer"
        text = f"{c.first} gets {points(abs(c.difference))} points {word} than {c.second} ({counts})."
    return Sentence(text, c.to_dict(), detail=detail)


def _recovered(extractions: Sequence[Extraction]) -> list[Sentence]:
    """What the answer pass wins back of what the coupled method lost; the largest share to everybody."""
    known = [e for e in extractions if not e.thinks_on]
    best = max(known, key=lambda e: (e.recoverable, e.split), default=None)
    said = [_extraction(e, detail=e is not best) for e in known]
    return said + [s for e in extractions for s in _theory(e)]


def _extraction(e: Extraction, *, detail: bool) -> Sentence:
    text = (
        f"On the {e.cut} of {times(e.n, 'question')} whose chain was cut, {e.split} is right in "
        f"{percent(e.alpha_e)} and {e.coupled} in {percent(e.alpha_t)}"
    )
    figures = named(e, "cut", "n", "alpha_e", "alpha_t", "recoverable")
    if e.recovery is not None and e.direct is not None:
        lost = e.recovery.recoverable + e.recovery.residual
        figures |= named(e.recovery, "recoverable", "residual", tax=lost)
        if e.recovery.recoverable > 0 and lost > 0:
            rest = e.recovery.residual
            left = f"{points(rest)} remain" if rest >= 0 else f"{points(-rest)} more are won"
            text += (
                f": of the {points(lost)} points that {e.coupled} loses against {e.direct}, the answer pass wins "
                f"back {points(min(lost, e.recovery.recoverable))} and {left}"
            )
    return Sentence(text + ".", figures, detail=detail)


def _theory(e: Extraction) -> Iterable[Sentence]:
    """The inequality, its test on the other half, and what the chain itself is worth."""
    if e.modal is not None:
        m = e.modal
        holds = "should beat" if m.holds else "should not beat"
        seen = "" if e.observed is None else f"; seen: {points(e.observed)} against {e.coupled}"
        yield Sentence(
            f"At a cut of {tokens(e.cut_at or 0)}, answering at once ({e.split}) {holds} thinking on for "
            f"{e.answer}: {points(m.margin)} points expected{seen}.",
            named(m, "delta", "pi_eta", "epsilon", "margin", alpha_c=m.alpha_c_plus, observed=e.observed),
            detail=True,
        )
    if e.halves is not None:
        fits = "fits" if e.halves.consistent else "does not fit"
        yield Sentence(
            f"Predicted from one half of the questions, {e.split} gains {points(e.halves.predicted)} points over "
            f"{e.coupled}; the other half shows {points(e.halves.observed)}, which {fits}.",
            named(e.halves, "predicted", "observed"),
            detail=True,
        )
    found = e.derivability
    if found.pi is not None and not e.thinks_on:
        yield Sentence(
            f"The right answer stands in {percent(found.pi)} of the cut chains of {e.split}; there the answer "
            f"pass is right in {percent(found.eta)}, elsewhere in {percent(found.without_gold)}.",
            named(found, "pi", "eta", "without_gold"),
            detail=True,
        )
    if found.trace_worth is not None and not e.thinks_on:
        yield Sentence(
            f"Asked in the same words without the chain, the model is right in {percent(found.without_trace)}: "
            f"the cut chain of {e.split} is worth {points(found.trace_worth)} points.",
            named(found, "without_trace", "placebo"),
            detail=True,
        )


def _escalation(e: Escalation) -> Iterable[Sentence]:
    known = next((a for a in e.against if a.net is not None), None)
    if known is not None and known.net is not None and known.test is not None:
        net = known.net
        spent = ""
        if e.cost is not None:
            spent = f" It spends {tokens(e.cost.measured)} on average, {e.cost.bound.most} at most."
        yield Sentence(
            f"The first try of {e.cascade} leaves {e.escalated} of {times(e.n, 'question')} open; there it is "
            f"right in {percent(net.cascade_on_hard)} and {known.direct} in {percent(net.direct_on_hard)}.{spent}",
            named(e, "escalated", "n", gain=net.gain),
            detail=True,
        )
    rounds = e.convergence
    if rounds is not None and rounds.share_escalated is not None:
        yield Sentence(
            f"Two rounds of {e.cascade} agree on {percent(rounds.share_escalated)} of the {e.escalated} questions "
            f"it thinks about: right in {percent(rounds.accuracy_converged)} of these and in "
            f"{percent(rounds.accuracy_open)} of the others.",
            named(rounds, "share_escalated", "share_all"),
            detail=True,
        )
    wrong = e.failures
    if wrong is not None and wrong.wrong:
        yield Sentence(
            f"Of {times(wrong.wrong, 'wrong answer')} of {e.cascade}, {wrong.false_accept} were accepted at "
            f"the first try, {wrong.still_wrong} were wrong before and after thinking, and {wrong.regression} had "
            f"been right.",
            {"wrong": wrong.wrong, "F1": wrong.false_accept, "F2": wrong.still_wrong, "F3": wrong.regression},
            detail=True,
        )


def _gate(g: Gated) -> Sentence:
    sure, low = g.whole.confident, g.whole.low
    text = f"At least {g.threshold} samples of {g.vote} agree on {sure.n} of {times(g.whole.n, 'question')}"
    if low.n:
        text += (
            f"; on the other {low.n} the vote is right in {percent(low.first_right / low.n)} and {g.other} in "
            f"{percent(low.second_right / low.n)}"
        )
    return Sentence(text + ".", named(g.whole, "threshold", "n", "right", confident=sure.n), detail=True)


def _causes(found: Findings) -> list[Sentence]:
    parts = found.splitting
    said = [s for square in parts.mode_by_context for s in _square(square)]
    if parts.cuts is not None:
        known = [c for c in parts.cuts.survivors if c.advantage is not None]
        listed = ", ".join(f"{points(c.advantage or 0)} at {c.cut} ({times(c.n, 'chain')})" for c in known)
        if known:
            text = f"Points that answering at once gains over thinking on, by where the chain is cut: {listed}."
            said.append(Sentence(text, {str(c.cut): c.advantage for c in known}, detail=True))
    said += [s for total in parts.matched_totals for s in _same_total(total)]
    for division in parts.optima:
        best = division.optimum.best
        said.append(
            Sentence(
                f"Of the measured divisions of {tokens(division.optimum.total)} ({division.how}), "
                f"{best.reasoning} + {best.answer} is best: right in {percent(division.accuracy.value)}.",
                named(best, "reasoning", "answer", total=division.optimum.total),
                detail=True,
            )
        )
    return said


def _square(square: ModeByContext) -> Iterable[Sentence]:
    cells = square.cells
    yield Sentence(
        f"On {times(cells.n, 'cut chain')} of {square.split}, not thinking gets {cells.nothink_with} right "
        f"with the chain and {cells.nothink_without} without it; thinking gets {cells.think_with} and "
        f"{cells.think_without}.",
        named(cells, "n", "interaction", "low", "high"),
        detail=True,
    )


def _same_total(s: SameTotal) -> Iterable[Sentence]:
    """The difference and its parts carry one sign: the split minus thinking with the same tokens."""
    if s.parts is None or s.test is None:
        return
    where = "" if s.population == "all" else f" on the {s.n} questions its first try left open"
    yield Sentence(
        f"{s.split} minus {s.coupled}{where}: {points(s.parts.total)} points, of which "
        f"{points(s.parts.extraction)} come from answering cut chains, {points(s.parts.finishing)} from letting "
        f"fewer chains end and {points(s.parts.selection)} from which chains end.",
        named(s.parts, "extraction", "finishing", "selection", difference=s.parts.total),
        detail=True,
    )


def carried(transfers: Sequence[Transfer]) -> list[Sentence]:
    """For every two models or tasks the split with the largest predicted gain, checked ones first."""
    pairs: dict[tuple[str, str], list[Transfer]] = {}
    for t in transfers:
        if t.predicted is not None:
            pairs.setdefault((t.source, t.target), []).append(t)
    said = []
    for (source, target), group in pairs.items():
        t = max(group, key=lambda t: (t.measured is not None, abs(t.predicted or 0), t.split))
        assert t.predicted is not None
        seen = "not measured there" if t.measured is None else f"measured: {points(t.measured)}"
        said.append(
            Sentence(
                f"Going by {source}, {t.split} should gain {points(t.predicted)} points on {target} ({seen}).",
                named(t, "predicted", "measured", "cut_share"),
                detail=True,
            )
        )
    return said
