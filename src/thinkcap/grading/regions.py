"""Intervals and unions on the real line, however they are written: brackets, inequalities, exclusions.

    >>> from thinkcap.grading.shapes import shape
    >>> from thinkcap.grading.tokens import tokens
>>> [s.low_in for s in region(shape(tokens("x \\\\ne 5")))]
[False, False]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import mpmath

from thinkcap.grading.evaluate import TooLarge, Undefined, Value, evaluate
from thinkcap.grading.formula import Node, names
from thinkcap.grading.shapes import Formula, Group, Joined, Many, Named, Relation, Shape

_MINUS: Node = ("neg", ("inf",))
_PLUS: Node = ("inf",)


@dataclass(frozen=True)
class Region:
    """One stretch of the line; its ends are formulas, which may hold parameters."""

    low: Node
    low_in: bool
    high: Node
    high_in: bool


LINE = (Region(_MINUS, False, _PLUS, False),)


def region(shape: Shape) -> tuple[Region, ...] | None:
    """The stretches a shape describes, in order; None where it describes none."""
    found = _region(shape)
    return None if found is None else _merged(found)


def _region(shape: Shape) -> list[Region] | None:
    if isinstance(shape, Named):
        return list(LINE) if shape.name == "R" else []
    if isinstance(shape, Group) and len(shape.items) == 2 and shape.open in "([" and shape.close in ")]":
        low, high = shape.items
        if isinstance(low, Formula) and isinstance(high, Formula):
            return [Region(low.node, shape.open == "[", high.node, shape.close == "]")]
        return None
    if isinstance(shape, Joined):
        return _combined(shape)
    if isinstance(shape, Relation):
        return _related(shape)
    if isinstance(shape, Many):
        return _several(shape)
    return None


def _combined(shape: Joined) -> list[Region] | None:
    parts = [_points(p) if isinstance(p, Many) and p.braced else _region(p) for p in shape.parts]
    known = [p for p in parts if p is not None]
    if len(known) != len(parts):
        return None
    if shape.op == "cup":
        return [r for part in known for r in part]
    out = known[0]
    for part in known[1:]:
        other = part if shape.op == "cap" else _outside(part)
        if other is None:
            return None
        out = _crossed(out, other)
    return out


def _points(shape: Many) -> list[Region] | None:
    if not all(isinstance(item, Formula) for item in shape.items):
        return None
    return [Region(item.node, True, item.node, True) for item in shape.items if isinstance(item, Formula)]


def _several(shape: Many) -> list[Region] | None:
    """`x < 1 or x > 3` joins, `x > 1 and x < 3` crosses; where crossing leaves nothing, joining was meant."""
    parts = [_region(item) if isinstance(item, (Relation, Joined)) else None for item in shape.items]
    known = [p for p in parts if p is not None]
    if not known or len(known) != len(parts):
        return None
    if shape.joint != "or":
        out = known[0]
        for part in known[1:]:
            out = _crossed(out, part)
        if out:
            return out
    return [r for part in known for r in part]


def _related(shape: Relation) -> list[Region] | None:
    if shape.ops == ("in",) and isinstance(shape.parts[0], Formula):
        return _region(shape.parts[1])
    steps: list[list[Region]] = []
    for (left, right), op in zip(pairwise(shape.parts), shape.ops, strict=True):
        if not isinstance(left, Formula) or not isinstance(right, Formula):
            return None
        step = _step(left.node, op, right.node)
        if step is None:
            return None
        steps.append(step)
    out = steps[0]
    for step in steps[1:]:
        out = _crossed(out, step)
    return out


def _step(left: Node, op: str, right: Node) -> list[Region] | None:
    """One inequality in one variable of the first degree, solved."""
    free = names(left) | names(right)
    if op not in ("<", ">", "<=", ">=", "!=") or len(free) != 1:
        return _by_name(left, op, right)
    name = next(iter(free))
    try:
        at = [evaluate(("-", left, right), {name: Fraction(x)}) for x in (0, 1, 2, 5)]
    except (Undefined, TooLarge):
        return _by_name(left, op, right)
    slope = at[1] - at[0]
    if any(isinstance(v, (tuple, mpmath.mpc)) for v in at) or abs(slope) < 1e-20:
        return None
    if abs(at[2] - at[1] - slope) > 1e-15 or abs(at[3] - at[0] - 5 * slope) > 1e-15:
        return None
    root = -at[0] / slope
    end: Node = ("rational", root)
    if op == "!=":
        return [Region(_MINUS, False, end, False), Region(end, False, _PLUS, False)]
    upward = (op in (">", ">=")) == (slope > 0)
    inside = op in ("<=", ">=")
    return [Region(end, inside, _PLUS, False)] if upward else [Region(_MINUS, False, end, inside)]


def _by_name(left: Node, op: str, right: Node) -> list[Region] | None:
    """`a < x` with a parameter or infinity on the other side."""
    if op not in ("<", ">", "<=", ">="):
        return None
    inside = op in ("<=", ">=")
    if right[0] == "name" and left[0] != "name":
        left, right, op = right, left, {"<": ">", ">": "<", "<=": ">=", ">=": "<="}[op]
    if left[0] != "name" or left[1] in names(right):
        return None
    low = op in (">", ">=")
    if right in (_PLUS, _MINUS):
        return list(LINE)
    return [Region(right, inside, _PLUS, False)] if low else [Region(_MINUS, False, right, inside)]


def _number(node: Node) -> Value | None:
    try:
        value = evaluate(node, {}) if not names(node) else None
    except (Undefined, TooLarge):
        return None
    if value is None or isinstance(value, (tuple, mpmath.mpc)):
        return None
    # One type for all ends: a Fraction does not compare with infinity.
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _crossed(ours: list[Region], theirs: list[Region]) -> list[Region]:
    return [both for a in ours for b in theirs if (both := _cross(a, b)) is not None]


def _cross(a: Region, b: Region) -> Region | None:
    low, low_in = _tighter(a.low, a.low_in, b.low, b.low_in, 1)
    high, high_in = _tighter(a.high, a.high_in, b.high, b.high_in, -1)
    x, y = _number(low), _number(high)
    if x is not None and y is not None and (x > y or (x == y and not (low_in and high_in))):
        return None
    return Region(low, low_in, high, high_in)


def _tighter(a: Node, a_in: bool, b: Node, b_in: bool, sign: int) -> tuple[Node, bool]:
    if a in (_MINUS, _PLUS):
        return b, b_in
    if b in (_MINUS, _PLUS):
        return a, a_in
    x, y = _number(a), _number(b)
    if x is None or y is None or x == y:
        return a, a_in and b_in
    return (a, a_in) if (x - y) * sign > 0 else (b, b_in)


def _outside(parts: list[Region]) -> list[Region] | None:
    out = list(LINE)
    for part in parts:
        out = _crossed(
            out,
            [Region(_MINUS, False, part.low, not part.low_in), Region(part.high, not part.high_in, _PLUS, False)],
        )
    return [r for r in out if r.low != _PLUS and r.high != _MINUS]


def _merged(parts: list[Region]) -> tuple[Region, ...]:
    """In order, touching stretches joined; left as written where an end is no number."""
    ends = [(_number(p.low), _number(p.high)) for p in parts]
    if any(low is None or high is None for low, high in ends):
        return tuple(parts)
    order = sorted(range(len(parts)), key=lambda i: (float(ends[i][0] or 0), not parts[i].low_in))
    out: list[Region] = []
    for i in order:
        part = parts[i]
        last = out[-1] if out else None
        reach = _number(last.high) if last else None
        if (
            last is None
            or reach is None
            or ends[i][0] > reach
            or (ends[i][0] == reach and not (last.high_in or part.low_in))
        ):
            out.append(part)
        elif ends[i][1] > reach or (ends[i][1] == reach and part.high_in):
            out[-1] = replace(last, high=part.high, high_in=part.high_in)
    return tuple(out)
