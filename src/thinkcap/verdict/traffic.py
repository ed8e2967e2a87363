"""Answers that nobody judged, in words: what was lost, what it cost, what other caps would do, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from thinkcap.diagnose.document import named
from thinkcap.diagnose.simulating import Simulated
from thinkcap.diagnose.traffic import Spent, Traffic
from thinkcap.statistics.capped import UnderCap
from thinkcap.statistics.precision import Proportion
from thinkcap.verdict.words import Sentence, percent, points, times, tokens

_SURE = 0.95


def lost(found: Traffic) -> list[Sentence]:
    """The first words: how many answers were lost, and what was paid for them."""
    name = f"{found.model or 'Unnamed model'}{', held by a policy' if found.held else ''}: "
    if not found.lost.n:
        return [
            Sentence(
                f"{name}the log records neither how its {times(found.rows, 'answer')} ended nor what they said, "
                f"so cut and empty answers cannot be counted."
            )
        ]
    parts = []
    if found.cut.n:
        parts.append(f"{_were(found.cut.k)} cut by their cap ({percent(found.cut.value)})")
    if found.empty.n:
        parts.append(f"{_were(found.empty.k)} empty ({percent(found.empty.value)})")
    text = f"{name}of {times(found.rows, 'answer')}, {' and '.join(parts)}."
    figures = named(found, "rows", "failed", cut=found.cut.k, empty=found.empty.k, lost=found.lost.k)
    if found.lost.k and found.all.tokens:
        share = found.on_lost.tokens / found.all.tokens
        these = f"These {found.lost.k}" if found.lost.k > 1 else "It"
        text += f" {these} took {percent(share)} of all tokens written{_money(found.on_lost, found.all)}."
        figures |= {"tokens_lost": found.on_lost.tokens, "tokens": found.all.tokens, "money": found.on_lost.money}
    return [Sentence(text, figures)]


def _were(count: int) -> str:
    return f"{count} {'was' if count == 1 else 'were'}"


def _money(part: Spent, whole: Spent) -> str:
    if part.money is None or whole.money is None:
        return ""
    return f" and cost {part.money:,.2f} of {whole.money:,.2f}"


def caps(found: Traffic) -> Iterator[Sentence]:
    """The curve, and what share would end under other caps."""
    curve = found.curve
    if curve is None:
        yield Sentence("No reply has both a token count and a finish reason, so lengths are unknown.")
        return
    low, high = curve.quantile_interval()
    if curve.median is None:
        text = f"Fewer than half of the answers ended within {tokens(curve.last or 0)}, the longest seen."
    else:
        top = f"{high:,.0f}" if high is not None else f"beyond {curve.last:,.0f}"
        text = f"Half of the answers end within {tokens(curve.median)} ({low or 0:,.0f} to {top})."
    yield Sentence(text, named(curve, "median", "censored", "n", low=low, high=high))
    seen = [u for u in found.under if u.seen]
    telling = {u.cap for u in seen[-4:]}
    yield from (_under(u, detail=u.cap not in telling) for u in seen)
    running = 1 - curve.at(curve.last or 0)
    if curve.censored and running > 0:
        yield Sentence(
            f"Nothing was observed beyond {tokens(curve.last or 0)}: {percent(running)} of answers would still be "
            f"running there, and when they would end is unknown.",
            {"last": curve.last, "running": running},
        )
    if curve.censored:
        yield Sentence(
            "This assumes that answers cut early would have gone on like the others. If callers with small caps "
            "ask for different things, diagnose each caller separately.",
            detail=True,
        )


def _under(u: UnderCap, *, detail: bool) -> Sentence:
    # What every answer tells by itself is counted, and needs no interval.
    ends = f" ({points(u.low)} to {points(u.high)})" if u.open else ""
    cost = f" ({u.tokens_low:,.0f} to {u.tokens_high:,.0f})" if u.open else ""
    return Sentence(
        f"Under {tokens(u.cap)}, {percent(u.share)} would end{ends} and take {tokens(u.tokens)} on average{cost}.",
        named(u, "cap", "share", "low", "high", "tokens", "tokens_low", "tokens_high"),
        detail=detail,
    )


def callers(found: Traffic) -> list[Sentence]:
    """Who lost most answers; the next ones are details."""
    said = [
        Sentence(
            f"{c.name or 'Callers without a name'} lost {c.lost.k} of {times(c.lost.n, 'answer')}{_span(c.lost)}, "
            f"{tokens(c.tokens_lost)}.",
            {"caller": c.name, "lost": c.lost.k, "n": c.lost.n, "tokens_lost": c.tokens_lost},
        )
        for c in found.callers
        if c.lost.k
    ]
    return [*said[:3], *(replace(s, detail=True) for s in said[3:])]


def _span(share: Proportion) -> str:
    return f" ({percent(share.value)}; {points(share.low or 0)} to {points(share.high or 0)})"


def advice(found: Traffic, *, labelled: bool = False) -> Iterator[Sentence]:
    """What to do, and what is missing for more."""
    if found.lost.k and found.curve is not None and found.enough is not None:
        yield Sentence(
            f"Give {found.model or 'this model'} {tokens(found.enough)}: {percent(_SURE)} of answers end within "
            f"that cap, with 95 % confidence.",
            {"cap": found.enough},
        )
    elif found.lost.k and found.curve is not None:
        yield Sentence(
            f"No cap observed so far is sure to let {percent(_SURE)} of answers end. Let some answers run beyond "
            f"{tokens(found.curve.last or 0)} before you choose a cap."
        )
    if found.empty.k:
        yield Sentence(
            "If the cap must stay, `thinkcap serve` ends the thought in time and answers within the same "
            "tokens, so no answer is empty."
        )
    if not labelled:
        yield Sentence(
            "No answer here has been judged, so accuracy is unknown. Add a column `gold`, and answers are graded; "
            "or let `thinkcap sample` draw answers worth labelling from a journal with texts."
        )


def simulated(found: Simulated) -> Iterator[Sentence]:
    """One cap for everybody beside what was: who ends, what it costs, and what is assumed."""
    u, n = found.under, found.answers
    was = percent(found.ended / n)
    ends = f" ({points(u.low)} to {points(u.high)})" if u.open else ""
    text = f"{found.model or 'Unnamed model'}: {was} of {times(n, 'answer')} ended; under {tokens(u.cap)}, "
    text += f"{percent(u.share)} would{ends}." if u.seen else f"{points(u.low)} to {points(u.high)} % would."
    cost = f"They wrote {tokens(found.tokens)}; under that cap they would write {u.tokens * n:,.0f}"
    cost += f" ({u.tokens_low * n:,.0f} to {u.tokens_high * n:,.0f})" if u.open else ""
    before, after = found.money(found.tokens), found.money(u.tokens * n)
    if before is not None and after is not None:
        cost += f", {after:,.2f} instead of {before:,.2f} for output"
    yield from (Sentence(text), Sentence(f"{cost}."))
    if u.open:
        yield Sentence(
            f"{u.open} answers were cut before {tokens(u.cap)}. They are assumed to go on like the others, hence "
            f"the 95 % intervals."
        )
    if not u.seen:
        yield Sentence("No observed answer is that long, so these are bounds, not estimates.")
