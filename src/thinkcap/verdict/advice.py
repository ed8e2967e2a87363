"""Methods and advice in words: what each way of answering gets for its tokens, and which to take under a cap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thinkcap.diagnose.findings import ArmSummary, Findings, Replayed
from thinkcap.verdict.gains import gains
from thinkcap.verdict.words import Sentence, percent, points, small

if TYPE_CHECKING:
    from thinkcap.diagnose.diagnosis import Test

_CONTROLS = ("no_trace", "placebo")
"""Run to be compared with, not to be advised."""

_CLOSE_ENOUGH = 0.005
"""Half a point of accuracy is not worth more tokens: among such ways the cheapest is advised."""


def methods(found: Findings, tests: Sequence[Test]) -> list[Sentence]:
    """Methods made of several calls: how often right, at what cost, and what the answer pass recovers."""
    ways = [a for a in found.arms if a.policy not in (found.read_as, "nothink") or a.budget is None]
    said = []
    if ways and len(ways) <= 8:
        listed = [
            f"{a.name} {percent(a.accuracy.value)}"
            + (f" for {a.mean_tokens:.0f} tokens" if a.mean_tokens is not None else "")
            for a in ways
        ]
        said.append(
            Sentence(f"Right: {', '.join(listed)} (n = {ways[0].n}).", {a.name: a.accuracy.k for a in ways})
        )
    said += gains(found)
    square = found.splitting.mode_by_context
    if square is not None:
        said.append(
            Sentence(
                f"On {square.n} cut chains, leaving thinking mode and asking for the answer alone are together "
                f"worth {points(square.interaction)} points more than the two apart ({points(square.low)} to "
                f"{points(square.high)}).",
                {
                    "think_neutral": square.think_without,
                    "think_extraction": square.think_with,
                    "nothink_neutral": square.nothink_without,
                    "nothink_extraction": square.nothink_with,
                },
            )
        )
    names = {a.name for a in ways}
    mine = [t for t in tests if (t.model, t.task) == (found.model, found.task) and t.result is not None]
    made = [t for t in mine if t.first in names and t.second in names]
    for t in made if len(made) <= 6 else []:
        assert t.result is not None
        gap = t.result.test.difference
        clear = "clear" if (t.p_holm or 1) < 0.05 else "not clear"
        said.append(
            Sentence(
                f"{t.first} against {t.second}: {points(gap)} points ({points(t.result.low)} to "
                f"{points(t.result.high)}; {t.result.test.only_first}:{t.result.test.only_second}, "
                f"{small(t.p_holm or 1.0)} after Holm), {clear}.",
                {"difference": gap, "p": t.result.test.p, "p_holm": t.p_holm},
            )
        )
    return said


def _name(way: ArmSummary | Replayed) -> str:
    if isinstance(way, Replayed):
        return f"try {way.first} tokens without thinking and think up to {way.second} where that did not end"
    plain = {"nothink": "answer without thinking", "think": "think", "think[heuristic]": "think"}
    return plain.get(way.policy, way.name.partition("@")[0])


def _ways(found: Findings, cap: int) -> list[tuple[str, Any, float | None]]:
    """(name, accuracy, tokens) of all that fits the cap: measured arms at it, replayed cascades within it."""
    ways: list[tuple[str, Any, float | None]] = [
        (_name(a), a.accuracy, a.mean_tokens)
        for a in found.arms
        if a.budget == cap and a.policy.partition("(")[0] not in _CONTROLS
    ]
    ways += [(_name(c), c.accuracy, c.routing.mean_tokens) for c in found.cascades if c.first + c.second <= cap]
    return ways


def best_ways(found: Findings) -> list[tuple[int, str, Any, float | None]]:
    """(cap, name, accuracy, tokens) of the best way at every cap that leaves a choice."""
    caps = sorted({r.budget for r in found.budgets} or {a.budget for a in found.arms if a.budget})
    chosen: list[tuple[int, str, Any, float | None]] = []
    for cap in caps:
        ways = _ways(found, cap)
        # Advice is between ways of answering; two readings of the same answers are none.
        if len(ways) < 2 or not any(
            a.budget == cap and a.policy in (found.read_as, "nothink") for a in found.arms
        ):
            continue
        best = max(w[1].value for w in ways)
        close = [w for w in ways if w[1].value >= best - _CLOSE_ENOUGH]
        # A cost nobody stored may be the whole cap.
        name, accuracy, tokens = min(close, key=lambda w: cap if w[2] is None else w[2])
        chosen.append((cap, name, accuracy, tokens))
    return chosen


def advice(found: Findings) -> list[Sentence]:
    chosen = best_ways(found)
    said = []
    start: int | None = None
    for i, (cap, name, accuracy, tokens) in enumerate(chosen):
        start = start or cap
        if i + 1 < len(chosen) and chosen[i + 1][1] == name:
            continue
        span, at = (f"{cap}", "") if start == cap else (f"{start} to {cap}", f" at {cap}")
        said.append(
            Sentence(
                f"Under {span} tokens, {name}: {percent(accuracy.value)} "
                f"({points(accuracy.low)}-{points(accuracy.high)})"
                + ("" if tokens is None else f" for {tokens:.0f} tokens on average")
                + f"{at}.",
                {"from": start, "cap": cap, "k": accuracy.k, "n": accuracy.n, "tokens": tokens},
            )
        )
        start = None
        said += _split_note(found, cap, accuracy.value)
    return said


def _split_note(found: Findings, cap: int, best: float) -> list[Sentence]:
    """The best measured division of the cap with an answer pass of its own."""
    known = [d for d in found.splitting.optima if d.how == "split" and d.optimum.total == cap]
    sizes: tuple[int, int]
    if known:
        top = max(known, key=lambda d: d.accuracy.value or 0)
        sizes, accuracy = (top.optimum.best.reasoning, top.optimum.best.answer), top.accuracy
    else:
        alone = {s.split: s for s in found.splitting.matched_totals if s.reasoning + s.answer == cap}
        arm = next((a for a in found.arms if a.policy == "split" and a.name in alone), None)
        if arm is None:
            return []
        sizes, accuracy = (alone[arm.name].reasoning, alone[arm.name].answer), arm.accuracy
    value = accuracy.value or 0
    worth = "as good" if value >= best else f"{points(best - value)} points less"
    return [
        Sentence(
            f"The best split, {sizes[0]} + {sizes[1]}, expects {percent(value)} "
            f"({points(accuracy.low or 0)}-{points(accuracy.high or 0)}), {worth}.",
            {"k": accuracy.k, "n": accuracy.n, "reasoning": sizes[0], "answer": sizes[1]},
        )
    ]
