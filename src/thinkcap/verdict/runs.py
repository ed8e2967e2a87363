"""Runs, models and refusals in words: what was repeated, where it was made, what could not be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thinkcap.diagnose.diagnosis import ChainLengths, Elsewhere, RepeatedRun
from thinkcap.diagnose.document import named
from thinkcap.diagnose.findings import Findings
from thinkcap.diagnose.pairs import Refused
from thinkcap.verdict.words import Sentence, small, times

_WORDS = {
    "hardware": "other hardware",
    "dtype": "another dtype",
    "engine": "another engine",
    "weights": "other weights",
    "prompts": "other prompts",
    "grader": "another grader",
    "dialect": "another dialect",
}
_PLACE = {"hardware", "dtype", "engine"}
_FEW = 3
"""Up to this many configurations of two runs are listed one by one."""


def made_on(provenance: Mapping[str, str]) -> str:
    """`x86_64, 2 cores (F16, llamacpp 1.2)`."""
    more = ", ".join(provenance[k] for k in ("dtype", "engine") if k in provenance)
    return provenance.get("hardware", "unknown hardware") + (f" ({more})" if more else "")


def dialects(found: Findings) -> list[Sentence]:
    """How thoughts were told from answers."""
    ways = dict.fromkeys(
        (made["dialect"], made.get("dialect_by", ""))
        for arm in found.arms
        if "dialect" in (made := arm.provenance)
    )
    return [
        Sentence(
            f"Thoughts are separated from answers by the marks of dialect {dialect}"
            f"{f' (found by {by})' if by else ''}.",
            {"dialect": dialect, "dialect_by": by},
            detail=True,
        )
        for dialect, by in ways
    ]


def elsewhere(found: Sequence[Elsewhere]) -> list[str]:
    """Notes, since a difference between machines is no difference between methods."""
    return [
        f"{run.file} was made on {made_on(run.provenance)}, most rows on {made_on(run.usual)}; "
        f"differences between them may come from the machine"
        for run in found
    ]


def repeated(repeats: Sequence[RepeatedRun]) -> list[Sentence]:
    """Two runs of one configuration: one by one where they are few, as a whole where they are many."""
    pairs: dict[tuple[str, str], list[RepeatedRun]] = {}
    for repeat in repeats:
        pairs.setdefault((repeat.first, repeat.second), []).append(repeat)
    said: list[Sentence] = []
    for group in pairs.values():
        said += [_one(r) for r in group] if len(group) <= _FEW else [_many(group)]
    return said


def _places(repeat: RepeatedRun) -> str:
    first, second = repeat.first_provenance, repeat.second_provenance
    told = [made for made in (first, second) if made.keys() & _PLACE]
    if not told:
        return " (neither says on what hardware)"
    if _PLACE & set(repeat.changed):
        return f" ({made_on(first)} against {made_on(second)})"
    if len(told) == 1:
        return f" (one was made on {made_on(told[0])}, the other does not say)"
    return f" (both on {made_on(first)})"


def _why(repeat: RepeatedRun, one_sided: bool) -> str:
    changes = ", ".join(_WORDS[k] for k in repeat.changed if k in _WORDS)
    if not one_sided:
        return f"The changes go both ways{f', although the second run has {changes}' if changes else ''}."
    if changes:
        return f"The changes go one way, so they are not noise: the second run has {changes}."
    return "The changes go one way, so they are not noise: hardware, prompts or grader may differ."


def _one(repeat: RepeatedRun) -> Sentence:
    test = repeat.test
    return Sentence(
        f"{repeat.first} and {repeat.second} both ran {repeat.arm}{_places(repeat)} and differ on "
        f"{repeat.flipped} of {times(test.n, 'question')} ({test.only_first}:{test.only_second}, "
        f"{small(repeat.p_holm)}). {_why(repeat, repeat.one_sided)} Only the first is counted here.",
        named(repeat, "first", "second", "flipped", "p_holm", "changed", n=test.n),
    )


def _many(group: Sequence[RepeatedRun]) -> Sentence:
    flipped, asked = sum(r.flipped for r in group), sum(r.test.n for r in group)
    changed = [r for r in group if r.one_sided]
    first = group[0]
    one_sided = [r.arm for r in changed]
    figures = named(first, "first", "second", "changed", flipped=flipped, n=asked, one_sided=one_sided)
    head = f"{first.first} and {first.second} both ran {len(group)} configurations{_places(first)}"
    if not flipped:
        return Sentence(f"{head}, and all {asked} verdicts agree.", figures)
    names = ", ".join(one_sided[:_FEW]) + (" ..." if len(changed) > _FEW else "")
    where = f" This holds for {len(changed)} of them: {names}." if changed else ""
    text = f"{head} and differ on {flipped} of {asked} verdicts. {_why(first, bool(changed))}{where}"
    return Sentence(f"{text} Only the first is counted here.", figures)


def chains(pair: ChainLengths) -> Sentence:
    result = pair.result
    figures = {"z": result.logrank_z, "p_holm": pair.p_holm, "violation": result.largest_violation}
    test = f"(log-rank {small(pair.p_holm)}, up to {result.until:.0f} tokens)"
    if pair.p_holm >= 0.05:
        return Sentence(
            f"The chains of {pair.first} and {pair.second} do not clearly differ in length {test}.", figures
        )
    word = "longer" if result.logrank_z > 0 else "shorter"
    order = " at every length observed" if result.dominates and word == "longer" else ""
    return Sentence(f"The chains of {pair.second} are {word} than those of {pair.first}{order} {test}.", figures)


def refusals(refused: Sequence[Refused]) -> list[Sentence]:
    if not refused:
        return []
    first, count = refused[0], len(refused)
    were = "pair was" if count == 1 else "pairs were"
    return [
        Sentence(
            f"{count} {were} not compared, for example {first.first} and {first.second}: {first.reason}.",
            {"refused": count},
        )
    ]
