"""One generated question with its answer and the steps that lead to it, so that tasks and training share a source.

>>> from thinkcap.tasks.families import questions
>>> questions("boolean", 1, seed=1)[0].kind
'label'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True)
class Problem:
    """A question of a family. `work` holds the structured steps; what they mean is the family's own affair."""

    family: str
    question: str
    answer: str
    kind: str
    """How answers are compared: number, math or label."""
    form: str
    """How the answer is asked for: a key of `PROMPTS.forms`."""
    difficulty: int
    work: Mapping[str, Any]


LETTERS = "ABCDEFGH"


def words(text: str, between: str | None = None) -> list[str]:
    """A word list that reads as text."""
    return text.split(between)


NAMES = words(
    "Alice Bob Claire Dave Eve Fred Gertrude Hugo Ivy Jane John Kara Leo Mia Noah Olga Paul Quinn Rosa Sam Tina "
    "Umar Vera Will Xena Yusuf Zoe Anna Ben Carl Dora Emil Fay Gus Hana Ian Jack Kim Liam Maya Nils Omar Pia "
    "Ravi Sara Tom Una Victor Wendy Yara Rob Ada Dan Joe Mel Amy Eli Ana Max Ruth Lena Otto Nora Felix"
)


_SYLLABLES = words(
    "ba be bi bo da de di fo ga go ka ki la le lo ma me mo mya na no pa pe ra ri ro sa so ta te ti vo za"
)
_ENDINGS = ("", "", "n", "r", "l", "s", "x", "ck", "nt", "rn", "le", "by", "yle")


def made_up(rng: Random) -> str:
    """A word nobody has seen, so that a solver must read names instead of knowing them."""
    word = "".join(rng.choice(_SYLLABLES) for _ in range(rng.choice((1, 2, 2, 3)))) + rng.choice(_ENDINGS)
    return word if len(word) > 2 else word + "ra"


def people(rng: Random, count: int) -> list[str]:
    """Different names; now and then made-up ones among them."""
    names = rng.sample(NAMES, count)
    if rng.random() < 0.2:
        for at in range(count):
            if rng.random() < 0.5:
                names[at] = made_up(rng).capitalize()
    return names if len(set(names)) == count else people(rng, count)


def options_block(options: Sequence[str]) -> str:
    """The block of lettered options that ends a multiple-choice question."""
    lines = [f"({letter}) {text}" for letter, text in zip(LETTERS, options, strict=False)]
    return "\nOptions:\n" + "\n".join(lines)


def listed(items: Sequence[str]) -> str:
    """`a, b, and c`; the comma before `and` as in most printed puzzles."""
    if len(items) == 2:
        return f"{items[0]} and {items[1]}"
    return ", ".join(items[:-1]) + ", and " + items[-1]


def sample(rng: Random, items: Sequence[str], k: int) -> list[str]:
    return rng.sample(list(items), k)
