"""What an answer is made of: one formula, several, a tuple, an interval, a relation, a ratio, words.

>>> from thinkcap.grading.tokens import tokens
>>> shape(tokens("x, y")).joint
','
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

from thinkcap.grading.formula import Node, tree
from thinkcap.grading.tokens import Token, Unparsed
from thinkcap.grading.vocabulary import COMPARABLE, unit

_OPEN = {"(", "[", "{", "\\{", "langle", "lfloor", "lceil"}
_CLOSE = {")", "]", "}", "\\}", "rangle", "rfloor", "rceil"}
_MOST_ITEMS = 200
_RATES = (["m", "s"], ["m", "h"])
"""Speeds in plain letters; any other pair of letters is a quotient of variables."""


@dataclass(frozen=True)
class Formula:
    node: Node
    unit: str = ""
    """Only a unit that excludes others, such as `minute`."""
    naming: bool = False
    """Nothing but a name (x, f(x), AB, NO/BO): to the left of `=` it says what the value is called."""


@dataclass(frozen=True)
class Words:
    text: str


@dataclass(frozen=True)
class Many:
    """Several answers side by side (`1, 2`, `1 and 2`) or in braces; their order means nothing."""

    items: tuple[Shape, ...]
    joint: str = ","
    braced: bool = False


@dataclass(frozen=True)
class Group:
    """Something in brackets with commas: a point, a vector, an interval."""

    items: tuple[Shape, ...]
    open: str
    close: str


@dataclass(frozen=True)
class Joined:
    parts: tuple[Shape, ...]
    op: str


@dataclass(frozen=True)
class Relation:
    parts: tuple[Shape, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True)
class Ratio:
    items: tuple[Shape, ...]
    clock: tuple[int, ...] = ()
    """What a clock would show (`12:00`, `1:02:30`); empty where no clock shows it."""
    timed: bool = False
    """Nothing but a clock writes it so: `12:00` and `3:05` are no ratios."""


@dataclass(frozen=True)
class Named:
    """The real numbers, or the empty set."""

    name: str


Shape = Union[Formula, Words, Many, Group, Joined, Relation, Ratio, Named]  # noqa: UP007 - used before it is complete


def shape(parts: Sequence[Token]) -> Shape:
    """The shape of a text's tokens; raises Unparsed where they make no sense to us."""
    parts = _trimmed(parts)
    if not parts:
        raise Unparsed("nothing there")
    pieces, joints = _split(parts, lambda t: t.kind == "sep")
    if len(pieces) > _MOST_ITEMS:
        raise Unparsed("too many items")
    if len(pieces) > 1:
        return _many(pieces, joints)
    return _one(pieces[0])


def _many(pieces: list[list[Token]], joints: list[str]) -> Shape:
    joint = "or" if "or" in joints else "and" if "and" in joints else ","
    if ";" in joints and "," in joints and not any(t.kind == "rel" for p in pieces for t in p):
        rows: list[list[Shape]] = [[]]
        for piece, after in zip(pieces, [*joints, ";"], strict=True):
            rows[-1].append(_one(piece))
            if after == ";":
                rows.append([])
        return Many(tuple(Group(tuple(r), "(", ")") for r in rows if r), joint)
    return Many(tuple(_one(p) for p in pieces), joint)


def _one(parts: Sequence[Token]) -> Shape:
    parts = _trimmed(parts)
    if not parts:
        raise Unparsed("an empty piece")
    if all(t.kind == "text" for t in parts):
        return Words(" ".join(t.text for t in parts))
    if len(parts) == 1 and parts[0].kind in ("reals", "empty"):
        return Named(parts[0].text)
    sides, ops = _split(parts, lambda t: t.kind == "rel")
    if len(sides) > 1:
        return Relation(tuple(_side(s) for s in sides), tuple(ops))
    pieces, ops = _split(parts, lambda t: t.kind == "op" and t.text in ("cup", "cap", "setminus"))
    if len(pieces) > 1:
        return Joined(tuple(_one(p) for p in pieces), ops[0])
    pieces, ops = _split(parts, lambda t: t.kind == "op" and t.text == ":")
    if len(pieces) > 1:
        return Ratio(tuple(_one(p) for p in pieces), *_clock(pieces))
    bracketed = _bracketed(parts)
    if bracketed is not None:
        return bracketed
    parts, found = _without_unit(parts)
    return Formula(tree(parts), found, _is_name(parts))


def _clock(pieces: list[list[Token]]) -> tuple[tuple[int, ...], bool]:
    digits = [p[0].text if len(p) == 1 and p[0].kind == "num" and p[0].text.isdigit() else "" for p in pieces]
    hour, *rest = digits
    if not hour or len(hour) > 2 or int(hour) > 24 or any(len(d) != 2 or d > "59" for d in rest):
        return (), False
    return tuple(int(d) for d in digits), any(d.startswith("0") for d in digits[1:])


def _side(parts: Sequence[Token]) -> Shape:
    """One side of a relation. On the left a name we cannot read as a formula is still a name."""
    parts = _trimmed(parts)
    if not parts:
        raise Unparsed("a relation with one side")
    try:
        return _one(parts)
    except Unparsed:
        if _is_name(parts):
            return Formula(("name", "".join(t.text for t in parts)), "", True)
        raise


