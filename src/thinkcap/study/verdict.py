"""The diagnosis in plain words: short sentences, each with the numbers it stands on.

Words come last and decide nothing: every figure is one of the findings. What cannot be said is said to be so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thinkcap.study.findings import ArmSummary, AtBudget, Findings, Replayed

if TYPE_CHECKING:
    from thinkcap.diagnose.survival import Comparison
    from thinkcap.study.diagnosis import Repeat, Test

_CLOSE_ENOUGH = 0.005
"""Half a point of accuracy is not worth more tokens: among such ways the cheapest is advised."""


@dataclass(frozen=True)
class Sentence:
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


def verdict(
    findings: Sequence[Findings],
    tests: Sequence[Test],
    repeats: Sequence[Repeat],
    models: Mapping[str, Comparison],
) -> tuple[Sentence, ...]:
    said: list[Sentence] = []
    for found in findings:
        if len(findings) > 1:
            said.append(Sentence(f"{found.model or 'Unnamed model'}, {found.task or 'unnamed task'}:"))
        said += _losses(found)
        said += _lengths(found)
        said += _crossover(found)
        said += _methods(found, tests)
        said += _advice(found)
    said += [_models(name, result) for name, result in models.items()]
    said += [_repeat(r) for r in repeats]
    said += _refusals(tests)
    return tuple(said)


def points(value: float) -> str:
    return f"{100 * value + 0.0:.1f}".replace("-0.0", "0.0") if abs(value) < 5e-4 else f"{100 * value:.1f}"


def percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.1f} %"


def small(p: float) -> str:
    return f"p = {p:.2g}" if p >= 1e-4 else f"p = {p:.0e}"


def _losses(found: Findings) -> list[Sentence]:
    if not found.budgets:
        return _one_mode(found)
    rows = found.budgets
    if len(rows) > 4:
        # The worst, the first, the last and the one before thinking catches up say it all.
        worst = max(rows, key=lambda r: r.difference.test.difference)
        losing = [r for r in rows if r.difference.test.difference > 0]
        keep = {id(r) for r in (rows[0], worst, *(losing[-1:]), rows[-1])}
        rows = tuple(r for r in rows if id(r) in keep)
    return [_loss(r) for r in rows]


def _one_mode(found: Findings) -> list[Sentence]:
    said = []
    modes = {a.policy.partition("[")[0] for a in found.arms if a.budget is not None}
    for arm in [a for a in found.arms if a.parts is not None and a.policy == "think"][-3:]:
        assert arm.parts is not None
        said.append(
            Sentence(
                f"At {arm.budget} tokens thinking is right in {percent(arm.accuracy.value)} "
                f"({points(arm.accuracy.low or 0)}-{points(arm.accuracy.high or 0)}); "
                f"{percent(1 - arm.parts.ended_share)} of chains are cut; those that end are right in "
                f"{percent(arm.parts.alpha_c)}, those cut in {percent(arm.parts.alpha_t)}.",
                {
                    "ended": arm.parts.ended,
                    "n": arm.n,
                    "right_ended": arm.parts.right_ended,
                    "right_cut": arm.parts.right_cut,
                },
            )
        )
    if "think" in modes and "nothink" not in modes:
        said.append(Sentence("No run without thinking is in these records, so what thinking costs is not known."))
    elif "nothink" in modes and "think" not in modes:
        said.append(Sentence("No thinking run is in these records, so what thinking costs is not known."))
    return said


def _loss(row: AtBudget) -> Sentence:
    gap, test = row.difference.test.difference, row.difference.test
    low, high = row.difference.low, row.difference.high
    where = f"At {row.budget} tokens thinking"
    if test.p >= 0.05:
        span = f"({points(-high)} to {points(-low)})"
        head = f"{where} makes no clear difference: {points(-gap)} points {span}"
    else:
        ends = (low, high) if gap > 0 else (-high, -low)
        span = f"({points(ends[0])} to {points(ends[1])}, {small(test.p)})"
        head = f"{where} {'loses' if gap > 0 else 'gains'} {points(abs(gap))} points {span}"
    numbers: dict[str, Any] = {
        "budget": row.budget,
        "tax": gap,
        "low": low,
        "high": high,
        "p": test.p,
        "only_nothink": test.only_first,
        "only_think": test.only_second,
        "n": test.n,
    }
    cost = row.tax
    if cost is None:
        return Sentence(head + "; the log does not tell which chains were cut, so the cause is unknown.", numbers)
    cut = f"{100 * (1 - cost.think.ended_share):.0f} % of chains are cut"
    numbers |= {
        "cut_share": 1 - cost.think.ended_share,
        "alpha_c": cost.think.alpha_c,
        "alpha_t": cost.think.alpha_t,
        "truncation_loss": cost.truncation_loss,
        "reasoning_gap": cost.reasoning_gap,
        "regime": cost.regime,
    }
    if cost.truncation_loss is None or cost.reasoning_gap is None:
        return Sentence(f"{head}; {cut}: none ended, so the loss cannot be split by cause.", numbers)
    what = "of the loss" if gap > 0 else "of the difference"
    loss, gap_points = points(cost.truncation_loss), points(cost.reasoning_gap)
    causes = f"{what} {loss} points are truncation and {gap_points} are reasoning"
    if cost.same_subset is not None:
        numbers["same_subset"] = [cost.same_subset.ended, cost.same_subset.cut]
        causes += (
            f" (on the same questions: {points(cost.same_subset.cut)} where the chain was cut, "
            f"{points(cost.same_subset.ended)} where it ended)"
        )
    return Sentence(f"{head}; {cut}; {causes}.", numbers)


def _lengths(found: Findings) -> list[Sentence]:
    if found.lengths is None:
        return []
    curve, b = found.lengths.curve, found.lengths.budget
    low, high = curve.quantile_interval()
    numbers = {"median": curve.median, "low": low, "high": high, "censored": curve.censored, "n": curve.n}
    running = f"{100 * curve.censored / curve.n:.0f} % were still running at {b}"
    if curve.median is None:
        text = f"Fewer than half of the chains end within {b} tokens: the median length is beyond that; {running}."
    else:
        top = f"{high:.0f}" if high is not None else f"beyond {b}"
        bottom = f"{low:.0f}" if low is not None else "0"
        text = f"Half of the chains end within {curve.median:.0f} tokens ({bottom} to {top}); {running}."
    said = [Sentence(text, numbers)]
    test = found.lengths.decreasing_tail
    if test is not None and test.p < 0.05:
        said.append(
            Sentence(
                f"Beyond {test.beyond} tokens a chain is ever less likely to end soon (Weibull shape "
                f"{test.shape:.2f}, {small(test.p)}); easy and hard questions pooled can look like this too.",
                {"shape": test.shape, "p": test.p, "beyond": test.beyond},
            )
        )
    return said


def _crossover(found: Findings) -> list[Sentence]:
    if found.crossover is None or not found.budgets:
        return []
    seen, last = found.crossover, found.budgets[-1]
    numbers: dict[str, Any] = {
        "low": seen.low,
        "high": seen.high,
        "point": seen.point,
        "interval": list(seen.interval),
        "status": seen.status,
    }
    if found.multiplier is not None:
        numbers |= {"gamma": found.multiplier.gamma, "saturation": found.multiplier.saturation}
    if seen.status == "between":
        low = f"{seen.low:.0f}" if seen.low is not None else f"below {found.budgets[0].budget}"
        high = f"{seen.high:.0f}" if seen.high is not None else f"beyond {last.budget}"
        span = f" (95 %: {low} to {high})" if seen.level is not None else ""
        return [
            Sentence(
                f"Thinking breaks even at about {seen.point:.0f} tokens{span}: it still loses at "
                f"{seen.last_losing} and no longer at {seen.first_paying}.",
                numbers,
            )
        ]
    if seen.status == "before":
        return [
            Sentence(f"Thinking loses at none of the budgets run, from {seen.first_paying} tokens on.", numbers)
        ]
    text = f"Thinking has not caught up by {last.budget} tokens"
    guess = last.predicted
    if guess is not None:
        numbers |= {"predicted": guess.status, "needed_share": guess.needed_share}
        if guess.status == "none":
            return [
                Sentence(
                    f"{text}, and no budget would be enough: {percent(guess.needed_share)} of chains would "
                    f"have to end for a draw.",
                    numbers,
                )
            ]
        if guess.status == "beyond":
            text += (
                f"; {percent(guess.needed_share)} of chains would have to end, which is beyond what was observed"
            )
    return [Sentence(text + ".", numbers)]


def _methods(found: Findings, tests: Sequence[Test]) -> list[Sentence]:
    """Methods made of several calls: how often right, at what cost, and what the answer pass recovers."""
    ways = [a for a in found.arms if a.policy not in ("think", "nothink") or a.budget is None]
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
    for e in found.extractions:
        said.append(
            Sentence(
                f"On the {e.cut} of {e.n} chains that were cut, a separate answer pass ({e.split}) is right in "
                f"{percent(e.alpha_e)}, the cut chain itself ({e.coupled}) in {percent(e.alpha_t)}: splitting "
                f"recovers {points(e.recoverable)} points ({e.test.only_first}:{e.test.only_second}, "
                f"{small(e.test.p)}).",
                {"cut": e.cut, "n": e.n, "alpha_e": e.alpha_e, "alpha_t": e.alpha_t, "p": e.test.p},
            )
        )
    names = {a.name for a in ways}
    made = [t for t in tests if t.result is not None and t.first in names and t.second in names]
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
    plain = {"nothink": "answer without thinking", "think": "think"}
    return plain.get(way.policy, way.name.partition("@")[0])


def _ways(found: Findings, cap: int) -> list[tuple[str, Any, float]]:
    """(name, accuracy, tokens) of all that fits the cap: measured arms at it, replayed cascades within it."""
    ways = [
        (_name(a), a.accuracy, a.mean_tokens or float(cap))
        for a in found.arms
        if a.budget == cap and a.policy not in ("town", "iris")
    ]
    ways += [(_name(c), c.accuracy, c.routing.mean_tokens) for c in found.cascades if c.first + c.second <= cap]
    return ways


def _advice(found: Findings) -> list[Sentence]:
    caps = sorted({r.budget for r in found.budgets} or {a.budget for a in found.arms if a.budget})
    chosen: list[tuple[int, str, Any, float]] = []
    for cap in caps:
        ways = _ways(found, cap)
        # Advice is between ways of answering; two readings of the same answers are none.
        if len(ways) < 2 or not any(a.budget == cap and a.policy in ("think", "nothink") for a in found.arms):
            continue
        best = max(w[1].value for w in ways)
        name, accuracy, tokens = min((w for w in ways if w[1].value >= best - _CLOSE_ENOUGH), key=lambda w: w[2])
        chosen.append((cap, name, accuracy, tokens))
    said = []
    for i, (cap, name, accuracy, tokens) in enumerate(chosen):
        if i + 1 < len(chosen) and chosen[i + 1][1] == name:
            continue
        said.append(
            Sentence(
                f"Under {cap} tokens, {name}: {percent(accuracy.value)} "
                f"({points(accuracy.low)}-{points(accuracy.high)}) for {tokens:.0f} tokens on average.",
                {"cap": cap, "k": accuracy.k, "n": accuracy.n, "tokens": tokens},
            )
        )
        said += _split_note(found, cap, accuracy.value)
    return said


def _split_note(found: Findings, cap: int, best: float) -> list[Sentence]:
    splits = [a for a in found.arms if a.budget == cap and a.policy.startswith("split")]
    if not splits:
        return []
    top = max(splits, key=lambda a: a.accuracy.value or 0)
    low, high = points(top.accuracy.low or 0), points(top.accuracy.high or 0)
    sizes = top.name.removeprefix("split ").partition("@")[0]
    worth = (
        "as good"
        if (top.accuracy.value or 0) >= best
        else f"{points(best - (top.accuracy.value or 0))} points less"
    )
    return [
        Sentence(
            f"The best split, {sizes}, expects {percent(top.accuracy.value)} ({low}-{high}), {worth}.",
            {"k": top.accuracy.k, "n": top.n},
        )
    ]


def _models(name: str, result: Comparison) -> Sentence:
    first, _, second = name.partition(" then ")
    word = "longer" if result.logrank_z > 0 else "shorter"
    clear = (
        f"{second}'s chains are {word} than {first}'s"
        if result.logrank_p_two_sided < 0.05
        else f"{first}'s and {second}'s chains are of no clearly different length"
    )
    order = " at every length observed" if result.dominates and word == "longer" else ""
    return Sentence(
        f"{clear}{order} (log-rank {small(result.logrank_p_two_sided)}, up to {result.until:.0f} tokens).",
        {"z": result.logrank_z, "p": result.logrank_p_two_sided, "violation": result.largest_violation},
    )


def _repeat(repeat: Repeat) -> Sentence:
    found = repeat.flips
    why = (
        "one-sided, so something changed between them (hardware, prompt or parser), it is not noise"
        if found.systematic
        else "both ways alike"
    )
    return Sentence(
        f"Two runs of {repeat.arm} differ on {found.flipped} of {found.test.n} questions "
        f"({found.test.only_first}:{found.test.only_second}, {small(found.test.p)}): {why}.",
        {"first": repeat.first, "second": repeat.second, "flipped": found.flipped, "n": found.test.n},
    )


def _refusals(tests: Sequence[Test]) -> list[Sentence]:
    refused = [t for t in tests if t.refused]
    if not refused:
        return []
    first = refused[0]
    return [
        Sentence(
            f"{len(refused)} paired comparison{'s were' if len(refused) > 1 else ' was'} refused; "
            f"{first.first} and {first.second}: {first.refused}.",
            {"refused": len(refused)},
        )
    ]
