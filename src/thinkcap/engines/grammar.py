"""Texts of one form: how short they can be, what may follow a beginning, and the grammar a server is bound by.

A small algebra instead of a grammar file, because a cap asks questions that a file cannot answer: how many
characters must be kept back so that whatever has been begun can be finished, and what may still follow.

    >>> number = Times(Chars("0-9"), 1, 3)
    >>> gbnf(Seq((Exactly("["), number, Exactly("]"))))
    'root ::= "[" [0-9]{1,3} "]"'
    >>> shortest(remainder(Seq((Exactly("["), number, Exactly("]"))), "[4"))
    ']'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import ClassVar

from thinkcap.core.errors import Unsupported

# Every form knows `least`, the bytes of its shortest text (endless where no text is of this form), `most`, those
# of its longest (a character counts as one), and `tail`, the bytes that finish it from the worst place to stop. A
# token holds at least one byte, so these bound tokens too.
# Forms are compared by identity: they are shared, and a shared one must not be walked twice.


@dataclass(frozen=True, eq=False)
class Exactly:
    value: str

    @cached_property
    def least(self) -> float:
        return len(self.value.encode())

    @property
    def tail(self) -> float:
        return self.least

    @property
    def most(self) -> float:
        return self.least


@dataclass(frozen=True, eq=False)
class Chars:
    """One character of a class, as between brackets: `0-9a-f`, or `^"` for all but a quote."""

    inside: str
    least: ClassVar[float] = 1
    tail: ClassVar[float] = 1
    most: ClassVar[float] = 1

    def holds(self, character: str) -> bool:
        return _compiled(self.inside).fullmatch(character) is not None


@dataclass(frozen=True, eq=False)
class Seq:
    parts: tuple[Form, ...]

    @cached_property
    def least(self) -> float:
        return sum(part.least for part in self.parts)

    @cached_property
    def tail(self) -> float:
        worst, after = 0.0, 0.0
        for part in reversed(self.parts):
            worst = max(worst, part.tail + after)
            after += part.least
        return worst

    @cached_property
    def most(self) -> float:
        return sum(part.most for part in self.parts)


@dataclass(frozen=True, eq=False)
class Either:
    options: tuple[Form, ...]

    @cached_property
    def least(self) -> float:
        return min((option.least for option in self.options), default=inf)

    @cached_property
    def tail(self) -> float:
        return max((option.tail for option in self.options if option.least < inf), default=inf)

    @cached_property
    def most(self) -> float:
        return max((option.most for option in self.options), default=0)


@dataclass(frozen=True, eq=False)
class Times:
    node: Form
    at_least: int = 0
    at_most: int | None = None

    @cached_property
    def least(self) -> float:
        return self.at_least * self.node.least if self.at_least else 0

    @cached_property
    def tail(self) -> float:
        if self.at_most == 0 or self.node.least == inf:
            return self.least
        return max(self.least, self.node.tail + max(0, self.at_least - 1) * self.node.least)

    @cached_property
    def most(self) -> float:
        inner = self.node.most if self.at_most != 0 else 0
        return inner * (inf if self.at_most is None else self.at_most) if inner else 0


Form = Exactly | Chars | Seq | Either | Times

NEVER = Either(())
EMPTY = Seq(())

_STEPS_PER_CHARACTER = 100
_FREE_STEPS = 50_000
"""`remainder` gives up beyond these, so that no form can hold up its caller."""


def maybe(node: Form) -> Form:
    return repeated(node, 0, 1)


def repeated(node: Form, least: int = 0, most: int | None = None) -> Form:
    """Nothing, where nothing can be repeated and need not be."""
    if most == 0 or (node.least == inf and not least):
        return EMPTY
    return NEVER if node.least == inf else Times(node, least, most)


def either(options: Iterable[Form]) -> Form:
    """Without options that no text can have."""
    found = tuple(option for option in options if option.least < inf)
    return found[0] if len(found) == 1 else Either(found)


def shortest(node: Form) -> str:
    """One of the shortest texts of this form."""
    # A loop: an object's optional members are a long chain of choices.
    while isinstance(node, Either):
        node = min(node.options, key=lambda option: option.least)
    if isinstance(node, Exactly):
        return node.value
    if isinstance(node, Chars):
        return next(c for c in map(chr, range(32, 0x110000)) if node.holds(c))
    if isinstance(node, Seq):
        return "".join(map(shortest, node.parts))
    return shortest(node.node) * node.at_least if node.at_least else ""


def longest(node: Form) -> float:
    """Bytes of the longest text of this form, a character counted as one; endless where there is none."""
    return node.most


def within(node: Form, room: int) -> Form:
    """The same form with repetitions cut short enough to end within `room` bytes; at worst one shortest text."""
    for extra in (64, 32, 16, 8, 4, 2, 1, 0):
        shorter = _cut(node, extra)
        if longest(shorter) <= room:
            return shorter
    return Exactly(shortest(node))


def lead(node: Form) -> tuple[str, Form]:
    """What every text of this form begins with, and the form of the rest."""
    said = ""
    while node.least and len(heads := _heads(node)) == 1:
        head, rest = heads[0]
        if not isinstance(head, Exactly):
            break
        said += head.value
        node = rest
    return said, node


def remainder(node: Form, begun: str) -> Form:
    """The form of what may follow this beginning.

    `NEVER` if it is no beginning, or if the form is too ambiguous to follow the text in a bounded number of steps.
    """
    places: list[Form] = [node]
    steps = _FREE_STEPS + _STEPS_PER_CHARACTER * len(begun)
    for character in begun:
        after = {_key(rest): rest for place in places for rest in _after(place, character)}
        steps -= len(after)
        if not after or steps < 0:
            return NEVER
        places = list(after.values())
    return either(places)


def complete(node: Form, text: str) -> bool:
    """Whether a text is of this form."""
    return remainder(node, text).least == 0


def gbnf(node: Form) -> str:
    """The grammar as llama.cpp and xgrammar read it."""
    rules: dict[int, str] = {}
    waiting: list[Form] = []
    uses = _count_uses(node)

    def named(inner: Form) -> str:
        if id(inner) not in rules:
            rules[id(inner)] = f"r{len(rules)}"
            waiting.append(inner)
        return rules[id(inner)]

    def written(inner: Form, top: bool = False) -> str:
        if isinstance(inner, Exactly):
            return _quoted(inner.value)
        if isinstance(inner, Chars):
            return f"[{inner.inside}]"
        # What stands in several places is written once: inside each other, copies would double at every level.
        if not top and (isinstance(inner, Either) or _large(inner) or (uses[id(inner)] > 1 and _deep(inner))):
            return named(inner)
        if isinstance(inner, Seq):
            return " ".join(said for part in inner.parts if (said := written(part)) != '""') or '""'
        if isinstance(inner, Either):
            return " | ".join(written(option) for option in inner.options)
        body = written(inner.node)
        plain = isinstance(inner.node, Seq) and id(inner.node) not in rules
        if plain or (isinstance(inner.node, Times) and not _large(inner.node)):
            body = f"({body})"
        return body + _times(inner.at_least, inner.at_most)

    lines: list[str] = []
    try:
        lines.append(f"root ::= {written(node, True)}")
        # The list grows while it is walked.
        for inner in waiting:
            lines.append(f"{rules[id(inner)]} ::= {written(inner, True)}")
    except RecursionError:
        raise Unsupported(
            "the JSON schema has too many parts one inside the other; ask for fewer fields"
        ) from None
    return "\n".join(lines)


def _count_uses(node: Form) -> Counter[int]:
    """How many places of a form hold each part of it, by the part's identity."""
    uses: Counter[int] = Counter()
    waiting = [node]
    while waiting:
        for part in _parts(waiting.pop()):
            uses[id(part)] += 1
            if uses[id(part)] == 1:
                waiting.append(part)
    return uses


