"""Boolean expressions of any nesting, because their answer is one word and their working can be of any length.

>>> from random import Random
>>> make(Random(3), 1).answer in ("True", "False")
True
"""

from __future__ import annotations

from random import Random

from thinkcap.tasks.families.problem import Problem

# Tokens in an expression (a literal, an operator or a parenthesis each) by difficulty.
_LENGTHS = {1: (4, 7), 2: (8, 8), 3: (9, 13), 4: (14, 19), 5: (20, 26), 6: (27, 34), 7: (35, 44), 8: (45, 56)}

_ASKED = (
    "{} is",
    "{} is",
    "{} is",
    "Evaluate: {}",
    "What is the value of {}?",
    "Is this true or false? {}",
    "Find the truth value of {}",
)


def expression(rng: Random, length: int) -> list[str]:
    """A random well-formed expression of exactly `length` tokens; `not` runs and idle parentheses included."""
    if length == 1:
        return [rng.choice(("True", "False"))]
    ways = ["not"] * 2
    if length >= 3:
        ways += ["()"] + ["op"] * (3 if length < 6 else 5)
    way = rng.choice(ways)
    if way == "not":
        # `not not not ...` runs happen in printed exercises more often than chance would make them.
        run = rng.choice((1, 1, 1, 1, 2, 2, 3, 4, 5, 7))
        run = min(run, length - 1)
        return ["not"] * run + expression(rng, length - run)
    if way == "()":
        return ["(", *expression(rng, length - 2), ")"]
    left = rng.randint(1, length - 2)
    return [*expression(rng, left), rng.choice(("and", "or")), *expression(rng, length - 1 - left)]


def reducible(tokens: list[str], at: int) -> tuple[int, str] | None:
    """How many tokens from `at` reduce to one literal, and to which, or None. Precedence: not, and, or."""
    first = tokens[at]
    follow = tokens[at + 1] if at + 1 < len(tokens) else ""
    if first == "not":
        if follow in ("True", "False"):
            return 2, "False" if follow == "True" else "True"
        return None
    third = tokens[at + 2] if at + 2 < len(tokens) else ""
    if first == "(":
        return (3, follow) if third == ")" else None
    if first not in ("True", "False") or follow not in ("and", "or") or third not in ("True", "False"):
        return None
    before = tokens[at - 1] if at else ""
    if before == "not":
        return None
    if follow == "and":
        return 3, "True" if first == third == "True" else "False"
    after = tokens[at + 3] if at + 3 < len(tokens) else ""
    if before == "and" or after == "and":
        return None
    return 3, "True" if "True" in (first, third) else "False"


def reductions(tokens: list[str], leftmost: bool = True) -> list[tuple[str, str, str]]:
    """(what is replaced, by what, the expression after it), one after the other until a literal is left."""
    steps = []
    while len(tokens) > 1:
        places = range(len(tokens)) if leftmost else range(len(tokens) - 1, -1, -1)
        for at in places:
            found = reducible(tokens, at)
            if found:
                size, value = found
                piece = " ".join(tokens[at : at + size])
                tokens = [*tokens[:at], value, *tokens[at + size :]]
                steps.append((piece, value, " ".join(tokens)))
                break
    return steps


def make(rng: Random, difficulty: int) -> Problem:
    low, high = _LENGTHS[difficulty]
    tokens = expression(rng, rng.randint(low, high))
    text = " ".join(tokens)
    return Problem(
        family="boolean",
        question=rng.choice(_ASKED).format(text),
        answer=reductions(tokens)[-1][1],
        kind="label",
        form="truth",
        difficulty=difficulty,
        work={"tokens": tuple(tokens)},
    )
