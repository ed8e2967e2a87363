"""Chained arithmetic stories with products too large to do in one go, so that working them out pays.

>>> from random import Random
>>> p = make(Random(1), 2)
>>> p.answer == str(p.work["steps"][-1][3])
True
"""

from __future__ import annotations

from random import Random

from thinkcap.tasks.families.problem import NAMES, Problem, words

_THINGS = words(
    "apples marbles stamps coins books pencils shells cards tickets eggs beads stones plums bricks nails seeds "
    "cookies bottles tiles roses lamps boxes candles jars"
)

_TOLD = {
    "+": (
        "{n} gets {b} more.",
        "Then {n} buys {b} more.",
        "A friend gives {n} {b} {t}.",
        "{n} finds another {b} {t}.",
        "Next, {b} {t} are added.",
    ),
    "-": (
        "{n} gives away {b}.",
        "Then {n} sells {b} {t}.",
        "{n} loses {b} of them.",
        "After that, {b} {t} break.",
        "Then {b} are used up.",
    ),
    "*": (
        "Then the number of {t} becomes {b} times as large.",
        "{n} ends up with {b} times as many.",
        "There are {b} such piles in all, and {n} takes every one.",
        "The count is multiplied by {b}.",
        "{n} wins until there are {b} times as many {t}.",
    ),
    "/": (
        "{n} splits them evenly into {b} bags and keeps one bag.",
        "The {t} are shared equally among {b} people, and {n} keeps one share.",
        "Only one in every {b} is kept.",
        "The count is divided by {b}.",
    ),
}

_STARTS = (
    "{n} has {a} {t}.",
    "{n} starts with {a} {t}.",
    "At first {n} owns {a} {t}.",
    "There are {a} {t} on {n}'s table.",
    "{n} collected {a} {t} last week.",
)
_ENDS = (
    "How many {t} does {n} have now?",
    "How many {t} are there in the end?",
    "How many {t} are left?",
    "What is the final number of {t}?",
)
_BARE = ("Compute {e}.", "What is {e}?", "Evaluate {e}.", "Find the value of {e}.")

# By difficulty: how many steps, and the digits of the two factors of its large products.
_STEPS = {1: (2, 2), 2: (2, 3), 3: (3, 4), 4: (3, 5), 5: (4, 6), 6: (5, 7), 7: (7, 9), 8: (9, 13)}
_PRODUCTS = {
    1: [(2, 1)],
    2: [(2, 2)],
    3: [(3, 2)],
    4: [(2, 2), (3, 2)],
    5: [(3, 2), (4, 2)],
    6: [(3, 3), (4, 2)],
    7: [(3, 3), (3, 2), (4, 2)],
    8: [(3, 3), (3, 3), (4, 2), (3, 2)],
}


def _digits(rng: Random, count: int) -> int:
    return rng.randint(10 ** (count - 1) + (count == 1), 10**count - 1)


def _chain(rng: Random, difficulty: int) -> list[tuple[int, str, int, int]]:
    """(value, operator, operand, result) of each step, every result a whole number from 1 to seven digits."""
    count = rng.randint(*_STEPS[difficulty])
    wanted = list(_PRODUCTS[difficulty])
    if difficulty > 3 and rng.random() < 0.4:
        wanted = wanted[-1:]
    large = sorted(rng.sample(range(count), min(len(wanted), count)))
    value = _digits(rng, wanted[0][0] if large[0] == 0 else rng.choice((2, 2, 3)))
    steps: list[tuple[int, str, int, int]] = []
    for at in range(count):
        if at in large:
            tall, wide = wanted[large.index(at)]
            # A product needs a factor of the wanted size: bring the running value near it first.
            size = len(str(value))
            if size > tall + 1 or value * 10**wide > 3_000_000:
                divisors = [d for d in range(2, 10) if value % d == 0]
                op, b = ("/", rng.choice(divisors)) if divisors else ("-", rng.randint(value // 2, value - 1))
            else:
                op, b = "*", _digits(rng, wide)
        else:
            divisors = [d for d in range(2, 10) if value % d == 0 and value >= 4 * d]
            ops = "++--" + ("//" if divisors else "") + ("*" if value < 1000 else "")
            op = rng.choice(ops)
            if op == "/":
                b = rng.choice(divisors)
            elif op == "*":
                b = rng.randint(2, 9)
            elif op == "-":
                b = rng.randint(1, max(1, min(value - 1, 10 ** len(str(value)) // 3)))
            else:
                b = _digits(rng, min(4, max(1, len(str(value)) + rng.choice((-1, 0, 0)))))
        if op == "-" and value < 2:
            op, b = "+", _digits(rng, 2)
        result = {"+": value + b, "-": value - b, "*": value * b, "/": value // b}[op]
        steps.append((value, op, b, result))
        value = result
    return steps


def _expression(steps: list[tuple[int, str, int, int]]) -> str:
    """The chain as one bracketed expression that any reader evaluates the same way."""
    text = str(steps[0][0])
    last = ""
    for _, op, b, _ in steps:
        if last and last in "+-" and op in "*/":
            text = f"({text})"
        text += f" {op} {b}"
        last = op
    return text


def make(rng: Random, difficulty: int) -> Problem:
    steps = _chain(rng, difficulty)
    bare = rng.random() < 0.25
    if bare:
        question = rng.choice(_BARE).format(e=_expression(steps))
    else:
        words = {"n": rng.choice(NAMES), "t": rng.choice(_THINGS)}
        told = [rng.choice(_STARTS).format(a=steps[0][0], **words)]
        told += [rng.choice(_TOLD[op]).format(b=b, **words) for _, op, b, _ in steps]
        question = " ".join([*told, rng.choice(_ENDS).format(**words)])
    form = rng.choice(("number", "math")) if bare else rng.choice(("number", "number", "number", "math"))
    return Problem(
        family="arithmetic",
        question=question,
        answer=str(steps[-1][3]),
        kind=form,
        form=form,
        difficulty=difficulty,
        work={"steps": tuple(steps)},
    )