def _deep(node: Form) -> bool:
    """A sequence with more inside than a few characters."""
    return isinstance(node, Seq) and any(isinstance(part, Seq | Either) or _large(part) for part in node.parts)


def _key(node: Form) -> Hashable:
    """Equal for remainders that allow the same texts because they were left over by the same parts."""
    if isinstance(node, Seq):
        return tuple(_part_key(part) for part in node.parts)
    return _part_key(node)


def _part_key(node: Form) -> Hashable:
    if isinstance(node, Exactly):
        return node.value
    return (id(node.node), node.at_least, node.at_most) if isinstance(node, Times) else id(node)


def _cut(node: Form, extra: int) -> Form:
    # No recursion, and each part once: an object's optional members are a long chain of shared choices.
    done: dict[int, Form] = {}
    waiting = [node]
    while waiting:
        inner = waiting[-1]
        parts = [part for part in _parts(inner) if id(part) not in done]
        if parts:
            waiting += parts
            continue
        waiting.pop()
        if id(inner) not in done:
            done[id(inner)] = found = _shortened(inner, extra, tuple(done[id(part)] for part in _parts(inner)))
            _ = found.least, found.most
    return done[id(node)]


def _shortened(node: Form, extra: int, parts: tuple[Form, ...]) -> Form:
    if isinstance(node, Seq):
        return Seq(parts)
    if isinstance(node, Either):
        return Either(parts)
    if isinstance(node, Times):
        most = node.at_least + extra
        return Times(parts[0], node.at_least, most if node.at_most is None else min(most, node.at_most))
    return node