def _bracketed(parts: Sequence[Token]) -> Shape | None:
    first, last = parts[0], parts[-1]
    if first.kind != "op" or first.text not in _OPEN or _matching(parts) != len(parts) - 1:
        return None
    if first.text in ("lfloor", "lceil"):
        return None
    inner = parts[1:-1]
    braces = first.text in ("{", "\\{")
    if not inner:
        return Named("empty") if braces else None
    pieces, joints = _split(inner, lambda t: t.kind == "sep")
    if first.text == "\\{":
        bar = next((i for i, t in enumerate(inner) if t.kind == "op" and t.text in ("|", ":")), None)
        if bar is not None and any(t.kind == "rel" for t in inner[bar:]):
            return _one(inner[bar + 1 :])
    if len(pieces) > 1:
        items = tuple(_one(p) for p in pieces)
        return Many(items, ",", True) if braces else Group(items, first.text, last.text)
    if len(joints) == 0 and any(t.kind in ("rel", "sep") for t in inner):
        return _one(inner)
    if first.text == "\\{":
        return Many((_one(inner),), ",", True)
    try:
        tree(parts)
    except Unparsed:
        return _one(inner)
    return _one(inner) if any(t.kind in ("matrix", "text") for t in inner) else None


def _matching(parts: Sequence[Token]) -> int:
    depth = 0
    for i, token in enumerate(parts):
        if token.kind == "op":
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if depth == 0:
                return i
    return -1


def _split(parts: Sequence[Token], where: Callable[[Token], bool]) -> tuple[list[list[Token]], list[str]]:
    """At the tokens `where` is true of, outside all brackets."""
    pieces: list[list[Token]] = [[]]
    seen: list[str] = []
    depth = 0
    for token in parts:
        if token.kind == "op":
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth == 0 and where(token):
            if token.kind == "sep" and not pieces[-1]:
                if seen:
                    seen[-1] = token.text if token.text != "," else seen[-1]  # `, and` is one joint
                continue
            pieces.append([])
            seen.append(token.text)
        else:
            pieces[-1].append(token)
    if not pieces[-1] and len(pieces) > 1:
        pieces.pop()
        seen.pop()
    return pieces, seen


def _trimmed(parts: Sequence[Token]) -> list[Token]:
    out = list(parts)
    while out and out[0].kind == "sep":
        out.pop(0)
    while out and out[-1].kind == "sep":
        out.pop()
    return out


def _without_unit(parts: Sequence[Token]) -> tuple[list[Token], str]:
    """`15 cm^2`, `5.4 \\text{ cents}`, `60 miles / hour`: the unit is set aside."""
    out = list(parts)
    found: list[str] = []
    while len(out) > 1:
        if out[-1].kind == "text":
            found.append(out.pop().text)
        elif len(out) > 3 and out[-2] == Token("op", "/") and [t.text for t in out[-3::2]] in _RATES:
            out = out[:-3]
        elif (
            len(out) > 2 and out[-3].kind == "text" and out[-2] == Token("op", "/") and out[-1].kind == "name"
        ) or (len(out) > 3 and out[-3].kind == "text" and out[-2] == Token("op", "^") and out[-1].kind == "num"):
            out = out[:-2]
        elif (
            len(out) > 5 and out[-5].kind == "text" and out[-4] == Token("op", "^") and out[-3] == Token("op", "{")
        ):
            out = out[:-4]
        elif found and out[-1] == Token("op", "/"):
            out.pop()
        else:
            break
    known = {unit(word) or "" for words in found for word in words.replace(".", " ").split()} & COMPARABLE
    return out, "/".join(sorted(known))


def _is_name(parts: Sequence[Token]) -> bool:
    """No sums, no numbers, no powers but an inverse: `x`, `f(x)`, `AB`, `V_1:V_2`, `\\sin A`, `\\text{Area}`."""
    depth = 0
    for i, token in enumerate(parts):
        if token.kind == "op":
            if token.text in ("%", "degree", "pm", "mp", "!"):
                return False
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if depth == 0 and token.text in ("+", "-", "*", "cup", "cap", "setminus"):
                return False
            if depth == 0 and token.text == "^":
                rest = [t.text for t in parts[i + 1 : i + 5]]
                if rest[:4] != ["{", "-", "1", "}"] and rest[:2] != ["-", "1"]:
                    return False
        elif depth == 0 and token.kind in ("num", "based", "inf", "matrix", "det", "empty"):
            return parts[i - 1].text == "-" and i > 1
        elif (token.kind == "name" and depth == 0 and token.text in ("pi", "e", "i") and len(parts) == 1) or (
            token.kind == "func" and token.text in ("sqrt", "binom")
        ):
            return False
    numbers = [t for t in parts if t.kind == "num"]
    return any(t.kind in ("name", "text") for t in parts) and not _counted(parts, numbers)


def _counted(parts: Sequence[Token], numbers: list[Token]) -> bool:
    """`\\frac{x}{2}` is no name: a number inside a fraction counts, one inside `f(2)` does not."""
    return bool(numbers) and any(t.kind == "func" and t.text == "frac" for t in parts)
