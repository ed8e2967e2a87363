"""How a date question tells what today is: plainly, from a day nearby, by a name, from years or days ago.

>>> from random import Random
>>> told = plain(Random(1))
>>> told.moves
()
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from thinkcap.tasks.families.problem import made_up, people, words

MONTHS = words("January February March April May June July August September October November December")
_WEEKDAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_WORDS = words("zero one two three four five six seven eight nine ten")
_NTH = words("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth")

Move = tuple[str, int]
"""("d", 7): a week later; ("m", -1): a month earlier; ("y", 5): five years later."""


class ToldDate(NamedTuple):
    """What the question says, the date it names, the moves from there to today, and how the date is read."""

    text: str
    base: date
    moves: tuple[Move, ...] = ()
    reading: str = ""


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


def any_day(rng: Random) -> date:
    day = date(rng.randint(1900, 2030), 1, 1) + timedelta(days=rng.randrange(365))
    if rng.random() < 0.3:
        # Month ends are where people slip.
        day = day.replace(day=rng.choice((1, 2, monthrange(day.year, day.month)[1])))
    return day


def plain(rng: Random) -> ToldDate:
    day = any_day(rng)
    (name,), text = people(rng, 1), written(rng, day)
    count = rng.randint(2, 9)
    said = (
        f"Today is {text}.",
        f"Today is {text}.",
        f"It is {text} today.",
        f"{text} is today's date.",
        f"Today, {text}, is a day {name} will remember.",
        f"Today, {text}, is one of the great days in {name}'s life.",
        f"Today is {text}. {name} has a visit to the dentist in {count} days.",
        f"Today is {text}. {name}'s exam comes {count} days later.",
        f"It is {rng.randint(1, 11)}:{rng.randint(0, 59):02d} pm on {text}.",
        f"The local time is now {rng.randint(1, 11)}:{rng.randint(0, 59):02d} am of {text}.",
        f"Today is the {_NTH[day.month - 1]} month of {day.year}, day {day.day}.",
        f"{name} is watching the games of {day.year}. Today is {day.month}/{day.day}.",
        f"Today is {day.month}/{day.day}. {name} follows the {made_up(rng).upper()} season {day.year}.",
        f"Today is {day.month}/{day.day}, and {name} sees the {_NTH[count]} comet of the year {day.year}.",
    )
    return ToldDate(rng.choice(said), day)


def near(rng: Random) -> ToldDate:
    day = any_day(rng)
    (name,), text = people(rng, 1), written(rng, day)
    count = rng.randint(2, 9)
    week = _WEEKDAYS[day.weekday()][:3]
    after = day + timedelta(days=1)
    month, late = MONTHS[day.month - 1], f"{MONTHS[after.month - 1][:3]} {after.day}"
    impossible, size = f"{day.month}/{day.day + 1}/{day.year}", monthrange(day.year, day.month)[1]
    said: tuple[tuple[str, int], ...] = (
        (f"Yesterday was {text}.", 1),
        (f"Yesterday was {text}. Today is not {impossible}, since {month} is not so long.", 1),
        (
            f"Yesterday was {text}. It cannot be {impossible} today because {month} has {size} days.",
            1,
        ),
        (f"Yesterday was {text}. {name} had {count} cups of tea. Today could be a day for {count + 9} more.", 1),
        (f"Yesterday, {text}, {name} ate {count} pizzas and {count + 3} cakes.", 1),
        (f"Tomorrow is {text}.", -1),
        (f"{name} has booked a trip for tomorrow, {text}.", -1),
        (f"{name}'s flight leaves tomorrow, {text}.", -1),
        (f"The meeting was moved to tomorrow, {text}.", -1),
        (f"The lesson of today is put off to {count} pm tomorrow, {text}.", -1),
        (f"{name} has {count} meetings tomorrow ({week}, {text}).", -1),
        (f"{name} will see {count} guests with {count + 2} dogs tomorrow ({week}, {text}).", -1),
        (f"The day before yesterday was {text}.", 2),
        (f"The day after tomorrow is {text}.", -2),
        (f"It was {text} a week ago.", 7),
        (f"A week from now it will be {text}.", -7),
        (f"The deadline is {text}, which is {count} days away from now.", -count),
        (f"{name} must be ready by {text}, {count} days from now.", -count),
        (f"{_WORDS[count].capitalize()} days ago it was {text}.", count),
        (f"The concert was planned for {text}, but was put off by {_WORDS[count]} days to today.", count),
        (f"The match was to be on {text}, but was delayed by one day to today.", 1),
        (f"{name} believed today is {text}, but today is in fact one day later.", 1),
        (
            f"{name} took today for {text}, but it is in truth {late}, 1 day later.",
            1,
        ),
    )
    line, days = rng.choice(said)
    return ToldDate(line, day, (("d", days),))


def named(rng: Random) -> ToldDate:
    year, month = rng.randint(1900, 2030), rng.randint(1, 12)
    name, second = people(rng, 2)
    quarter, place = rng.randint(1, 4), rng.randint(1, 12)
    last = monthrange(year, month)[1]
    first = date(year, 1, 1)
    named = MONTHS[month - 1]
    said: tuple[ToldDate, ...] = (
        ToldDate(f"It is the last day of {named} {year}.", date(year, month, last)),
        ToldDate(f"{name} enjoys the last day of {named[:3]} {year}.", date(year, month, last)),
        ToldDate(f"Today is the first day of {named} in {year}.", date(year, month, 1)),
        ToldDate(f"Today is the first day of {year}.", first),
        ToldDate(f"This is the last day of {year}.", date(year, 12, 31)),
        ToldDate(f"Today is Christmas Eve of {year}.", date(year, 12, 24)),
        ToldDate(f"Today is Christmas Day of {year}.", date(year, 12, 25)),
        ToldDate(f"Today is New Year's Eve of {year}.", date(year, 12, 31)),
        ToldDate(
            f"Today is the last day of the {_NTH[quarter - 1]} quarter of {year}.",
            date(year, 3 * quarter, monthrange(year, 3 * quarter)[1]),
        ),
        ToldDate(
            f"Today is the {_NTH[place - 1]} day of the {_NTH[month - 1]} month of {year}.",
            date(year, month, place),
        ),
        _coming(rng, year),
        _coming(rng, year),
        _disputed(rng, name, second, year, month),
        _disputed(rng, name, second, year, month),
        _british(rng, year, month),
        _british(rng, year, month),
        _first_weekday(rng, year),
        _first_weekday(rng, year),
    )
    return rng.choice(said)


def _first_weekday(rng: Random, year: int) -> ToldDate:
    start, wanted = date(year, 1, 1).weekday(), rng.randrange(7)
    later = (wanted - start) % 7
    counted = "; ".join(f"{_WEEKDAYS[(start + d) % 7]} {d + 1}" for d in range(later + 1))
    text = rng.choice(
        (
            "The first day of {y} is a {a}, and today is the first {b} of {y}.",
            "{y} began on a {a}. Today is the first {b} of that year.",
            "As {y} starts with a {a}, and today is its first {b}, {n} is planning ahead.",
        )
    ).format(y=year, a=_WEEKDAYS[start], b=_WEEKDAYS[wanted], n=people(rng, 1)[0])
    return ToldDate(text, date(year, 1, 1 + later), (), counted + "\n")


def _coming(rng: Random, year: int) -> ToldDate:
    hours = rng.choice((12, 24, 36, 36, 48))
    days = {12: 1, 24: 1, 36: 2, 48: 2}[hours]
    text = rng.choice(
        (
            "{y} begins in {h} hours.",
            "It is {h} hours until {y}.",
            "In {h} hours {y} comes.",
            "{y} will be here in {h} hours.",
        )
    )
    return ToldDate(text.format(y=year, h=hours), date(year, 1, 1), (("d", -days),))


def _disputed(rng: Random, name: str, second: str, year: int, month: int) -> ToldDate:
    """Two people name two dates, and one of them is right."""
    one = date(year, month, rng.randint(1, 28))
    other = one + timedelta(days=rng.choice((1, -1, 2, 7)))
    says = rng.choice(("says", "thinks", "believes"))
    text = f"{name} {says} today is {written(rng, one)}, but {second} {says} {rng.choice(('it', 'today'))} is "
    text += f"{written(rng, other)}."
    first_right = rng.random() < 0.5
    good, bad = (name, second) if first_right else (second, name)
    text += rng.choice(
        (f" {good} is right.", f" {good} is right.", f" {bad} is wrong.", f" In fact {good} is right.")
    )
    reading = f"{name} {slashed(one)}; {second} {slashed(other)}; {good} is right\n"
    return ToldDate(text, one if first_right else other, (), reading)


def _british(rng: Random, year: int, month: int) -> ToldDate:
    day = date(year, month, rng.randint(1, 12))
    there = f"{day.day:02d}/{day.month:02d}/{day.year}"
    text = rng.choice(
        (
            f"In Britain the day is written before the month, so today is {there} there.",
            f"People in the UK put the day before the month. So to them today is {there}.",
            f"With the day first, as in the UK, today is {there}.",
            "In the UK, a date is mostly written with the day before the month. "
            f"Hence, today is {there} to people there.",
            "People in the UK usually write the day before the month when they note a date. "
            f"Thus today is {there} to them.",
            f"In England they write the day, then the month. Therefore, today is {there} for them.",
        )
    )
    return ToldDate(text, day, (), f"{there}: day {day.day}, month {day.month}\n")


def years(rng: Random) -> ToldDate:
    day = any_day(rng)
    name, other = people(rng, 2)
    count = rng.choice((1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20))
    text, few = written(rng, day), rng.randint(2, 10)
    visit = rng.randint(2, 12)
    first = day.replace(day=min(day.day, 28))
    nth, month = ordinal(first.day), MONTHS[first.month - 1]
    place = rng.choice(("the market", "the library", "the zoo", "a friend"))
    february = date(day.year, 2, monthrange(day.year, 2)[1])
    monthly: tuple[Move, ...] = (("m", visit - 1),)
    said: tuple[ToldDate, ...] = (
        ToldDate(
            f"{name} and {other} married on {text}. Today is their {count}-year anniversary.", day, (("y", count),)
        ),
        _jubilee(rng, day, name, other),
        ToldDate(
            f"{name} and {other} wed on {text}. It is their {count}-year anniversary today.", day, (("y", count),)
        ),
        ToldDate(f"{name} was born on {text}. Today {name} turns {count}.", day, (("y", count),)),
        ToldDate(f"{name} was born on {text}. It is the {count}-year-old birthday today.", day, (("y", count),)),
        ToldDate(
            f"{name} was born on the last day of February in {day.year}. Today {name} turns {count}.",
            february,
            (("y", count),),
        ),
        ToldDate(f"{name} still talks of {text}, but that was {_WORDS[few]} years ago.", day, (("y", few),)),
        ToldDate(
            f"{text} feels like last week to {name}, but it was {_WORDS[few]} years ago.", day, (("y", few),)
        ),
        ToldDate(
            f"{name} goes to {place} on the {nth} of each month, beginning in {month} {first.year}. "
            f"Today is visit number {visit}.",
            first,
            monthly,
        ),
        ToldDate(
            f"On the {nth} of every month {name} goes to {place}, first in the {month} of {first.year}. "
            f"It is the {ordinal(visit)} visit today.",
            first,
            monthly,
        ),
        ToldDate(
            f"{name} sees {place} on the {nth} of each month, starting from the {month} of {first.year}. "
            f"It is {rng.choice(('her', 'his'))} {ordinal(visit)} time today.",
            first,
            monthly,
        ),
    )
    return rng.choice(said)


def _jubilee(rng: Random, day: date, name: str, other: str) -> ToldDate:
    kind, count = rng.choice((("silver", 25), ("golden", 50), ("golden", 50), ("diamond", 60)))
    ending = rng.choice(("It is their {} wedding day today.", "Today is their {} wedding anniversary."))
    return ToldDate(
        f"{name} and {other} married on {written(rng, day)}. " + ending.format(kind), day, (("y", count),)
    )


def far(rng: Random, low: int, high: int) -> ToldDate:
    day, count = any_day(rng), rng.randint(low, high)
    (name,), text = people(rng, 1), written(rng, day)
    said: tuple[tuple[str, int], ...] = (
        (f"{name} left the old job on {text}. {count} days have passed since then.", count),
        (f"On {text} {name} bought {count} eggs and ate one each day. Today the last one is gone.", count),
        (f"{name} bought {count} pills on {text} and took one a day. Today they ran out.", count),
        (f"The exam is on {text}, which is {count} days away from now.", -count),
        (f"It was {text} exactly {count} days ago.", count),
        (f"In {count} days it will be {text}.", -count),
    )
    line, days = rng.choice(said)
    return ToldDate(line, day, (("d", days),))
