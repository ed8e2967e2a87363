"""The bundled question families: pure seeded generators, each with a difficulty dial from 1 to 8.

    >>> [p.family for p in questions("dates", 2, seed=7)]
    ['dates', 'dates']
    >>> len(questions("mix", 10, seed=7))
    10

Training draws from seeds at or above `TRAINING_SEEDS`; `questions` refuses those, so what it gives was never seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest, resolve
from thinkcap.tasks.families.problem import Problem

Maker = Callable[[Random, int], Problem]

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "arithmetic": "thinkcap.tasks.families.arithmetic:make",
        "boolean": "thinkcap.tasks.families.boolean:make",
        "tracking": "thinkcap.tasks.families.tracking:make",
        "dates": "thinkcap.tasks.families.dates:make",
        "ordering": "thinkcap.tasks.families.ordering:make",
    }
)

TRAINING_SEEDS = 1_000_000_000
"""Seeds from here on belong to training."""

DIFFICULTIES = range(1, 9)

# How often each difficulty comes up by default: most questions are easy, a few are long.
_SHARES = (0.24, 0.24, 0.19, 0.13, 0.09, 0.06, 0.03, 0.02)


def draw_difficulty(rng: Random) -> int:
    return rng.choices(DIFFICULTIES, weights=_SHARES)[0]


def maker(family: str) -> Maker:
    made: Maker = resolve(family, FAMILIES, "family")
    return made


def questions(family: str, n: int, seed: int, difficulty: int | None = None) -> list[Problem]:
    """`n` questions of a family (or of `mix`, all families in turn), the same ones for the same seed."""
    if not 0 <= seed < TRAINING_SEEDS:
        raise ConfigError(f"seed {seed} is not in 0..{TRAINING_SEEDS - 1}; larger ones belong to training")
    if n < 0:
        raise ConfigError(f"cannot make {n} questions; wanted 0 or more")
    if difficulty is not None and difficulty not in DIFFICULTIES:
        raise ConfigError(f"difficulty {difficulty} does not exist; wanted 1 to 8")
    if family != "mix" and ":" not in family and family not in FAMILIES:
        raise ConfigError(f"unknown family '{family}'{nearest(family, [*FAMILIES, 'mix'])}")
    names = list(FAMILIES) if family == "mix" else [family]
    makers = [maker(name) for name in names]
    problems: list[Problem] = []
    seen: set[str] = set()
    rng = Random(f"{family}/{seed}")
    while len(problems) < n:
        make = makers[len(problems) % len(makers)]
        problem = make(rng, difficulty or draw_difficulty(rng))
        if problem.question not in seen:
            seen.add(problem.question)
            problems.append(problem)
    return problems
