"""Whether two answers of any shape mean the same: lists, points, intervals, relations, ratios, formulas.

    >>> from thinkcap.grading.shapes import shape
    >>> from thinkcap.grading.tokens import tokens
>>> same(shape(tokens("-2 \\\\le x \\\\le 7")), shape(tokens("[-2, 7]")))
True
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from thinkcap.grading.evaluate import Undefined, evaluate
from thinkcap.grading.formula import Node, has, names
from thinkcap.grading.latex_cleanup import plain_words
from thinkcap.grading.numeric_equality import constant, equal_values, opposite, proportional, same_formula
from thinkcap.grading.regions import Region, region
from thinkcap.grading.shapes import Formula, Group, Many, Named, Ratio, Relation, Shape, Words

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}


def same(gold: Shape, answer: Shape) -> bool:
    gold, answer = settled(gold), settled(answer)
    if isinstance(gold, Formula) and isinstance(answer, Formula):
        return _same_formulas(gold, answer)
    if isinstance(gold, Words) and isinstance(answer, Words):
        return plain_words(gold.text) == plain_words(answer.text)
    if isinstance(gold, Relation) and isinstance(answer, Relation):
        if _same_relations(gold, answer):
            return True
        if _names(gold) != _names(answer):
            return False  # 0 < x < 1 says nothing of y
    if _listed(gold) or _listed(answer):
        return _same_lists(gold, answer) or _same_regions(gold, answer)
    if isinstance(gold, Group) and isinstance(answer, Group):
        return _same_groups(gold, answer) or _same_rows(gold, answer)
    if isinstance(gold, Ratio) or isinstance(answer, Ratio):
        return _same_ratios(gold, answer)
    if isinstance(gold, Relation) != isinstance(answer, Relation):
        relation, other = (gold, answer) if isinstance(gold, Relation) else (answer, gold)
        assert isinstance(relation, Relation)
        value = _value(relation)
        if value is not None and same(value, other):
            return True
    if isinstance(gold, Group) != isinstance(answer, Group):
        return _same_rows(gold, answer) or _same_regions(gold, answer)
    if isinstance(gold, Named) and isinstance(answer, Named):
        return gold.name == answer.name
    return _same_regions(gold, answer)


def settled(shape: Shape) -> Shape:
    """Chains of `=` reduced to what they end in, approximations dropped, one-element braces opened."""
    if isinstance(shape, Many) and len(shape.items) == 1:
        inner = settled(shape.items[0])
        return inner if not _has_sign(inner) else Many((inner,), ",", True)
    if not isinstance(shape, Relation):
        return shape
    parts, ops = list(shape.parts), ["=" if op == "equiv" else op for op in shape.ops]
    if "~" in ops:
        cut = ops.index("~")
        left = parts[0]
        # `x ~ 3.5` gives the value on the right, `sqrt(3)/3 ~ 0.577` only adds a rounding.
        if cut == 0 and isinstance(left, Formula) and left.naming:
            ops = ["=" if op == "~" else op for op in ops]
        else:
            parts, ops = parts[: cut + 1], ops[:cut]
        if not ops:
            return settled(parts[0])
    if len(ops) > 1 and all(op == "=" for op in ops):
        parts, ops = [parts[0], parts[-1]], ["="]
        if not _is_naming(parts[0]):
            return settled(parts[1])
    if ops == ["="] and all(isinstance(part, Formula) and constant(part.node) for part in parts):
        return settled(parts[1])  # 3 * 4 = 12 is a computation; its end is the answer
    if ops == ["in"] and _is_naming(parts[0]):
        return settled(parts[1])
    return Relation(tuple(parts), tuple(ops))


def _names(relation: Relation) -> set[str]:
    return set().union(*(names(part.node) for part in relation.parts if isinstance(part, Formula)))


def _is_naming(shape: Shape) -> bool:
    if isinstance(shape, Words):
        return True
    if isinstance(shape, (Group, Ratio)):
        return all(_is_naming(item) for item in shape.items)
    return isinstance(shape, Formula) and shape.naming


def _value(relation: Relation) -> Shape | None:
    """What `x = 5` or `5 = x` says; None for an equation between expressions."""
    if relation.ops != ("=",):
        return None
    left, right = relation.parts
    if _is_naming(left):
        return right
    return left if _is_naming(right) else None


def _same_formulas(gold: Formula, answer: Formula) -> bool:
    if gold.unit and answer.unit and gold.unit != answer.unit:
        return False
    if has(gold.node, "pm", "mp") or has(answer.node, "pm", "mp"):
        if gold.node == answer.node:
            return True
        return _same_lists(gold, answer)
    return same_formula(gold.node, answer.node)


def _has_sign(shape: Shape) -> bool:
    if isinstance(shape, Relation):
        return any(_has_sign(part) for part in shape.parts)
    return isinstance(shape, Formula) and has(shape.node, "pm", "mp")


def _listed(shape: Shape) -> bool:
    if isinstance(shape, Relation) and shape.ops == ("=",):
        return _has_sign(shape) or any(isinstance(part, Many) for part in shape.parts[1:])
    return isinstance(shape, Many)


def _signed(node: Node, plus: bool) -> Node:
    """The reading of a formula with the upper or the lower signs."""
    if not isinstance(node, tuple) or not node:
        return node
    head = node[0]
    if head in ("pm", "mp"):
        head = "+" if (head == "pm") == plus else "-"
    return (head, *(_signed(p, plus) if isinstance(p, tuple) else p for p in node[1:]))


def items(shape: Shape) -> list[Shape]:
    """The answers in a shape, with `\\pm` written out as two."""
    if isinstance(shape, Many):
        return [item for part in shape.items for item in items(settled(part))]
    if isinstance(shape, Formula) and _has_sign(shape):
        return [Formula(_signed(shape.node, plus), shape.unit) for plus in (True, False)]
    if isinstance(shape, Relation) and shape.ops == ("=",) and _listed(shape):
        return [Relation((shape.parts[0], item), ("=",)) for item in items(shape.parts[1])]
    return [shape]


def _same_lists(gold: Shape, answer: Shape) -> bool:
    ours, theirs = _points(items(gold)), _points(items(answer))
    our_names, their_names = _called(ours), _called(theirs)
    if (
        our_names
        and their_names
        and len(set(our_names)) == len(our_names) > 1
        and set(our_names) == set(their_names)
    ):
        if len(their_names) != len(our_names):
            return False
        mine = dict(zip(our_names, _values(ours), strict=True))
        return all(same(mine[n], v) for n, v in zip(their_names, _values(theirs), strict=True))
    ours, theirs = _grouped(ours, our_names), _grouped(theirs, their_names)
    if len(ours) == 1 and isinstance(ours[0], Group) and len(theirs) > 1:
        ours = list(ours[0].items)
        return len(ours) == len(theirs) and all(same(g, a) for g, a in zip(ours, _values(theirs), strict=True))
    if len(theirs) == 1 and isinstance(theirs[0], Group) and len(ours) > 1:
        theirs = list(theirs[0].items)
        return len(ours) == len(theirs) and all(same(g, a) for g, a in zip(_values(ours), theirs, strict=True))
    if bool(our_names) != bool(their_names) and max(len(set(our_names)), len(set(their_names))) > 1:
        pair = _values(ours), _values(theirs)
        return len(pair[0]) == len(pair[1]) and all(same(g, a) for g, a in zip(*pair, strict=True))
    return _same_sets(_plain(ours), _plain(theirs))


def _points(shapes: list[Shape]) -> list[Shape]:
    """`(x, y) = (1, 2)` without its left side."""
    values = [_value(s) if isinstance(s, Relation) else None for s in shapes]
    return [value if isinstance(value, Group) else s for value, s in zip(values, shapes, strict=True)]


def _plain(shapes: list[Shape]) -> list[Shape]:
    """Without names where all carry the same one or only the first carries one: `n = 1, 2, 3`."""
    called = [_value(s) if isinstance(s, Relation) else None for s in shapes]
    return [value if value is not None else s for value, s in zip(called, shapes, strict=True)]


def _same_sets(ours: list[Shape], theirs: list[Shape]) -> bool:
    if len(ours) * len(theirs) > 3000:
        return False
    found = [any(same(g, a) for a in theirs) for g in ours]
    return all(found) and all(any(same(g, a) for g in ours) for a in theirs)


def _called(shapes: Sequence[Shape]) -> list[str]:
    """The names of assignments, empty unless every item is one."""
    out = []
    for shape in shapes:
        if not isinstance(shape, Relation) or _value(shape) is None:
            return []
        name = shape.parts[0] if _is_naming(shape.parts[0]) else shape.parts[1]
        out.append(repr(name))
    return out


def _values(shapes: Sequence[Shape]) -> list[Shape]:
    return [(_value(s) or s) if isinstance(s, Relation) else s for s in shapes]


def _grouped(shapes: list[Shape], called: list[str]) -> list[Shape]:
    """`p = 5, q = 2, p = 7, q = 2` are the points (5, 2) and (7, 2)."""
    period = len(set(called))
    if period < 2 or len(called) <= period or len(called) % period:
        return shapes
    if any(called[i] != called[i % period] for i in range(len(called))):
        return shapes
    values = _values(shapes)
    return [Group(tuple(values[i : i + period]), "(", ")") for i in range(0, len(values), period)]


def _same_groups(gold: Group, answer: Group) -> bool:
    if len(gold.items) != len(answer.items):
        return False
    # Two numbers in brackets may be an interval, where the kind of bracket is part of the answer.
    points = {gold.open, answer.open} <= {"(", "langle"} and {gold.close, answer.close} <= {")", "rangle"}
    if len(gold.items) == 2 and (gold.open, gold.close) != (answer.open, answer.close) and not points:
        return False
    return all(same(g, a) for g, a in zip(gold.items, answer.items, strict=True))


def _rows(shape: Shape) -> list[list[Shape]] | None:
    """A matrix, a vector, or brackets of brackets as rows."""
    if isinstance(shape, Formula) and shape.node[0] == "matrix":
        return [[Formula(cell) for cell in row] for row in shape.node[1]]
    if isinstance(shape, Formula) and has(shape.node, "matrix") and constant(shape.node):
        return _computed(shape.node)
    if isinstance(shape, Group):
        if all(isinstance(item, Group) for item in shape.items):
            return [list(item.items) for item in shape.items if isinstance(item, Group)]
        return [[item] for item in shape.items]
    return None


def _computed(node: Node) -> list[list[Shape]] | None:
    """A sum or a multiple of matrices, worked out."""
    try:
        value = evaluate(node, {})
    except Undefined:
        return None
    return [[Formula(("rational", cell)) for cell in row] for row in value] if isinstance(value, tuple) else None


def _same_rows(gold: Shape, answer: Shape) -> bool:
    ours, theirs = _rows(gold), _rows(answer)
    if ours is None or theirs is None or (isinstance(gold, Group) and isinstance(answer, Group)):
        return False
    if len(ours) == 1:
        ours = [[cell] for cell in ours[0]]
    if len(theirs) == 1:
        theirs = [[cell] for cell in theirs[0]]
    if [len(r) for r in ours] != [len(r) for r in theirs]:
        return False
    return all(same(g, a) for r, s in zip(ours, theirs, strict=True) for g, a in zip(r, s, strict=True))


def _same_ratios(gold: Shape, answer: Shape) -> bool:
    if isinstance(gold, Ratio) and isinstance(answer, Ratio):
        if gold.timed or answer.timed or (gold.clock and answer.clock):
            return gold.clock == answer.clock
        if len(gold.items) != len(answer.items):
            return False
        nodes = [(g.node, a.node) for g, a in zip(gold.items, answer.items, strict=True)
                 if isinstance(g, Formula) and isinstance(a, Formula)]  # fmt: skip
        if len(nodes) != len(gold.items):
            return False
        return all(same_formula(("*", g1, a2), ("*", g2, a1)) for (g1, a1), (g2, a2) in pairwise(nodes))
    ratio, other = (gold, answer) if isinstance(gold, Ratio) else (answer, gold)
    if isinstance(ratio, Ratio) and ratio.timed:
        return False
    if isinstance(other, Relation):
        value = _value(other)
        return value is not None and same(ratio, value)
    if isinstance(ratio, Ratio) and len(ratio.items) == 2 and isinstance(other, Formula):
        top, bottom = ratio.items
        if isinstance(top, Formula) and isinstance(bottom, Formula):
            return same_formula(("/", top.node, bottom.node), other.node)
    return False


def _same_relations(gold: Relation, answer: Relation) -> bool:
    if gold.ops == answer.ops == ("=",):
        ours, theirs = _value(gold), _value(answer)
        if ours is not None and theirs is not None and gold.parts[0] == answer.parts[0] and same(ours, theirs):
            return True
    if all(_is_naming(r.parts[0]) and not isinstance(r.parts[0], Formula) for r in (gold, answer)):
        return gold.ops == answer.ops and all(
            same(g, a) for g, a in zip(gold.parts[1:], answer.parts[1:], strict=True)
        )
    differences = [_differences(gold), _differences(answer)]
    if differences[0] is None or differences[1] is None:
        return False
    ours_, theirs_ = differences
    if ours_ is None or theirs_ is None or len(ours_) != len(theirs_):
        return False
    for candidate in (theirs_, theirs_[::-1]):
        if all(_same_difference(g, a) for g, a in zip(ours_, candidate, strict=True)):
            return True
    return False


def _differences(relation: Relation) -> list[tuple[Node, str]] | None:
    """Each step of a chain as `difference op 0`."""
    out = []
    for (left, right), op in zip(pairwise(relation.parts), relation.ops, strict=True):
        if not isinstance(left, Formula) or not isinstance(right, Formula) or op not in _FLIPPED:
            return None
        out.append((("-", left.node, right.node), op))
    return out


def _same_difference(gold: tuple[Node, str], answer: tuple[Node, str]) -> bool:
    if gold[1] == answer[1] and gold[1] in ("=", "!="):
        return proportional(gold[0], answer[0])
    if gold[1] == answer[1]:
        return proportional(gold[0], answer[0], sign=1)
    return _FLIPPED[gold[1]] == answer[1] and opposite(gold[0], answer[0])


def _same_regions(gold: Shape, answer: Shape) -> bool:
    ours, theirs = region(gold), region(answer)
    if ours is None or theirs is None or len(ours) != len(theirs):
        return False
    return all(_same_stretch(g, a) for g, a in zip(ours, theirs, strict=True))


def _same_stretch(gold: Region, answer: Region) -> bool:
    return (
        gold.low_in == answer.low_in
        and gold.high_in == answer.high_in
        and equal_values(gold.low, answer.low)
        and equal_values(gold.high, answer.high)
    )
