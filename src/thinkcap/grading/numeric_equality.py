"""Identity of formulas by evaluation: exact for rational values, at chosen points for formulas with variables.

    >>> from thinkcap.grading.formula import tree
    >>> from thinkcap.grading.tokens import tokens
>>> same_formula(tree(tokens("\\\\tan^2 y + 1")), tree(tokens("\\\\sec^2 y")))
True
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import mpmath

from thinkcap.grading.evaluate import TooLarge, Undefined, Value, evaluate
from thinkcap.grading.formula import Node, has, names
from thinkcap.grading.tokens import Unparsed

_REL = mpmath.mpf(10) ** -18
"""For values computed to 30 digits."""
_ROUNDED = Fraction(1, 10**6)
"""How far a written decimal may be from an exact value that has no finite decimals."""
_ENOUGH_DIGITS = 6
_MOST_NAMES = 12


def same_formula(gold: Node, answer: Node) -> bool:
    """Whether two formulas are one value. Raises TooLarge where a value cannot be held."""
    if gold == answer:
        return True
    if has(gold, "based") or has(answer, "based"):
        return _same_digits(gold, answer)
    gold, answer = _outward(gold), _outward(answer)
    if (gold[0] == "%") != (answer[0] == "%"):
        # 20% is 20 in most answer keys and 0.2 in others; both readings of the sign are accepted.
        inner, other = (gold[1], answer) if gold[0] == "%" else (answer[1], gold)
        return _same_values(inner, other) or _same_values(("/", inner, ("num", Fraction(100), 3)), other)
    if _same_values(gold, answer):
        return True
    # `\log` is natural in some books and decadic in others; the two never mix in one answer.
    decadic = _decadic(gold), _decadic(answer)
    return decadic != (gold, answer) and _same_values(*decadic)


def _decadic(node: Node) -> Node:
    if not isinstance(node, tuple):
        return node
    if node[:2] == ("call", "log"):
        return ("call", "lg", *(_decadic(part) for part in node[2:]))
    return tuple(_decadic(part) for part in node)


def _outward(node: Node) -> Node:
    """The sign of `-5%` inside, its percent outside."""
    return ("%", ("neg", node[1][1])) if node[0] == "neg" and node[1][0] == "%" else node


def constant(node: Node) -> bool:
    return not names(node)


def _same_digits(gold: Node, answer: Node) -> bool:
    """Numbers in a base: the digits are the answer; the base may be left out, since the question names it."""
    written = []
    for node in (gold, answer):
        if node[0] == "based":
            digits, _, base = node[1].partition("_")
            written.append((digits, base))
        elif node[0] == "num" and node[1].denominator == 1:
            written.append((str(node[1].numerator), ""))
        else:
            return False
    (ours, our_base), (theirs, their_base) = written
    return ours == theirs and (not our_base or not their_base or our_base == their_base)


def _same_values(gold: Node, answer: Node) -> bool:
    free = names(gold) | names(answer)
    if not free:
        try:
            return close(evaluate(gold, {}), evaluate(answer, {}), gold, answer)
        except Undefined:
            return False
    if len(free) > _MOST_NAMES:
        raise Unparsed("too many variables")
    tried = 0
    complex_ = _imaginary(gold) or _imaginary(answer)
    for point in _points(tuple(sorted(free))):
        try:
            x, y = evaluate(gold, point), evaluate(answer, point)
        except (Undefined, TooLarge):
            continue
        if not complex_ and (_is_complex(x) or _is_complex(y)):
            continue  # outside the real domain of one of them
        if not close(x, y, gold, answer):
            return False
        tried += 1
    if tried >= 3:
        return True
    return _agree_anywhere(gold, answer, tuple(sorted(free)))


def _agree_anywhere(gold: Node, answer: Node, free: tuple[str, ...]) -> bool:
    """With no real domain to share, complex values decide."""
    tried = 0
    for point in _points(free):
        try:
            if not close(evaluate(gold, point), evaluate(answer, point), gold, answer):
                return False
        except (Undefined, TooLarge):
            continue
        tried += 1
    return tried >= 3


def _imaginary(node: Node) -> bool:
    return (
        isinstance(node, tuple) and bool(node) and (node[:2] == ("const", "i") or any(_imaginary(p) for p in node))
    )


def _is_complex(value: Value) -> bool:
    return isinstance(value, mpmath.mpc) and abs(value.imag) > 1e-20 * (1 + abs(value.real))


@lru_cache(maxsize=256)
def _points(free: tuple[str, ...]) -> tuple[dict[str, Value], ...]:
    """Positive, mixed and whole points, the same for every comparison of the same variables."""
    return tuple(_draw(free))


def _draw(free: tuple[str, ...]) -> Iterator[dict[str, Value]]:
    chance = random.Random(2024)
    for low, high, places in ((1, 60, 17), (-60, 60, 17), (2, 12, 1)):
        for _ in range(4):
            yield {
                name: Fraction(chance.randint(low, high) * (3 if places > 1 else 1) + (places > 1), places)
                for name in free
            }


def close(x: Value, y: Value, gold: Node = (), answer: Node = ()) -> bool:
    """Equal values: exactly where both are finite decimals; else by the rule for rounded decimals."""
    if isinstance(x, tuple) or isinstance(y, tuple):
        if not isinstance(x, tuple) or not isinstance(y, tuple) or len(x) != len(y) or len(x[0]) != len(y[0]):
            return False
        return all(close(a, b) for r, s in zip(x, y, strict=True) for a, b in zip(r, s, strict=True))
    if x == y:
        return True
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        if _terminates(x) and _terminates(y):
            # 0.30000000000000004 is how machines write 0.3
            return (x.denominator > 1 or y.denominator > 1) and abs(x - y) * 10**14 <= max(abs(x), abs(y))
        return _rounds(x, y, answer) or _rounds(y, x, gold)
    with mpmath.workdps(30):
        a, b = _number(x), _number(y)
        if mpmath.isinf(a) or mpmath.isinf(b) or mpmath.isnan(a) or mpmath.isnan(b):
            return bool(a == b)
        if abs(a - b) <= _REL * max(1, abs(a), abs(b)) and (abs(a - b) <= _REL * 10**6 * max(abs(a), abs(b))):
            return True
        decimal = isinstance(x, Fraction) != isinstance(y, Fraction) or _decimals(gold) or _decimals(answer)
        return bool(decimal) and (_rounds(x, y, answer) or _rounds(y, x, gold))


def _number(x: Value) -> Value:
    return mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x


def _terminates(x: Fraction) -> bool:
    rest = x.denominator
    while rest % 2 == 0:
        rest //= 2
    while rest % 5 == 0:
        rest //= 5
    return rest == 1


def _decimals(node: Node) -> bool:
    return isinstance(node, tuple) and bool(node) and (
        (node[0] == "num" and node[1].denominator != 1) or any(_decimals(p) for p in node)
    )  # fmt: skip


def _rounds(exact: Value, rounded: Value, node: Node) -> bool:
    """Whether the second is a written decimal that rounds or cuts the first, with six digits or more."""
    if not isinstance(rounded, Fraction) and not _decimals(node):
        return False
    if isinstance(rounded, Fraction) and not _terminates(rounded):
        return False
    with mpmath.workdps(30):
        a, b = _number(exact), _number(rounded)
        if node and not _decimals(node):
            return False
        if abs(a - b) <= _number(_ROUNDED) * abs(a):
            return True
        written = node[1] if node and node[0] == "neg" else node
        if not written or written[0] != "num" or written[2] < _ENOUGH_DIGITS:
            return False
        places = 0
        while (written[1] * 10**places).denominator != 1:
            places += 1
        return bool(abs(a - b) < mpmath.mpf(10) ** -places)


def equal_values(x: Node, y: Node) -> bool:
    return same_formula(x, y)


def proportional(gold: Node, answer: Node, sign: int = 0) -> bool:
    """Whether one difference is a constant multiple of the other (`sign=1`: a positive one)."""
    free = tuple(sorted(names(gold) | names(answer)))
    if not free or len(free) > _MOST_NAMES or names(gold) != names(answer):
        return False
    ratio: Value = None
    tried = 0
    for point in _points(free):
        try:
            x, y = evaluate(gold, point), evaluate(answer, point)
            if _is_complex(x) or _is_complex(y) or isinstance(x, tuple) or isinstance(y, tuple):
                continue
            if x == 0 or y == 0:
                if x != y:
                    return False
                continue
            now = _number(x) / _number(y)
        except (Undefined, TooLarge):
            continue
        if ratio is None:
            ratio = now
        elif abs(now - ratio) > 1e-12 * abs(ratio):
            return False
        tried += 1
    return tried >= 3 and (sign == 0 or ratio * sign > 0)


def opposite(gold: Node, answer: Node) -> bool:
    """Whether one difference is a negative multiple of the other."""
    return proportional(gold, ("neg", answer), sign=1)
