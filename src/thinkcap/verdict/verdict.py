"""The diagnosis in plain words: short sentences, each with the numbers it stands on.

Words come last and decide nothing: every figure is one of the findings. What cannot be said is said to be so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thinkcap.diagnose.findings import AtBudget, Findings
from thinkcap.statistics.paired import least_detectable
from thinkcap.verdict.advice import advice, methods
from thinkcap.verdict.gains import carried
from thinkcap.verdict.headline import headline
from thinkcap.verdict.origin import repeated
from thinkcap.verdict.words import Sentence, percent, points, small

if TYPE_CHECKING:
    from thinkcap.diagnose.diagnosis import Repeat, Test
    from thinkcap.diagnose.transfer import Transfer
    from thinkcap.statistics.survival import Comparison


def verdict(
    findings: Sequence[Findings],
    tests: Sequence[Test],
    repeats: Sequence[Repeat],
    models: Mapping[str, Comparison],
    transfers: Sequence[Transfer] = (),
) -> tuple[Sentence, ...]:
    said: list[Sentence] = []
    for found in findings:
        if len(findings) > 1:
            said.append(Sentence(f"{found.model or 'Unnamed model'}, {found.task or 'unnamed task'}:"))
        said += headline(found)
        said += _about("What the cap costs", _losses(found))
        said += _about("How long chains are, and when thinking catches up", [*_lengths(found), *_crossover(found)])
        said += _about("What other ways win", methods(found, tests))
        said += _about("What to do", advice(found))
    lengths = [_models(name, result) for name, result in models.items()]
    said += _about("Models and tasks compared", [*lengths, *carried(transfers)])
    said += _about("Runs compared", repeated(repeats))
    said += _about("Not compared", _refusals(tests))
    return tuple(said)


def _about(topic: str, sentences: Sequence[Sentence]) -> list[Sentence]:
    return [replace(s, topic=topic) for s in sentences]


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
    for arm in [a for a in found.arms if a.parts is not None and a.policy == found.read_as][-3:]:
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
        seen = least_detectable(test.n) if test.n < 100 else None
        if seen is not None:
            head += f", and {test.n} questions would hardly show one below {points(seen)}"
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
    what = "of the loss" if gap > 0 and test.p < 0.05 else "of the difference"
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
