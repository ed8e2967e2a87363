"""The first words of a verdict: where thinking pays under a cap, where it does not, and what to take instead.

Thinking loses at 32 to 192 tokens and pays at 384 to 2048; it breaks even at about 281 tokens (95 %: 222 to 391).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinkcap.diagnose.findings import Findings
from thinkcap.statistics.crossover import Empirical
from thinkcap.verdict.advice import Advice, on, way
from thinkcap.verdict.words import Sentence, spans


def headline(found: Findings, advice: Sequence[Advice]) -> list[Sentence]:
    said = [*_unopened(found), *_pays(found)]
    return said + _instead(found, advice)


def _unopened(found: Findings) -> list[Sentence]:
    """A model that a prompt asks to think may never open a thought; then the two modes are two prompts."""
    arms = [a for a in found.arms if a.method == found.read_as and a.budget is not None]
    if not arms or any(a.thoughts != 0 for a in arms):
        return []
    asked = sum(a.rows for a in arms)
    return [
        Sentence(
            f"None of the {asked} answers in thinking mode opened a thought, so this compares two prompts, not "
            f"thinking with answering at once. Check that the model can think and that its tags are known.",
            {"thoughts": 0, "n": asked},
        )
    ]


def _pays(found: Findings) -> list[Sentence]:
    """Only differences that stand after Holm's adjustment are called a loss or a gain."""
    rows = found.budgets
    if not rows:
        return []
    every = [r.budget for r in rows]
    loses = [r.budget for r in rows if r.comparison.clear and r.comparison.difference > 0]
    gains = [r.budget for r in rows if r.comparison.clear and r.comparison.difference < 0]
    rest = [b for b in every if b not in loses and b not in gains]
    told: list[str] = []
    if loses:
        told.append(f"loses at {spans(loses, every)} tokens")
    if gains:
        told.append(f"pays at {spans(gains, every)} tokens")
    if rest and told:
        told.append(f"makes no clear difference at {spans(rest, every)}")
    if not told:
        text = f"Thinking makes no clear difference at any cap run ({spans(every, every)} tokens)"
    else:
        text = f"Thinking {told[0] if len(told) == 1 else ', '.join(told[:-1]) + ' and ' + told[-1]}"
    seen = found.crossover
    numbers: dict[str, Any] = {"loses_at": loses, "pays_at": gains, "unclear_at": rest}
    if seen is not None and seen.status == "between" and loses and gains:
        text += f"; it breaks even at about {seen.point:.0f} tokens{interval(seen)}"
        numbers |= {"breaks_even": seen.point, "low": seen.low, "high": seen.high}
    return [Sentence(text + ".", numbers)]


def interval(seen: Empirical) -> str:
    """`(95 %: 222 to 391)`; an end outside the caps that were run is said to be so."""
    if seen.level is None:
        return ""
    words = {"before": "below the smallest cap", "beyond": "beyond the largest cap"}
    low = f"{seen.low:.0f}" if seen.low is not None else words[seen.low_is or "before"]
    high = f"{seen.high:.0f}" if seen.high is not None else words[seen.high_is or "beyond"]
    return f" (95 %: {low} to {high})"


def _instead(found: Findings, advice: Sequence[Advice]) -> list[Sentence]:
    """The advice itself at the cap where thinking loses most, and at the largest cap."""
    losing = [r for r in found.budgets if r.comparison.clear and r.comparison.difference > 0]
    hardest = max(losing, key=lambda r: (r.comparison.difference, r.budget)).budget if losing else None
    largest = {a.group: a.cap for a in advice}
    chosen = [a for a in advice if a.cap in (hardest, largest[a.group])]
    several = len(largest) > 1
    return [Sentence(f"Best at {a.cap} tokens{on(a, several)}: {way(a)}.", a.to_dict()) for a in chosen]
