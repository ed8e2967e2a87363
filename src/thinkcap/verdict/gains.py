"""What an answer pass and a first try win, in words: the most telling case of each, with its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from thinkcap.diagnose.findings import Findings
from thinkcap.verdict.words import Sentence, percent, points, small

if TYPE_CHECKING:
    from thinkcap.diagnose.escalation import Against, Escalation
    from thinkcap.diagnose.splitting import Extraction
    from thinkcap.diagnose.totals import SameTotal
    from thinkcap.diagnose.transfer import Transfer

Case = TypeVar("Case")

_HANDFUL = 10


def gains(found: Findings) -> list[Sentence]:
    said: list[Sentence] = []
    for e in _telling(found.splitting.extractions):
        said += _extraction(e)
    said += _same_total(found.splitting.matched_totals)
    said += _taken_over(found.escalations)
    return said


def _kind(name: str) -> str:
    """`iris` of `iris_plus(answer=32)@512`."""
    return name.partition("@")[0].partition("(")[0].removesuffix("_plus")


def _best(cases: Iterable[tuple[str, float, Case]]) -> list[Case]:
    """Of every kind the case with the highest score."""
    found: dict[str, tuple[float, Case]] = {}
    for name, score, case in cases:
        if _kind(name) not in found or score > found[_kind(name)][0]:
            found[_kind(name)] = score, case
    return [case for _, case in found.values()]


def _telling(extractions: Sequence[Extraction]) -> list[Extraction]:
    """All of a few; of many, for each method the cap at which the answer pass recovers most."""
    if len(extractions) <= 3:
        return list(extractions)
    return _best((e.split, e.recoverable, e) for e in extractions)[:3]


def _extraction(e: Extraction) -> list[Sentence]:
    said = [
        Sentence(
            f"On the {e.cut} of {e.n} chains that were cut, a separate answer pass ({e.split}) is right in "
            f"{percent(e.alpha_e)}, the same cap without one ({e.coupled}) in {percent(e.alpha_t)}: splitting "
            f"recovers {points(e.recoverable)} points ({e.test.only_first}:{e.test.only_second}, "
            f"{small(e.test.p)}).",
            {
                "cut": e.cut,
                "n": e.n,
                "alpha_e": e.alpha_e,
                "alpha_t": e.alpha_t,
                "p": e.test.p,
                "coupling_gain": e.coupling.gain,
            },
        )
    ]
    worth = e.controls.trace_worth
    if worth is not None:
        said.append(
            Sentence(
                f"The same prompt without the chain is right in {percent(e.controls.without_trace)}: the "
                f"chain itself is worth {points(worth)} points.",
                {"without_trace": e.controls.without_trace, "placebo": e.controls.placebo},
            )
        )
    return said


def _same_total(entries: Sequence[SameTotal]) -> list[Sentence]:
    """The division that differs most from thinking with the same total."""
    known = [(s, s.parts, s.test) for s in entries if s.parts is not None and s.test is not None]
    if not known:
        return []
    s, parts, test = max(known, key=lambda k: abs(k[1].total))
    word = "more" if parts.total >= 0 else "fewer"
    where = "" if s.population == "all" else f" of the {s.n} questions its first try left open"
    return [
        Sentence(
            f"Against thinking with the same {s.reasoning + s.answer} tokens, {s.reasoning} + {s.answer} "
            f"({s.split}) gets {points(abs(parts.total))} points {word}{where} "
            f"({test.only_first}:{test.only_second}, {small(test.p)}): {points(parts.extraction)} by answering "
            f"cut chains, {points(parts.finishing)} by letting fewer chains end, {points(parts.selection)} by "
            f"which ones end.",
            {
                "split": s.split,
                "coupled": s.coupled,
                "extraction": parts.extraction,
                "finishing": parts.finishing,
                "selection": parts.selection,
                "total": parts.total,
                "p": test.p,
                "n": s.n,
            },
        )
    ]


def _taken_over(escalations: Sequence[Escalation]) -> list[Sentence]:
    """Of the two best kinds of cascade the cap at which each wins most, and its worst loss."""
    cases = []
    for e in escalations:
        known = next((a for a in e.against if a.net is not None), None)
        if known is not None and known.net is not None:
            cases.append((e.policy, known.net.gain, (e, known)))
    # A cap that leaves a handful open says little, unless there is no other.
    cases = [c for c in cases if c[2][0].escalated >= _HANDFUL] or cases
    said = []
    for best in sorted(_best(cases), key=lambda c: -_gain(c[1]))[:2]:
        kind = _kind(best[0].policy)
        worst = min((c for c in cases if _kind(c[0]) == kind), key=lambda c: c[1])[2]
        said.append(_cascade(*best, None if worst is best else worst))
    return said


def _gain(against: Against) -> float:
    assert against.net is not None
    return against.net.gain


def _cascade(e: Escalation, against: Against, worst: tuple[Escalation, Against] | None) -> Sentence:
    net, test = against.net, against.test
    assert net is not None
    assert test is not None
    change = "gains" if net.gain >= 0 else "loses"
    paid = ""
    if e.cost is not None:
        paid = f" It spends {e.cost.measured:.0f} tokens on average and {e.cost.bound.most} at most."
    if worst is not None and worst[1].net is not None and worst[1].test is not None:
        low, other = worst[1].net.gain, worst[1].test
        if low < 0 and other.p < 0.05:
            paid += f" {worst[0].cascade} loses {points(-low)} ({small(other.p)})."
    return Sentence(
        f"The first try of {e.cascade} left {e.escalated} of {e.n} questions open; there the cascade is right in "
        f"{percent(net.cascade_on_hard)}, {against.direct} in {percent(net.direct_on_hard)}: it {change} "
        f"{points(abs(net.gain))} points of all ({test.only_first}:{test.only_second}, {small(test.p)}).{paid}",
        {
            "escalated": e.escalated,
            "n": e.n,
            "cascade_on_hard": net.cascade_on_hard,
            "direct_on_hard": net.direct_on_hard,
            "gain": net.gain,
            "p": test.p,
            "cost_bound": None if e.cost is None else e.cost.bound.expected_at_most,
        },
    )


def carried(transfers: Sequence[Transfer]) -> list[Sentence]:
    """For every two models or tasks the split with the largest predicted gain, checked ones first."""
    pairs: dict[tuple[str, str], list[Transfer]] = {}
    for t in transfers:
        if t.predicted is not None:
            pairs.setdefault((t.source, t.target), []).append(t)
    said = []
    for (source, target), group in pairs.items():
        t = max(group, key=lambda t: (t.measured is not None, abs(t.predicted or 0)))
        assert t.predicted is not None
        seen = "not measured" if t.measured is None else f"measured {points(t.measured)}"
        said.append(
            Sentence(
                f"By {source}'s answer passes and {target}'s share of cut chains, {t.split} should win {target} "
                f"{points(t.predicted)} points ({seen}).",
                {"predicted": t.predicted, "measured": t.measured, "cut_share": t.cut_share},
            )
        )
    return said
