"""Values of formulas: exact where rational, to 30 digits elsewhere, and never larger than a machine can hold.

    >>> from thinkcap.grading.formula import tree
    >>> from thinkcap.grading.tokens import tokens
>>> evaluate(tree(tokens("2^{10}/3!")), {})
Fraction(512, 3)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath

from thinkcap.grading.formula import Node, has
from thinkcap.grading.tokens import Unparsed

Value = Any
"""Fraction, mpmath number, or a matrix as a tuple of rows."""

_MOST_BITS = 200_000
_MOST_EXPONENT = 10**9
_MOST_FACTORIAL = 20_000
_DIGITS = 30


class TooLarge(Exception):
    """A value nobody can write down, such as 9^9^9^9."""


class Undefined(Exception):
    """No value at this point: a division by zero, a logarithm of zero."""


def evaluate(node: Node, at: Mapping[str, Value]) -> Value:
    """The value of a tree with its variables set; raises TooLarge, Undefined or Unparsed."""
    try:
        with mpmath.workdps(_DIGITS):
            return _value(node, at)
    except (ZeroDivisionError, ValueError, mpmath.libmp.NoConvergence) as err:
        raise Undefined(str(err)) from err
    except (OverflowError, MemoryError) as err:
        raise TooLarge(str(err)) from err


def _value(node: Node, at: Mapping[str, Value]) -> Value:
    op = node[0]
    if op in ("num", "rational"):
        return node[1]
    if op == "name":
        if node[1] not in at:
            raise Unparsed(f"unknown {node[1]}")
        return at[node[1]]
    if op == "const":
        return {"pi": mpmath.mpf(mpmath.pi), "e": mpmath.mpf(mpmath.e), "i": mpmath.mpc(0, 1)}[node[1]]
    if op == "inf":
        return mpmath.inf
    if op == "based":
        return _based(node[1])
    if op in ("matrix", "det"):
        rows = tuple(tuple(_value(cell, at) for cell in row) for row in node[1])
        return rows if op == "matrix" else _determinant(rows)
    if op == "call":
        return _call(node[1], [_radians(arg, at) for arg in node[2]])
    args = [_value(part, at) for part in node[1:]]
    return _OPERATORS[op](*args)


def _radians(node: Node, at: Mapping[str, Value]) -> Value:
    """Degrees count only inside a function; elsewhere 90 degrees is 90."""
    value = _value(node, at)
    return _mp(value) * mpmath.pi / 180 if has(node, "degree") else value


def _mp(value: Value) -> Any:
    if isinstance(value, Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    if isinstance(value, tuple):
        raise Undefined("a matrix where a number belongs")
    return value


def _exact(a: Value, b: Value) -> bool:
    return isinstance(a, Fraction) and isinstance(b, Fraction)


def _bounded(value: Fraction) -> Fraction:
    if value.numerator.bit_length() > _MOST_BITS or value.denominator.bit_length() > _MOST_BITS:
        raise TooLarge("too many digits")
    return value


def _add(a: Value, b: Value) -> Value:
    if isinstance(a, tuple) or isinstance(b, tuple):
        if not (isinstance(a, tuple) and isinstance(b, tuple)) or len(a) != len(b) or len(a[0]) != len(b[0]):
            raise Undefined("matrices of different sizes")
        return tuple(tuple(_add(x, y) for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True))
    return _bounded(a + b) if _exact(a, b) else _mp(a) + _mp(b)


def _negate(a: Value) -> Value:
    return tuple(tuple(_negate(x) for x in row) for row in a) if isinstance(a, tuple) else -a


def _multiply(a: Value, b: Value) -> Value:
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a[0]) != len(b):
            raise Undefined("matrices that cannot be multiplied")
        columns = list(zip(*b, strict=True))
        return tuple(tuple(_dot(row, column) for column in columns) for row in a)
    if isinstance(a, tuple):
        return tuple(tuple(_multiply(x, b) for x in row) for row in a)
    if isinstance(b, tuple):
        return _multiply(b, a)
    return _bounded(a * b) if _exact(a, b) else _mp(a) * _mp(b)


def _dot(row: Any, column: Any) -> Value:
    total: Value = Fraction(0)
    for x, y in zip(row, column, strict=True):
        total = _add(total, _multiply(x, y))
    return total


def _divide(a: Value, b: Value) -> Value:
    if isinstance(b, tuple):
        raise Undefined("division by a matrix")
    if isinstance(a, tuple):
        return tuple(tuple(_divide(x, b) for x in row) for row in a)
    return _bounded(a / b) if _exact(a, b) else _mp(a) / _mp(b)


def _power(a: Value, b: Value) -> Value:
    if isinstance(a, tuple):
        if not isinstance(b, Fraction) or b.denominator != 1 or not 0 < b <= 64:
            raise Undefined("a power of a matrix")
        out = a
        for _ in range(int(b) - 1):
            out = _multiply(out, a)
        return out
    if _exact(a, b) and b.denominator == 1:
        size = max(a.numerator.bit_length(), a.denominator.bit_length()) * abs(b.numerator)
        if size <= _MOST_BITS:
            return a ** int(b)
    if _exact(a, b) and 1 < b.denominator <= 12 and a > 0:
        root = _exact_root(a, b.denominator)
        if root is not None:
            return _power(root, Fraction(b.numerator))
    if _exact(a, b) and a < 0 and b.denominator % 2 == 1 and b.denominator > 1:
        # The real root: (-8)^(1/3) is -2, as every answer key has it.
        real = _power(-a, b)
        return real if b.numerator % 2 == 0 else -real
    x, y = _mp(a), _mp(b)
    if abs(y) > _MOST_EXPONENT or (x != 0 and abs(y * mpmath.log(abs(x), 2)) > 2**40):
        raise TooLarge("a power beyond bounds")
    return x**y


def _exact_root(a: Fraction, n: int) -> Fraction | None:
    if max(a.numerator.bit_length(), a.denominator.bit_length()) > 900:
        return None
    tops = []
    for part in (a.numerator, a.denominator):
        guess = math.isqrt(part) if n == 2 else round(part ** (1 / n))
        if guess**n != part:
            return None
        tops.append(guess)
    return Fraction(tops[0], tops[1])


def _root(a: Value, n: Value) -> Value:
    if isinstance(a, tuple) or isinstance(n, tuple) or n == 0:
        raise Undefined("a root of a matrix")
    return _power(a, _divide(Fraction(1), n))


def _factorial(a: Value) -> Value:
    if isinstance(a, Fraction) and a.denominator == 1 and a >= 0:
        if a > _MOST_FACTORIAL:
            raise TooLarge("a factorial beyond bounds")
        return Fraction(math.factorial(int(a)))
    return mpmath.gamma(_mp(a) + 1)


def _binomial(n: Value, k: Value) -> Value:
    if _exact(n, k) and n.denominator == k.denominator == 1 and 0 <= k <= n:
        if n > _MOST_FACTORIAL:
            raise TooLarge("a binomial beyond bounds")
        return Fraction(math.comb(int(n), int(k)))
    return mpmath.binomial(_mp(n), _mp(k))


def _absolute(a: Value) -> Value:
    if isinstance(a, tuple):
        if len(a) == len(a[0]) and len(a) > 1:
            return _determinant(a)
        return _root(_dot(*[[x for row in a for x in row]] * 2), Fraction(2))
    return abs(a)


def _determinant(rows: Any) -> Value:
    if len(rows) != len(rows[0]) or len(rows) > 6:
        raise Undefined("a determinant of no square")
    if len(rows) == 1:
        return rows[0][0]
    total: Value = Fraction(0)
    for j, head in enumerate(rows[0]):
        minor = tuple(tuple(x for k, x in enumerate(row) if k != j) for row in rows[1:])
        term = _multiply(head, _determinant(minor))
        total = _add(total, term if j % 2 == 0 else _negate(term))
    return total


def _floor(a: Value) -> Value:
    return Fraction(math.floor(a)) if isinstance(a, Fraction) else mpmath.floor(a)


def _ceil(a: Value) -> Value:
    return Fraction(math.ceil(a)) if isinstance(a, Fraction) else mpmath.ceil(a)


def _based(text: str) -> Value:
    """Digits in a base, as a number that no other number equals by chance: the written digits are the answer."""
    digits, _, base = text.partition("_")
    if not digits.isdigit() or not base.isdigit() or not 2 <= int(base) <= 36:
        raise Unparsed("no base")
    return Fraction(int(digits, int(base)))


_OPERATORS: dict[str, Callable[..., Value]] = {
    "+": _add, "-": lambda a, b: _add(a, _negate(b)), "*": _multiply, "/": _divide, "^": _power, "neg": _negate,
    "root": _root, "!": _factorial, "binom": _binomial, "abs": _absolute, "floor": _floor, "ceil": _ceil,
    "%": lambda a: _divide(a, Fraction(100)), "degree": lambda a: a,
    "T": lambda a: tuple(zip(*a, strict=True)),
}  # fmt: skip

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "cot": mpmath.cot, "sec": mpmath.sec,
    "csc": mpmath.csc,
    "arcsin": mpmath.asin, "arccos": mpmath.acos, "arctan": mpmath.atan, "arccot": mpmath.acot,
    "arcsec": mpmath.asec,
    "arccsc": mpmath.acsc, "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "sinh": mpmath.sinh,
    "cosh": mpmath.cosh, "tanh": mpmath.tanh, "coth": mpmath.coth, "sech": mpmath.sech, "csch": mpmath.csch,
    "ln": mpmath.log, "log": mpmath.log, "lg": mpmath.log10, "exp": mpmath.exp, "Re": mpmath.re, "Im": mpmath.im,
}  # fmt: skip


def _call(name: str, args: list[Value]) -> Value:
    if name in ("gcd", "lcm"):
        if not all(isinstance(a, Fraction) and a.denominator == 1 for a in args):
            raise Undefined(f"{name} of no whole numbers")
        return Fraction((math.gcd if name == "gcd" else math.lcm)(*(int(a) for a in args)))
    if name in ("max", "min"):
        numbers = [_mp(a) for a in args]
        pick = (max if name == "max" else min)(range(len(args)), key=lambda i: mpmath.re(numbers[i]))
        return args[pick]
    if name in ("abs", "floor", "ceil", "det") and len(args) == 1:
        return {"abs": _absolute, "floor": _floor, "ceil": _ceil, "det": _determinant}[name](args[0])
    if name == "logbase":
        result = mpmath.log(_mp(args[1])) / mpmath.log(_mp(args[0]))
        whole = mpmath.nint(mpmath.re(result))
        return Fraction(int(whole)) if abs(result - whole) < 1e-25 else result
    if len(args) != 1 or name not in _FUNCTIONS:
        raise Unparsed(f"{name} of {len(args)}")
    x = _mp(args[0])
    if mpmath.isinf(x) or abs(x) > 10**12:
        raise Undefined("a function far out")
    return _FUNCTIONS[name](x)
