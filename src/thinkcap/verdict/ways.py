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
from thinkcap.verdict.words import Sentence, percent, points, signed, small, times, tokens

_FEW = 3
"""This many comparisons are shown without --details."""


def ways(found: Findings, comparisons: Comparisons, row: str = "question") -> list[Sentence]:
    """`row`: what a row is called; with several seeds pooled it is an `answer`, for a question has several."""
    said = _compared(found, comparisons)
    said += _recovered(found.splitting.extractions, row)
    said += [s for e in found.escalations for s in _escalation(e, row)]
    said += [_gate(g, row) for g in found.gates]
    said += _causes(found, row)
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
    """`iris(...)@144 scores 35.0 points higher than town(...)@112 (of 60 questions 21 won and 0 lost; ...)`."""
    test = c.result.test
    rows = times(c.result.questions, "question")
    if c.n > c.result.questions:
        rows = f"{times(c.n, 'answer')} to {rows}"
    counts = f"of {rows}, {test.only_first} won and {test.only_second} lost; {small(c.p_holm)}"
    counts += "; same cap" if c.matched_by == "cap" else "; same stages"
    if not c.clear:
        text = f"{c.first} and {c.second} cannot be told apart ({counts})."
    else:
        word = "higher" if c.difference > 0 else "lower"
        text = f"{c.first} scores {points(abs(c.difference))} points {word} than {c.second} ({counts})."
    return Sentence(text, c.to_dict(), detail=detail)


def _recovered(extractions: Sequence[Extraction], row: str) -> list[Sentence]:
    """What the answer pass wins back of what the coupled method lost; the largest share to everybody."""
    known = [e for e in extractions if not e.thinks_on]
    best = max(known, key=lambda e: (e.recoverable, e.split), default=None)
    said = [_extraction(e, row, detail=e is not best) for e in known]
    return said + [s for e in extractions for s in _theory(e)]


def _extraction(e: Extraction, row: str, *, detail: bool) -> Sentence:
    text = (
        f"On the {e.cut} of {times(e.n, row)} whose chain was cut, {e.split} gets "
        f"{percent(e.alpha_e)} right and {e.coupled} {percent(e.alpha_t)}"
    )
    figures = named(e, "cut", "n", "alpha_e", "alpha_t", "recoverable")
    if e.recovery is not None and e.direct is not None:
        lost = e.recovery.recoverable + e.recovery.residual
        figures |= named(e.recovery, "recoverable", "residual", tax=lost)
        if e.recovery.recoverable > 0 and lost > 0:
            rest = e.recovery.residual
            won = f"{points(e.recovery.recoverable)}; {points(rest)} remain lost"
            if rest < 0:
                won = f"all and gains {points(-rest)} more"
            text += f". Of the {points(lost)} points that {e.coupled} loses to {e.direct}, "
            text += f"the answer pass recovers {won}"
    return Sentence(text + ".", figures, detail=detail)


def _theory(e: Extraction) -> Iterable[Sentence]:
    """The inequality, its test on the other half, and what the chain itself is worth."""
    if e.modal is not None:
        m = e.modal
        holds = "should beat" if m.holds else "should not beat"
        seen = "" if e.observed is None else f", {signed(e.observed)} measured against {e.coupled}"
        yield Sentence(
            f"When the chain is cut at {tokens(e.cut_at or 0)}, answering at once ({e.split}) {holds} thinking "
            f"for {e.answer} more: {signed(m.margin)} points expected{seen}.",
            named(m, "delta", "pi_eta", "epsilon", "margin", alpha_c=m.alpha_c_plus, observed=e.observed),
            detail=True,
        )
    if e.halves is not None:
        fits = "agrees" if e.halves.consistent else "disagrees"
        yield Sentence(
            f"One half of the questions predicts that {e.split} differs from {e.coupled} by "
            f"{signed(e.halves.predicted)} points; the other half {fits} ({signed(e.halves.observed)}).",
            named(e.halves, "predicted", "observed"),
            detail=True,
        )
    found = e.derivability
    if found.pi is not None and not e.thinks_on:
        yield Sentence(
            f"The right answer appears in {percent(found.pi)} of the cut chains of {e.split}. The answer pass "
            f"gets {percent(found.eta)} of those right, and {percent(found.without_gold)} of the others.",
            named(found, "pi", "eta", "without_gold"),
            detail=True,
        )
    if found.trace_worth is not None and not e.thinks_on:
        yield Sentence(
            f"Asked in the same words without the chain, the model gets {percent(found.without_trace)} right: "
            f"the cut chain of {e.split} is worth {points(found.trace_worth)} points.",
            named(found, "without_trace", "placebo"),
            detail=True,
        )


