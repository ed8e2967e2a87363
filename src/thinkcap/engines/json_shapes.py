"""The shapes JSON is made of, as forms of text: strings, lists, objects, any value a few levels deep.

>>> from thinkcap.engines.grammar import complete
>>> complete(any_value(2), '{"a": [1, "b"]}')
True
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf

from thinkcap.engines.grammar import (
    EMPTY,
    NEVER,
    Chars,
    Either,
    Exactly,
    Form,
    Seq,
    Times,
    either,
    maybe,
    repeated,
)
from thinkcap.engines.json_numbers import numbers

ANY_DEPTH = 3
"""Levels of objects and lists where a schema says nothing about them."""
MOST_REPEATS = 1000
"""Servers write counted repetitions out; a longer text is never asked for, which the schema allows."""

_HEX = "0-9a-fA-F"
CHARACTER: Form = Either(
    (
        Chars(r"^\"\\\x00-\x1F\x7F"),
        # Halves of surrogate pairs are left out: alone they are no text.
        Seq(
            (
                Exactly("\\"),
                Either(
                    (
                        Chars(r"\"\\/bfnrt"),
                        Seq((Exactly("u"), Chars("0-9a-cA-Ce-fE-F"), Times(Chars(_HEX), 3, 3))),
                        Seq((Exactly("u"), Chars("dD"), Chars("0-7"), Times(Chars(_HEX), 2, 2))),
                    )
                ),
            )
        ),
    )
)
STRING = Seq((Exactly('"'), Times(CHARACTER), Exactly('"')))
NULL, BOOLEAN = Exactly("null"), Either((Exactly("true"), Exactly("false")))
COLON, COMMA = Seq((Exactly(":"), maybe(Exactly(" ")))), Seq((Exactly(","), maybe(Exactly(" "))))


def members_of(members: Sequence[tuple[Form, bool]]) -> Form:
    """Members in their order, commas between those that are there."""
    # `rest` is what follows once something stands, last part first; `start` what follows while nothing does.
    # Members that must be there only lengthen `rest`: many of them are one sequence, not one inside the other.
    rest: list[Form] = []
    start: Form = EMPTY
    needed_at: tuple[Form, int] | None = None
    for member, needed in reversed(members):
        if needed:
            needed_at = member, len(rest)
            rest += [member, COMMA]
        elif member.least < inf:
            start = start if needed_at is None else _begun(*needed_at, rest)
            after = Seq(tuple(reversed(rest)))
            start = either((Seq((member, after)), start))
            rest = [either((Seq((COMMA, member, after)), after))]
            needed_at = None
            # Worked out from the inside: from the outside the recursion would be as deep as there are members.
            _ = rest[0].tail, rest[0].most, start.tail, start.most
    return start if needed_at is None else _begun(*needed_at, rest)


def _begun(first: Form, length: int, rest: Sequence[Form]) -> Form:
    return Seq((first, *reversed(rest[:length])))


def list_of(first: Sequence[Form], item: Form, least: int, most: int | None) -> Form:
    fixed = list(first)
    if most is not None:
        fixed, most = fixed[:most], max(0, most - len(first))
    least = max(0, least - len(fixed))
    if fixed:
        inner: Form = Seq((fixed[0], *(part for node in fixed[1:] for part in (COMMA, node))))
        more = repeated(Seq((COMMA, item)), least, few(most))
        return Seq((Exactly("["), inner, more, Exactly("]")))
    if item.least == inf or most == 0:
        return Exactly("[]") if least == 0 else NEVER
    if most is not None and least > most:
        return NEVER
    inner = Seq((item, repeated(Seq((COMMA, item)), max(0, least - 1), few(None if most is None else most - 1))))
    return Seq((Exactly("["), inner if least else maybe(inner), Exactly("]")))


def entries_of(value: Form, at_least_one: bool = False) -> Form:
    entry = Seq((Exactly('"'), Times(CHARACTER, 1), Exactly('"'), COLON, value))
    inner = Seq((entry, repeated(Seq((COMMA, entry)))))
    return Seq((Exactly("{"), inner if at_least_one else maybe(inner), Exactly("}")))


@lru_cache
def any_value(depth: int) -> Form:
    plain = (STRING, numbers(None, None), BOOLEAN, NULL)
    if not depth:
        return Either(plain)
    inner = any_value(depth - 1)
    return Either((*plain, entries_of(inner), list_of((), inner, 0, None)))


def few(most: int | None) -> int | None:
    return None if most is None else min(most, MOST_REPEATS)
