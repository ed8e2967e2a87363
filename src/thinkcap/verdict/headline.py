"""The first sentence of a verdict: does thinking pay under a cap, from which budget on, and what to do instead.

Thinking pays from about 281 tokens on (95 %: 222 to 391). With 256 tokens, split: 96.0 % for 175 tokens, ...
"""

from __future__ import annotations

from typing import Any

from thinkcap.diagnose.findings import AtBudget, Findings
from thinkcap.verdict.advice import best_ways
from thinkcap.verdict.words import Sentence, percent


def headline(found: Findings) -> list[Sentence]:
    return [*_unopened(found), *_pays(found)]


def _unopened(found: Findings) -> list[Sentence]:
    """A model that a prompt asks to think may never open a thought; then the two modes are two prompts."""
    arms = [a for a in found.arms if a.policy == found.read_as and a.budget is not None]
    if not arms or any(a.thoughts != 0 for a in arms):
        return []
    asked = sum(a.n for a in arms)
    return [
        Sentence(
            f"None of the {asked} answers in thinking mode opened a thought: what follows compares two prompts, "
            f"not thinking with answering at once. Has the model a thinking mode, and are its tags known?",
            {"thoughts": 0, "n": asked},
        )
    ]


def _pays(found: Findings) -> list[Sentence]:
    """Empty where the two modes were not run at one budget: then nothing can be said first."""
    seen = found.crossover
    if seen is None or not found.budgets:
        return []
    last = found.budgets[-1]
    paying = [r for r in found.budgets if r.budget > (seen.last_losing or 0)]
    gains = [r.budget for r in paying if _clear(r) and r.difference.test.difference < 0]
    caps = [last.budget]
    if seen.status == "between" and seen.point is not None:
        caps = [seen.last_losing or last.budget, last.budget]
        at, span = f"about {seen.point:.0f} tokens", _span(found)
        text = (
            f"Thinking pays from {at} on{span}."
            if gains
            else f"Thinking loses under {at}{span}, then wins nothing clear."
        )
    elif seen.status == "beyond":
        text = f"Thinking does not pay up to {last.budget} tokens"
        never = last.predicted is not None and last.predicted.status == "none"
        text += ", and no budget would be enough." if never else "."
        if not _clear(last):
            below = ", and does not pay below" if len(found.budgets) > 1 else ""
            text = f"Thinking makes no clear difference at {last.budget} tokens{below}."
    elif gains:
        text = f"Thinking pays: it clearly gains from {gains[0]} tokens on and loses at no cap run."
    else:
        text = "Thinking makes no clear difference at any cap run."
    advice, numbers = _instead(found, caps)
    told = {"status": seen.status, "point": seen.point, "low": seen.low, "high": seen.high, "gains_at": gains}
    return [Sentence(" ".join([text, *advice]), told | numbers)]


def _clear(row: AtBudget) -> bool:
    return row.difference.test.p < 0.05


def _span(found: Findings) -> str:
    seen = found.crossover
    if seen is None or seen.level is None:
        return ""
    first, last = found.budgets[0].budget, found.budgets[-1].budget
    low = f"{seen.low:.0f}" if seen.low is not None else f"below {first}"
    high = f"{seen.high:.0f}" if seen.high is not None else f"beyond {last}"
    return f" (95 %: {low} to {high})"


def _instead(found: Findings, caps: list[int]) -> tuple[list[str], dict[str, Any]]:
    """What to do at these caps, and what thinking gets there."""
    ways = {cap: way for cap, *way in best_ways(found)}
    thought = {a.budget: a for a in found.arms if a.policy == found.read_as}
    said: list[str] = []
    numbers: dict[str, Any] = {}
    for cap in (c for c in dict.fromkeys(caps) if c in ways):
        name, accuracy, tokens = ways[cap]
        numbers[f"at_{cap}"] = accuracy.value
        plain = thought.get(cap)
        rather = ""
        if plain is not None and name != "think":
            if (plain.accuracy.value or 0) >= (accuracy.value or 0):
                # Where thinking does as well, nothing has to be done instead.
                said.append(f"With {cap} tokens, thinking alone: {_got(plain.accuracy.value, plain.mean_tokens)}.")
                continue
            rather = f", instead of {_got(plain.accuracy.value, plain.mean_tokens)} by thinking"
        said.append(f"With {cap} tokens, {name}: {_got(accuracy.value, tokens)}{rather}.")
    return said, numbers


def _got(accuracy: float | None, tokens: float | None) -> str:
    return percent(accuracy) + ("" if tokens is None else f" for {tokens:.0f} tokens")
