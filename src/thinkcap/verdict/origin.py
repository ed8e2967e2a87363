"""Where rows were made, in words: rows from other hardware are named, and two runs compared with that in mind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from thinkcap.logs.arms import Arm
from thinkcap.statistics.paired import holm
from thinkcap.verdict.words import Sentence, small

if TYPE_CHECKING:
    from thinkcap.diagnose.diagnosis import Repeat

_WORDS = {
    "hardware": "other hardware",
    "dtype": "another dtype",
    "engine": "another engine",
    "weights": "other weights",
    "prompts": "other prompts",
    "grader": "another grader",
}
_FEW = 3
"""Up to so many configurations of two runs are told one by one."""


def other_hardware(arms: Sequence[Arm]) -> list[str]:
    """One note per run made on other hardware, dtype or engine than most rows of its model and task."""
    groups: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        groups.setdefault((arm.model, arm.task), []).append(arm)
    notes: list[str] = []
    for group in groups.values():
        rows: Counter[tuple[tuple[str, str], ...]] = Counter()
        for arm in group:
            if _place(arm.provenance):
                rows[_place(arm.provenance)] += arm.n
        if len(rows) < 2:
            continue
        main = dict(rows.most_common(1)[0][0])
        for arm in group:
            if _place(arm.provenance) not in ((), tuple(main.items())):
                notes.append(
                    f"{arm.file}: made on {said(arm.provenance)}, most rows on {said(main)}; "
                    f"a difference between them may be the machine's"
                )
    return list(dict.fromkeys(notes))


def _place(made: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((k, made[k]) for k in ("hardware", "dtype", "engine") if k in made)


def said(made: Mapping[str, str]) -> str:
    """`x86_64, 2 cores (F16, llamacpp 1.2)`; what is not known is said to be so."""
    more = ", ".join(made[k] for k in ("dtype", "engine") if k in made)
    return made.get("hardware", "hardware not told") + (f" ({more})" if more else "")


def repeated(repeats: Sequence[Repeat]) -> list[Sentence]:
    """Two runs of one configuration: one by one where they are few, as a whole where they are many."""
    pairs: dict[tuple[str, str], list[Repeat]] = {}
    for repeat in repeats:
        pairs.setdefault((repeat.first, repeat.second), []).append(repeat)
    found: list[Sentence] = []
    for group in pairs.values():
        found += [_one(r) for r in group] if len(group) <= _FEW else [_many(group)]
    return found


def _places(repeat: Repeat) -> str:
    if not repeat.first_made and not repeat.second_made:
        return " (neither says what it was made on)"
    if "hardware" in repeat.changed or "dtype" in repeat.changed or "engine" in repeat.changed:
        return f", {said(repeat.first_made)} against {said(repeat.second_made)},"
    if not repeat.first_made or not repeat.second_made:
        known = repeat.first_made or repeat.second_made
        return f" (one made on {said(known)}, the other does not say)"
    return f", both on {said(repeat.first_made)},"


def _why(repeat: Repeat, one_sided: bool) -> str:
    changes = ", ".join(_WORDS[k] for k in repeat.changed if k in _WORDS)
    if not one_sided:
        return f"both ways alike, in spite of {changes}" if changes else "both ways alike"
    if changes:
        return f"one-sided, which is no noise: the second has {changes}"
    return "one-sided, so something changed between them (hardware, prompt or parser), it is not noise"


def _one(repeat: Repeat) -> Sentence:
    found = repeat.flips
    return Sentence(
        f"Two runs of {repeat.arm}{_places(repeat)} differ on {found.flipped} of {found.test.n} questions "
        f"({found.test.only_first}:{found.test.only_second}, {small(found.test.p)}): "
        f"{_why(repeat, found.systematic)}.",
        {
            "first": repeat.first,
            "second": repeat.second,
            "flipped": found.flipped,
            "n": found.test.n,
            "changed": list(repeat.changed),
        },
    )


def _many(group: Sequence[Repeat]) -> Sentence:
    flipped, asked = sum(r.flips.flipped for r in group), sum(r.flips.test.n for r in group)
    adjusted = holm({str(i): r.flips.test.p for i, r in enumerate(group)})
    changed = [r for i, r in enumerate(group) if adjusted[str(i)] < 0.05]
    first = group[0]
    numbers = {
        "first": first.first,
        "second": first.second,
        "flipped": flipped,
        "n": asked,
        "one_sided": [r.arm for r in changed],
        "changed": list(first.changed),
    }
    head = f"{first.first} and {first.second}{_places(first)} ran {len(group)} configurations both"
    if not flipped:
        return Sentence(f"{head}, and all {asked} verdicts agree.", numbers)
    names = ", ".join(r.arm for r in changed[:_FEW]) + (" ..." if len(changed) > _FEW else "")
    reason = _why(first, bool(changed)) + (f", in {len(changed)} of them ({names}; after Holm)" if changed else "")
    return Sentence(f"{head}; they differ on {flipped} of {asked} verdicts: {reason}.", numbers)
