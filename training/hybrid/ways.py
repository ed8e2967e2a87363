"""The ways in which a question can be tried, and the sentences that join tries into a thought.

Under greedy decoding two tries in the same way would be the same try. So every try of a thought is made in another
way, announced by a sentence of its own, and the thought keeps a tally of what the tries gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Way:
    """How the base is asked for such a try, and how the hybrid announces one."""

    asked: str
    announced: tuple[str, ...]


WAYS: Mapping[str, Way] = {
    "steps": Way("", ("Let me take it one step at a time.", "Step by step.")),
    "equations": Way(
        "Use short equations and few words.", ("Let me write it as equations.", "Now with equations only.")
    ),
    "assignments": Way(
        "Work it out as a list of assignments traced by hand: name = expression = value.",
        ("Let me trace it like a small program.", "As assignments, traced by hand."),
    ),
    "backwards": Way(
        "Begin with what is asked and what it needs, then compute.",
        ("Let me start from what is asked.", "Backwards from what is asked."),
    ),
    "facts": Way(
        "First list the given facts, then compute one step at a time and check each step.",
        ("Let me list what is given first.", "The facts first, then the steps."),
    ),
    "aloud": Way(
        "Explain it as if to a friend, in plain sentences, with every calculation written out.",
        ("Let me say it in plain sentences.", "In plain words, every calculation written out."),
    ),
}
_COUNTS = ("never", "once", "twice", "three times", "four times", "five times", "six times")


def announcement(way: str, rng: Random) -> str:
    return rng.choice(WAYS[way].announced)


def tally(votes: Sequence[tuple[str, int]], answer: str, decided: bool, rng: Random) -> str:
    """What is said after a try that gave `answer`; `votes` has it counted already, in order of appearance."""
    if sum(count for _, count in votes) == 1:
        return rng.choice((f"That gives {answer}. Let me check it another way.", f"So {answer}. Is that right?"))
    counted = ", ".join(f"{text} {_COUNTS[count]}" for text, count in votes)
    if not decided:
        return f"This gives {answer}. So far: {counted}. " + rng.choice(
            ("They do not agree yet.", "I need another try.")
        )
    best = max(votes, key=lambda vote: vote[1])[0]
    return f"This gives {answer}. So far: {counted}. " + rng.choice(
        (f"It is {best}.", f"So the answer is {best}.")
    )