def _escalation(e: Escalation, row: str) -> Iterable[Sentence]:
    known = next((a for a in e.against if a.net is not None), None)
    if known is not None and known.net is not None and known.test is not None:
        net = known.net
        spent = ""
        if e.cost is not None:
            spent = f" {e.cascade} spends {tokens(e.cost.measured)} on average, {e.cost.bound.most} at most."
        yield Sentence(
            f"The first try of {e.cascade} settles {e.accepted or 'none'} of {times(e.n, row)}. "
            f"Of {f'the other {e.escalated}' if e.accepted else 'these'}, "
            f"{e.cascade} gets {percent(net.cascade_on_hard)} right and {known.direct} "
            f"{percent(net.direct_on_hard)}.{spent}",
            named(e, "escalated", "n", gain=net.gain),
            detail=True,
        )
    rounds = e.convergence
    if rounds is not None and rounds.share_escalated is not None:
        yield Sentence(
            f"{e.cascade} thinks about {times(e.escalated, row)}, and two rounds agree on "
            f"{percent(rounds.share_escalated)} of them. It gets {percent(rounds.accuracy_converged)} of these "
            f"right and {percent(rounds.accuracy_open)} of the others.",
            named(rounds, "share_escalated", "share_all"),
            detail=True,
        )
    wrong = e.failures
    if wrong is not None and wrong.wrong:
        yield Sentence(
            f"{e.cascade} gave {times(wrong.wrong, 'wrong answer')}: {wrong.false_accept} accepted on the first "
            f"try, {wrong.still_wrong} wrong before and after thinking, {wrong.regression} right before thinking.",
            {"wrong": wrong.wrong, "F1": wrong.false_accept, "F2": wrong.still_wrong, "F3": wrong.regression},
            detail=True,
        )


def _gate(g: Gated, row: str) -> Sentence:
    sure, low = g.whole.confident, g.whole.low
    text = f"At least {g.threshold} samples of {g.vote} agree on {sure.n} of {times(g.whole.n, row)}"
    if low.n:
        text += (
            f". Of the other {low.n}, the vote gets {percent(low.first_right / low.n)} right and {g.other} "
            f"{percent(low.second_right / low.n)}"
        )
    return Sentence(text + ".", named(g.whole, "threshold", "n", "right", confident=sure.n), detail=True)


def _causes(found: Findings, row: str) -> list[Sentence]:
    parts = found.splitting
    said = [s for square in parts.mode_by_context for s in _square(square)]
    if parts.cuts is not None:
        known = [c for c in parts.cuts.survivors if c.advantage is not None]
        listed = ", ".join(f"{signed(c.advantage or 0)} at {c.cut} ({times(c.n, 'chain')})" for c in known)
        if known:
            text = f"Points gained by answering at once instead of thinking on, by the cut in tokens: {listed}."
            said.append(Sentence(text, {str(c.cut): c.advantage for c in known}, detail=True))
    said += [s for total in parts.matched_totals for s in _same_total(total, row)]
    for division in parts.optima:
        best = division.optimum.best
        said.append(
            Sentence(
                f"The best measured way for {division.how} to divide {tokens(division.optimum.total)} is "
                f"{best.reasoning} to think and {best.answer} to answer: {percent(division.accuracy.value)} "
                f"right.",
                named(best, "reasoning", "answer", total=division.optimum.total),
                detail=True,
            )
        )
    return said


def _square(square: ModeByContext) -> Iterable[Sentence]:
    cells = square.cells
    yield Sentence(
        f"{square.split} cut {times(cells.n, 'chain')}. Answering without thinking gets {cells.nothink_with} "
        f"right with the chain and {cells.nothink_without} without it; thinking gets {cells.think_with} with it "
        f"and {cells.think_without} without.",
        named(cells, "n", "interaction", "low", "high"),
        detail=True,
    )


def _same_total(s: SameTotal, row: str) -> Iterable[Sentence]:
    """The difference and its parts carry one sign: the split minus thinking with the same tokens."""
    if s.parts is None or s.test is None:
        return
    where = "" if s.population == "all" else f" on the {times(s.n, row)} its first try left open"
    word = "lower" if points(s.parts.total).startswith("-") else "higher"
    yield Sentence(
        f"{s.split} scores {points(abs(s.parts.total))} points {word} than {s.coupled}{where}: "
        f"{signed(s.parts.extraction)} from answering cut chains, {signed(s.parts.finishing)} because fewer "
        f"chains end, {signed(s.parts.selection)} because other chains end.",
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
        seen = "not measured there" if t.measured is None else f"measured: {signed(t.measured)}"
        said.append(
            Sentence(
                f"Going by {source}, {t.split} should change accuracy on {target} by {signed(t.predicted)} points "
                f"({seen}).",
                named(t, "predicted", "measured", "cut_share"),
                detail=True,
            )
        )
    return said
