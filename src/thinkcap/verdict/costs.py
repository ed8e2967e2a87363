"""What a cap costs, how long chains are and when thinking catches up, in words."""

from __future__ import annotations

from typing import Any

from thinkcap.diagnose.document import named
from thinkcap.diagnose.findings import ArmSummary, AtBudget, Findings
from thinkcap.verdict.headline import interval
from thinkcap.verdict.words import Sentence, percent, points, small, times, tokens


def losses(found: Findings) -> list[Sentence]:
    """The largest and the last difference; the others are details."""
    if not found.budgets:
        return _one_mode(found)
    telling = {max(found.budgets, key=lambda r: abs(r.comparison.difference)).budget, found.budgets[-1].budget}
    return [_loss(r, detail=r.budget not in telling) for r in found.budgets]


def _one_mode(found: Findings) -> list[Sentence]:
    modes = {a.policy.partition("[")[0] for a in found.arms if a.budget is not None}
    said = [_alone(a) for a in found.arms if a.parts is not None and a.method == found.read_as][-3:]
    if "think" in modes and "nothink" not in modes:
        said.append(Sentence("These records hold no run without thinking, so the cost of thinking is unknown."))
    elif "nothink" in modes and "think" not in modes:
        said.append(Sentence("These records hold no run with thinking, so the cost of thinking is unknown."))
    elif not any(a.method == "nothink" for a in found.arms) and "nothink" in modes:
        ways = sorted({a.method for a in found.arms if a.policy == "nothink"})
        said.append(
            Sentence(
                f"Answering without thinking was run as {' and '.join(ways)} only, never as plain nothink; "
                f"--json compares each of them with thinking."
            )
        )
    elif modes >= {"think", "nothink"}:
        said.append(Sentence("The two modes were not run at the same cap on the same questions."))
    return said


def _alone(arm: ArmSummary) -> Sentence:
    parts = arm.parts
    assert parts is not None
    return Sentence(
        f"{_where(arm.budget)} gets {percent(arm.accuracy.value)} right "
        f"({points(arm.accuracy.low or 0)} to {points(arm.accuracy.high or 0)}); {percent(1 - parts.ended_share)} "
        f"of chains are cut.{_by_end(parts.alpha_c, parts.alpha_t)}",
        named(parts, "ended", "n", "right_ended", "right_cut"),
    )


def _where(budget: int | None) -> str:
    return (
        "Under a cap that the log does not name, thinking" if budget is None else f"At {budget} tokens, thinking"
    )


def _by_end(ended: float | None, cut: float | None) -> str:
    """Nothing where all chains ended or all were cut: the sentence before has said it."""
    if ended is None or cut is None:
        return ""
    return f" Of the chains that end, {percent(ended)} are right; of those that are cut, {percent(cut)}."


def _loss(row: AtBudget, *, detail: bool) -> Sentence:
    """Thinking minus not thinking: the whole and its parts carry one sign."""
    found = row.comparison.turned()
    gap, low, high = found.difference, found.result.low, found.result.high
    figures = named(found, "difference", "p_holm", "n", budget=row.budget, low=low, high=high)
    where, span = _where(row.budget), f"{points(low)} to {points(high)}"
    if not found.clear:
        # Each interval is of one comparison, the p of all: an interval without 0 may stand beside a large p.
        before, after = (" before correction", " after it") if low > 0 or high < 0 else ("", "")
        sure = f"{span}{before}; {small(found.p_holm)}{after}"
        text = f"{where} makes no clear difference: {points(gap)} points ({sure})"
        if found.least_detectable is not None:
            asked = times(found.result.questions, "question")
            text += f"; {asked} can show a difference of {points(found.least_detectable)} points or more"
    else:
        if gap < 0:
            span = f"{points(-high)} to {points(-low)}"
        verb = "loses" if gap < 0 else "gains"
        text = f"{where} {verb} {points(abs(gap))} points ({span}; {small(found.p_holm)})"
    if row.tax is None:
        return Sentence(f"{text}. The log does not say which chains were cut.", figures, detail=detail)
    figures["cut_share"] = 1 - row.tax.think.ended_share
    text += f". {percent(figures['cut_share'])} of chains are cut"
    same = row.tax.same_subset
    if found.clear:
        figures |= {"where_cut": -same.cut, "where_ended": -same.ended}
        text += f": thinking {_change(-same.cut)} where they are cut and {_change(-same.ended)} where they end"
    return Sentence(text + ".", figures, detail=detail)


def _change(gap: float) -> str:
    if points(gap) == "0.0":
        return "changes nothing"
    return f"{'gains' if gap > 0 else 'loses'} {points(abs(gap))} points"


def lengths(found: Findings, family: int = 1) -> list[Sentence]:
    """`family`: how many such curves a verdict speaks of, so that what is said holds for all of them together."""
    if found.lengths is None:
        return []
    curve, b = found.lengths.curve, found.lengths.budget
    low, high = curve.quantile_interval()
    running = f"{percent(curve.censored / curve.n)} were still running at {b}"
    if curve.median is None:
        text = f"Fewer than half of the chains end within {tokens(b)}; {running}."
    else:
        top = f"{high:.0f}" if high is not None else f"beyond {b}"
        bottom = f"{low:.0f}" if low is not None else "0"
        text = f"Half of the chains end within {tokens(curve.median)} ({bottom} to {top}); {running}."
    said = [Sentence(text, named(curve, "median", "censored", "n", low=low, high=high))]
    tail = found.lengths.decreasing_tail
    if tail is not None and tail.p * family < 0.05 and tail.shape < 1:
        said.append(
            Sentence(
                f"Beyond {tokens(tail.beyond)}, the longer a chain has run the less likely it is to end soon "
                f"(Weibull shape {tail.shape:.2f}). A mix of easy and hard questions looks like this too.",
                named(tail, "shape", "beyond"),
                detail=True,
            )
        )
    return said


def crossover(found: Findings) -> list[Sentence]:
    """Where the two curves cross, whether or not a difference is clear on either side."""
    seen = found.crossover
    if seen is None or not found.budgets:
        return []
    last = found.budgets[-1].budget
    figures = named(seen, "low", "high", "point", "status")
    if seen.status == "between":
        text = (
            f"The two accuracies cross at about {seen.point:.0f} tokens{interval(seen)}, between "
            f"{seen.last_losing} and {seen.first_paying}."
        )
    elif seen.status == "before":
        text = f"Thinking is at least as accurate at every cap run, from {tokens(seen.first_paying or 0)} on."
    else:
        text = f"Thinking is still less accurate at {tokens(last)}, the largest cap run{_outlook(found, figures)}."
    return [Sentence(text, figures, detail=True)]


def _outlook(found: Findings, figures: dict[str, Any]) -> str:
    guess = found.budgets[-1].predicted
    if guess is None or guess.status not in ("none", "beyond"):
        return ""
    figures |= {"predicted": guess.status, "needed_share": guess.needed_share}
    if guess.status == "none":
        return "; even if every chain ended, it would not catch up"
    return f"; it would catch up once {percent(guess.needed_share)} of chains ended"