def _parts(node: Form) -> tuple[Form, ...]:
    if isinstance(node, Seq):
        return node.parts
    if isinstance(node, Either):
        return node.options
    return (node.node,) if isinstance(node, Times) else ()


def _large(node: Form) -> bool:
    return isinstance(node, Times) and not isinstance(node.node, Chars | Exactly)


def _times(least: int, most: int | None) -> str:
    if most is None:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    return {(0, 1): "?", (1, 1): ""}.get((least, most), f"{{{least},{most}}}")


def _quoted(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'


@lru_cache(maxsize=1024)
def _compiled(inside: str) -> re.Pattern[str]:
    return re.compile(f"[{inside}]", re.DOTALL)


def _after(node: Form, character: str) -> Iterator[Form]:
    for head, rest in _heads(node):
        if isinstance(head, Chars):
            if head.holds(character):
                yield rest
        elif isinstance(head, Exactly) and head.value.startswith(character):
            yield _joined(Exactly(head.value[1:]), rest) if len(head.value) > 1 else rest


def _heads(node: Form) -> list[tuple[Form, Form]]:
    """The texts and classes it may begin with, each with the form of what follows."""
    if isinstance(node, Exactly):
        return [(node, EMPTY)] if node.value else []
    if isinstance(node, Chars):
        return [(node, EMPTY)]
    found: list[tuple[Form, Form]] = []
    if isinstance(node, Either):
        # No recursion into choices of choices: an object's optional members are a long chain of them.
        waiting: list[Form] = [node]
        while waiting:
            option = waiting.pop()
            if isinstance(option, Either):
                waiting += reversed(option.options)
            elif option.least < inf:
                found += _heads(option)
        return found
    if isinstance(node, Seq):
        for at, part in enumerate(node.parts):
            found += [(head, _joined(rest, *node.parts[at + 1 :])) for head, rest in _heads(part)]
            if part.least:
                break
        return found
    if node.at_most == 0 or node.node.least == inf:
        return []
    most = None if node.at_most is None else node.at_most - 1
    again = node if most is None and not node.at_least else Times(node.node, max(0, node.at_least - 1), most)
    return [(head, _joined(rest, again)) for head, rest in _heads(node.node)]


def _joined(*parts: Form) -> Form:
    flat: list[Form] = []
    for part in parts:
        if isinstance(part, Seq):
            flat += part.parts
        elif not (isinstance(part, Times) and part.at_most == 0):
            flat.append(part)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))
