"""Date questions: read what today is, move by days, weeks, months or years, and pick the option.

>>> from random import Random
>>> make(Random(4), 1).form in ("label", "number")
True
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from random import Random

from thinkcap.tasks.families.problem import LETTERS, NAMES, Problem, options_block

MONTHS = "January February March April May June July August September October November December".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WORDS = "zero one two three four five six seven eight nine ten".split()
_NTH = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()

Move = tuple[str, int]
"""("d", 7): a week later; ("m", -1): a month earlier; ("y", 5): five years later."""
Told = tuple[str, date, tuple[Move, ...]]
"""What the question says, the date it names, and the moves from there to today."""


def moved(day: date, move: Move) -> date:
    """The date after a move; a day that the month lacks becomes the month's last day."""
    unit, amount = move
    if unit == "d":
        return day + timedelta(days=amount)
    months = day.year * 12 + day.month - 1 + (amount if unit == "m" else 12 * amount)
    year, month = divmod(months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def slashed(day: date) -> str:
    return f"{day.month:02d}/{day.day:02d}/{day.year}"


def ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def written(rng: Random, day: date) -> str:
    month = MONTHS[day.month - 1]
    short = {"September": "Sept."}.get(month, month[:3]) if rng.random() < 0.2 else month[:3]
    ways = (
        f"{day.month}/{day.day}/{day.year}",
        f"{day.month}/{day.day}/{day.year}",
        slashed(day),
        f"{short} {day.day}, {day.year}",
        f"{month[:3]} {day.day}, {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{short} {ordinal(day.day)}, {day.year}",
        f"{day.day} {month} {day.year}",
        f"the {ordinal(day.day)} of {month} {day.year}",
    )
    return rng.choice(ways)


def _any_day(rng: Random) -> date:
    day = date(rng.randint(1900, 2030), 1, 1) + timedelta(days=rng.randrange(365))
    if rng.random() < 0.3:
        # Month ends are where people slip.
        day = day.replace(day=rng.choice((1, 2, monthrange(day.year, day.month)[1])))
    return day


def _plain(rng: Random) -> Told:
    day = _any_day(rng)
    name, text = rng.choice(NAMES), written(rng, day)
    said = (
        f"Today is {text}.",
        f"Today is {text}.",
        f"It is {text} today.",
        f"Today, {text}, is a day {name} will remember.",
        f"Today is {text}. {name} has a visit to the dentist in {rng.randint(2, 9)} days.",
        f"It is {rng.randint(1, 11)}:{rng.randint(0, 59):02d} pm on {text}.",
        f"Today is the {_NTH[day.month - 1]} month of {day.year}, day {day.day}.",
        f"{name} is watching the games of {day.year}. Today is {day.month}/{day.day}.",
    )
    return rng.choice(said), day, ()


def _near(rng: Random) -> Told:
    day = _any_day(rng)
    name, text = rng.choice(NAMES), written(rng, day)
    count = rng.randint(2, 9)
    said: tuple[tuple[str, int], ...] = (
        (f"Yesterday was {text}.", 1),
        (f"Yesterday, {text}, {name} ate {rng.randint(2, 9)} pizzas.", 1),
        (f"Tomorrow is {text}.", -1),
        (f"{name} has booked a trip for tomorrow, {text}.", -1),
        (f"The meeting was moved to tomorrow, {text}.", -1),
        (f"{name} has {count} meetings tomorrow ({_WEEKDAYS[day.weekday()][:3]}, {text}).", -1),
        (f"The day before yesterday was {text}.", 2),
        (f"The day after tomorrow is {text}.", -2),
        (f"It was {text} a week ago.", 7),
        (f"A week from now it will be {text}.", -7),
        (f"The deadline is {text}, which is {count} days away from now.", -count),
        (f"{_WORDS[count].capitalize()} days ago it was {text}.", count),
        (f"The concert was planned for {text}, but was put off by {_WORDS[count]} days to today.", count),
        (f"The party was set for {text}, but was put off by one day to today.", 1),
        (f"{name} believed today is {text}, but today is in fact one day later.", 1),
    )
    line, days = rng.choice(said)
    return line, day, (("d", days),)


def _named(rng: Random) -> Told:
    year, month = rng.randint(1900, 2030), rng.randint(1, 12)
    name = rng.choice(NAMES)
    quarter = rng.randint(1, 4)
    last = monthrange(year, month)[1]
    place = rng.randint(1, 10)
    hours = rng.choice((24, 36, 48))
    early, late = rng.randint(1, 27), rng.choice((1, -1))
    thought = date(year, month, early)
    other = thought + timedelta(days=late)
    right = rng.random() < 0.5
    second = rng.choice([n for n in NAMES if n != name])
    uk = date(year, month, rng.randint(1, 12))
    said: tuple[tuple[str, date, tuple[Move, ...]], ...] = (
        (f"It is the last day of {MONTHS[month - 1]} {year}.", date(year, month, last), ()),
        (f"{name} enjoys the last day of {MONTHS[month - 1][:3]} {year}.", date(year, month, last), ()),
        (f"Today is the first day of {year}.", date(year, 1, 1), ()),
        (f"This is the last day of {year}.", date(year, 12, 31), ()),
        (f"Today is Christmas Eve of {year}.", date(year, 12, 24), ()),
        (f"Today is Christmas Day of {year}.", date(year, 12, 25), ()),
        (
            f"Today is the last day of the {_NTH[quarter - 1]} quarter of {year}.",
            date(year, 3 * quarter, monthrange(year, 3 * quarter)[1]),
            (),
        ),
        (
            f"Today is the {_NTH[place - 1]} day of the {_NTH[month - 1]} month of {year}.",
            date(year, month, place),
            (),
        ),
        (f"{year} begins in {hours} hours.", date(year, 1, 1), (("d", -2 if hours > 24 else -1),)),
        (
            f"{name} says today is {written(rng, thought)}, but {second} says it is {written(rng, other)}. "
            f"{name if right else second} is right.",
            thought if right else other,
            (),
        ),
        (
            f"In Britain the day is written before the month, so today is {uk.day:02d}/{uk.month:02d}/{uk.year} there.",
            uk,
            (),
        ),
    )
    return rng.choice(said)


def _years(rng: Random) -> Told:
    day = _any_day(rng)
    name, other = rng.sample(NAMES, 2)
    count = rng.choice((1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20))
    text = written(rng, day)
    visit = rng.randint(2, 9)
    first = day.replace(day=min(day.day, 28))
    said: tuple[tuple[str, date, tuple[Move, ...]], ...] = (
        (f"{name} and {other} married on {text}. Today is their {count}-year anniversary.", day, (("y", count),)),
        (f"{name} and {other} married on {text}. It is their golden wedding day today.", day, (("y", 50),)),
        (f"{name} was born on {text}. Today {name} turns {count}.", day, (("y", count),)),
        (
            f"{name} was born on the last day of February in {day.year}. Today {name} turns {count}.",
            date(day.year, 2, monthrange(day.year, 2)[1]),
            (("y", count),),
        ),
        (
            f"{name} still talks of {text}, but that was {_WORDS[count % 10 + 1]} years ago.",
            day,
            (("y", count % 10 + 1),),
        ),
        (
            f"{name} goes to the market on the {ordinal(first.day)} of each month, beginning in "
            f"{MONTHS[first.month - 1]} {first.year}. Today is visit number {visit}.",
            first,
            (("m", visit - 1),),
        ),
    )
    return rng.choice(said)


def _far(rng: Random, low: int, high: int) -> Told:
    day, count = _any_day(rng), rng.randint(low, high)
    name, text = rng.choice(NAMES), written(rng, day)
    said: tuple[tuple[str, int], ...] = (
        (f"{name} left the old job on {text}. {count} days have passed since then.", count),
        (f"On {text} {name} bought {count} eggs and ate one each day. Today the last one is gone.", count),
        (f"The exam is on {text}, which is {count} days away from now.", -count),
        (f"It was {text} exactly {count} days ago.", count),
        (f"In {count} days it will be {text}.", -count),
    )
    line, days = rng.choice(said)
    return line, day, (("d", days),)


def _ask(rng: Random, far: int) -> tuple[str, Move]:
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
    if far:
        count = rng.randint(far // 2, far)
        asks = [(f"{count} days ago", ("d", -count)), (f"{count} days from today", ("d", count))]
    return rng.choice(asks)


def _wrong_options(rng: Random, right: date, today: date, count: int) -> list[str]:
    """Near misses (a day, a month, a year off, day and month changed over) beside a few dates at random."""
    found: list[str] = []
    tries: tuple[Callable[[], date], ...] = (
        lambda: today,
        lambda: moved(right, ("d", rng.choice((-1, 1, -2, 2, -7, 7, 10, -10)))),
        lambda: moved(right, ("m", rng.choice((-1, 1, 2, -2)))),
        lambda: moved(right, ("y", rng.choice((-1, 1, 2, 30, -10)))),
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
    near = rng.random() < 0.5
    if difficulty == 1:
        text, base, moves = (_plain if near else _named)(rng)
    elif difficulty <= 3:
        text, base, moves = (_near if near else rng.choice((_years, _named)))(rng)
    elif difficulty == 4:
        text, base, moves = _far(rng, 15, 90) if near else _near(rng)
    else:
        low, high = {5: (60, 180), 6: (150, 400), 7: (400, 800), 8: (800, 1500)}[difficulty]
        text, base, moves = _far(rng, low, high)
    words, last = _ask(
        rng, {3: 60, 4: 120, 5: 60, 6: 150, 7: 400, 8: 800}.get(difficulty, 0) if rng.random() < 0.4 else 0
    )
    today = base
    for move in moves:
        today = moved(today, move)
    right = moved(today, last)
    shown = [slashed(right), *_wrong_options(rng, right, today, rng.choice((3, 4, 5, 5, 5)))]
    rng.shuffle(shown)
    return Problem(
        family="dates",
        question=f"{text} What is the date {words} in MM/DD/YYYY?" + options_block(shown),
        answer=f"({LETTERS[shown.index(slashed(right))]})",
        kind="label",
        form="label",
        difficulty=difficulty,
        work={"base": base, "moves": moves, "today": today, "last": last, "right": right, "options": tuple(shown)},
    )


def _count(rng: Random, difficulty: int) -> Problem:
    start = _any_day(rng)
    days = rng.randint(
        *{3: (8, 40), 4: (30, 100), 5: (90, 220), 6: (200, 420), 7: (400, 800), 8: (800, 1500)}[difficulty]
    )
    end = start + timedelta(days=days)
    name, first, second = rng.choice(NAMES), written(rng, start), written(rng, end)
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
