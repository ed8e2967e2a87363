"""Date questions: read what today is, move by days, weeks, months or years, and pick the option.

>>> from random import Random
from typing import NamedTuple
>>> make(Random(4), 1).form in ("label", "number")
True
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from random import Random

from thinkcap.tasks.families.problem import LETTERS, Problem, options_block, people
from thinkcap.tasks.families.told_dates import (
    Move,
    any_day,
    far,
    moved,
    named,
    near,
    plain,
    slashed,
    written,
    years,
)


def _ask(rng: Random, distance: int) -> tuple[str, Move]:
    count = rng.randint(2, 20)
    asks: list[tuple[str, Move]] = [
        ("today", ("d", 0)),
        ("tomorrow", ("d", 1)),
        ("yesterday", ("d", -1)),
        ("24 hours later", ("d", 1)),
        ("one week from today", ("d", 7)),
        ("one week ago from today", ("d", -7)),
        ("a month ago", ("m", -1)),
        ("a month from today", ("m", 1)),
        ("one year ago from today", ("y", -1)),
        ("one year from today", ("y", 1)),
        ("10 days ago", ("d", -10)),
        (f"{count} days ago", ("d", -count)),
        (f"{count} days from today", ("d", count)),
    ]
    if distance:
        count = rng.randint(distance // 2, distance)
        asks = [(f"{count} days ago", ("d", -count)), (f"{count} days from today", ("d", count))]
    return rng.choice(asks)


def _wrong_options(rng: Random, right: date, today: date, count: int) -> list[str]:
    """Near misses (a day, a month, a year off, day and month changed over) beside a few dates at random."""
    found: list[str] = []
    tries: tuple[Callable[[], date], ...] = (
        lambda: today,
        lambda: moved(right, ("d", rng.choice((-1, 1, -2, 2, -7, 7, 10, -10)))),
        lambda: moved(right, ("m", rng.choice((-1, 1, 2, -2)))),
        lambda: moved(right, ("y", rng.choice((-1, 1, 2, 10, -10, 20, rng.randint(-60, 60))))),
        lambda: right.replace(year=rng.randint(1900, 2090), day=min(right.day, 28)),
        lambda: right.replace(day=rng.randint(1, 28)),
        lambda: right + timedelta(days=rng.randint(-200, 200)),
    )
    while len(found) < count:
        text = slashed(rng.choice(tries)())
        if text != slashed(right) and text not in found:
            found.append(text)
    return found


def make(rng: Random, difficulty: int) -> Problem:
    if difficulty >= 3 and rng.random() < 0.25:
        return _count(rng, difficulty)
    first = rng.random() < 0.5
    if difficulty == 1:
        told = (plain if first else named)(rng)
    elif difficulty <= 3:
        told = (near if first else rng.choice((years, named)))(rng)
    elif difficulty == 4:
        told = far(rng, 15, 90) if first else near(rng)
    else:
        low, high = {5: (60, 180), 6: (150, 400), 7: (400, 800), 8: (800, 1500)}[difficulty]
        told = far(rng, low, high)
    words, last = _ask(
        rng, {3: 60, 4: 120, 5: 60, 6: 150, 7: 400, 8: 800}.get(difficulty, 0) if rng.random() < 0.4 else 0
    )
    today = told.base
    for move in told.moves:
        today = moved(today, move)
    right = moved(today, last)
    shown = [slashed(right), *_wrong_options(rng, right, today, rng.choice((3, 4, 5, 5, 5)))]
    rng.shuffle(shown)
    return Problem(
        family="dates",
        question=f"{told.text} What is the date {words} in MM/DD/YYYY?" + options_block(shown),
        answer=f"({LETTERS[shown.index(slashed(right))]})",
        kind="label",
        form="label",
        difficulty=difficulty,
        work={
            "base": told.base,
            "moves": told.moves,
            "reading": told.reading,
            "today": today,
            "last": last,
            "right": right,
            "options": tuple(shown),
        },
    )


def _count(rng: Random, difficulty: int) -> Problem:
    start = any_day(rng)
    days = rng.randint(
        *{3: (8, 40), 4: (30, 100), 5: (90, 220), 6: (200, 420), 7: (400, 800), 8: (800, 1500)}[difficulty]
    )
    end = start + timedelta(days=days)
    (name,), first, second = people(rng, 1), written(rng, start), written(rng, end)
    said = (
        f"How many days are there from {first} to {second}?",
        f"{name} left on {first} and came back on {second}. How many days was {name} away?",
        f"Today is {first}. In how many days is it {second}?",
    )
    return Problem(
        family="dates",
        question=rng.choice(said),
        answer=str(days),
        kind="number",
        form="number",
        difficulty=difficulty,
        work={"start": start, "end": end, "days": days},
    )
