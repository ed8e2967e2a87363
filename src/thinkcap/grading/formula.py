"""Formulas as trees: a small parser for what answers are written in, LaTeX and ASCII alike.

>>> from thinkcap.grading.tokens import tokens
>>> tree(tokens("x - 2"))
('-', ('name', 'x'), ('num', Fraction(2, 1), 1))
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from thinkcap.grading.tokens import Token, Unparsed, tokens

Node = tuple[Any, ...]
"""Operator first, then its operands: ('+', a, b), ('num', value, significant digits), ('name', 'x')."""

_CLOSERS = {"(": ")", "[": "]", "{": "}", "\\{": "\\}", "lfloor": "rfloor", "lceil": "rceil"}
_MOST_DEPTH = 60


def tree(parts: Sequence[Token]) -> Node:
    """The tree of a formula; raises Unparsed where the tokens are none."""
    parser = _Parser(parts)
    node = parser.sum()
    if parser.here() is not None:
        raise Unparsed(f"does not go on with {parser.here()}")
    return node


def number(text: str) -> Node:
    """A number with its count of significant digits, which says how far it may be rounded."""
    digits, _, exponent = text.lower().partition("e")
    if len(exponent) > 4:
        raise Unparsed("an exponent beyond bounds")
    digits = digits.replace(".", "").lstrip("0")
    return ("num", Fraction(text), len(digits))


class _Parser:
    def __init__(self, parts: Sequence[Token]) -> None:
        self.parts = list(parts)
        self.at = 0
        self.depth = 0
        self.bars = 0

    def here(self) -> Token | None:
        return self.parts[self.at] if self.at < len(self.parts) else None

    def is_op(self, *ops: str) -> bool:
        token = self.here()
        return token is not None and token.kind == "op" and token.text in ops

    def take(self) -> Token:
        token = self.here()
        if token is None:
            raise Unparsed("ends too early")
        self.at += 1
        return token

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise Unparsed("too deeply nested")
        node = self.product()
        while self.is_op("+", "-", "pm", "mp"):
            op = self.take().text
            node = (op, node, self.product())
        self.depth -= 1
        return node

    def product(self) -> Node:
        if self.is_op("+", "-", "pm", "mp"):
            op = self.take().text
            node = self.product()
            return node if op == "+" else ("neg", node) if op == "-" else (op, ("num", Fraction(0), 0), node)
        node = self.factor()
        while True:
            if self.is_op("*", "/"):
                op = self.take().text
                right = self.signed_factor()
                node = (op, node, right)
            elif self._starts_factor(after=node):
                node = ("*", node, self.factor())
            else:
                return node

    def signed_factor(self) -> Node:
        if self.is_op("-", "+"):
            negative = self.take().text == "-"
            inner = self.signed_factor()
            return ("neg", inner) if negative else inner
        return self.factor()

    def _starts_factor(self, after: Node) -> bool:
        token = self.here()
        if token is None:
            return False
        if token.kind == "num" and after[0] in ("num", "based"):
            raise Unparsed("two numbers side by side")
        if token.kind in ("num", "name", "func", "matrix", "det", "inf", "based"):
            return True
        return token.kind == "op" and (token.text in _CLOSERS or (token.text == "|" and self.bars == 0))

    def factor(self) -> Node:
        """One operand with what is attached to it: powers, factorials, percent and degree signs."""
        first = self.here()
        node = self._attached(self.atom())
        mixed = self._mixed(first, node)
        return node if mixed is node else self._attached(mixed)

    def _attached(self, node: Node) -> Node:
        while True:
            if self.is_op("^"):
                self.take()
                power = self.power()
                node = ("T", node) if power == ("name", "T") and node[0] == "matrix" else ("^", node, power)
            elif self.is_op("!"):
                self.take()
                node = ("!", node)
            elif self.is_op("%"):
                self.take()
                node = ("%", node)
            elif self.is_op("degree"):
                self.take()
                node = ("degree", node)
            else:
                return node

    def _mixed(self, first: Token | None, node: Node) -> Node:
        """`1\\frac{1}{2}` and `1 1/2` are one and a half, not a product."""
        if first is None or first.kind != "num" or not first.text.isdigit() or node[0] != "num":
            return node
        rest = self.parts[self.at : self.at + 3]
        if len(rest) == 3 and [t.kind for t in rest] == ["num", "op", "num"] and rest[1].text == "/":
            if all(t.text.isdigit() for t in (rest[0], rest[2])) and int(rest[2].text):
                self.at += 3
                return ("+", node, ("/", number(rest[0].text), number(rest[2].text)))
        elif rest and rest[0].kind == "func" and rest[0].text == "frac":
            back = self.at
            fraction = self.atom()
            if fraction[0] == "/" and all(p[0] == "num" and p[1].denominator == 1 for p in fraction[1:]):
                return ("+", node, fraction)
            self.at = back
        return node

    def power(self) -> Node:
        """What follows `^`; towers are read from the top."""
        base = self.argument()
        if self.is_op("^"):
            self.take()
            return ("^", base, self.power())
        return base

    def argument(self) -> Node:
        """What a command or a power applies to: a group, or the next sign."""
        if self.is_op("-", "+"):
            negative = self.take().text == "-"
            inner = self.argument()
            return ("neg", inner) if negative else inner
        return self.atom()

    def digit(self) -> Node:
        """An argument of `\\frac` without braces is one digit: `\\frac12`."""
        token = self.here()
        if token is not None and token.kind == "num" and len(token.text) > 1 and token.text.isdigit():
            self.parts[self.at] = Token("num", token.text[1:])
            return number(token.text[0])
        return self.argument()

    def atom(self) -> Node:
        token = self.take()
        if token.kind == "num":
            return self._repeating(token.text)
        if token.kind == "based":
            return ("based", token.text)
        if token.kind == "name":
            return ("const", token.text) if token.text in ("pi", "e", "i") else ("name", token.text)
        if token.kind == "inf":
            return ("inf",)
        if token.kind in ("matrix", "det"):
            rows = tuple(tuple(tree(cell) for cell in row) for row in token.parts)
            return (token.kind, rows)
        if token.kind == "func":
            return self.function(token.text)
        if token.kind == "op" and token.text == "|":
            self.bars += 1
            node = self.sum()
            self.bars -= 1
            self._close("|")
            return ("abs", node)
        if token.kind == "op" and token.text in _CLOSERS:
            bars, self.bars = self.bars, 0
            node = self.sum()
            self.bars = bars
            self._close(_CLOSERS[token.text])
            return {"lfloor": ("floor", node), "lceil": ("ceil", node)}.get(token.text, node)
        raise Unparsed(f"no operand: {token.text!r}")

    def _close(self, closer: str) -> None:
        if not self.is_op(closer):
            raise Unparsed(f"{closer!r} is missing")
        self.take()

    def _repeating(self, text: str) -> Node:
        token = self.here()
        if "." in text and token is not None and token == Token("func", "overline"):
            self.take()
            repeated = self.argument()
            if repeated[0] != "num" or repeated[1].denominator != 1:
                raise Unparsed("what repeats is no digits")
            digits = self.parts[self.at - 2].text
            places = len(text.partition(".")[2])
            tail = Fraction(int(digits), (10 ** len(digits) - 1) * 10**places)
            return ("rational", (Fraction(text) if text != "." else Fraction(0)) + tail)
        return number(text)

    def function(self, name: str) -> Node:
        if name == "frac":
            top = self.digit()
            return ("/", top, self.digit())
        if name == "binom":
            top = self.digit()
            return ("binom", top, self.digit())
        if name == "sqrt":
            index: Node = ("num", Fraction(2), 1)
            if self.is_op("["):
                self.take()
                index = self.sum()
                self._close("]")
            return ("root", self.argument(), index)
        if name == "cbrt":
            return ("root", self.argument(), ("num", Fraction(3), 1))
        if name == "overline":
            return self.argument()
        base = self.take().text if self.here() is not None and self.parts[self.at].kind == "base" else None
        power = None
        if self.is_op("^"):
            self.take()
            power = self.power()
        if power == ("neg", ("num", Fraction(1), 1)):
            name, power = "arc" + name, None
        args = self._arguments()
        if base is not None:
            if name != "log":
                raise Unparsed("a subscript under a function")
            node: Node = ("call", "logbase", (tree(tokens(base, 1)), *args))
        else:
            node = ("call", name, args)
        return node if power is None else ("^", node, power)

    def _arguments(self) -> tuple[Node, ...]:
        """In brackets, or the factors that follow up to a sign or another function: `\\sin 2x \\cos y`."""
        if self.is_op("(", "[", "{"):
            closer = _CLOSERS[self.take().text]
            args = [self.sum()]
            while self.here() == Token("sep", ","):
                self.take()
                args.append(self.sum())
            self._close(closer)
            return tuple(args)
        node = self.factor()
        while self._starts_factor(after=node) and self.parts[self.at].kind in ("num", "name"):
            node = ("*", node, self.factor())
        return (node,)


def names(node: Any) -> set[str]:
    """The variables of a tree."""
    if not isinstance(node, tuple) or not node:
        return set()
    if node[0] == "name":
        return {node[1]}
    return set().union(*(names(part) for part in node)) if node else set()


def has(node: Any, *ops: str) -> bool:
    """Whether an operator occurs anywhere in a tree."""
    return isinstance(node, tuple) and bool(node) and (node[0] in ops or any(has(part, *ops) for part in node))
