"""Which dialect stored texts are written in, told by the marks in them.

>>> recognised(["[THINK]2+3[/THINK]5"]).close_tag
'[/THINK]'
>>> recognised(["It is 5."]) is None
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from thinkcap.dialects.dialect import Dialect
from thinkcap.dialects.known import KNOWN
from thinkcap.dialects.marks import MARK, THINKS, closing_of

_LOOKED_AT = 500
"""Texts that decide; marks are in nearly all of them or in none."""


def recognised(texts: Iterable[str]) -> Dialect | None:
    """The known dialect whose marks most texts have; else marks of the usual shape around a beginning."""
    some = [text for text, _ in zip(texts, range(_LOOKED_AT), strict=False) if text]
    shown: Counter[str] = Counter()
    for text in some:
        shown.update(name for name, dialect in KNOWN.items() if speaks(dialect, text))
    if not shown:
        shapes = Counter(shape for text in some if (shape := _by_shape(text)))
        opening, closing = max(shapes, key=lambda shape: shapes[shape]) if shapes else ("", "")
        made = Dialect(thinking="always", default="on", open_tag=opening, close_tag=closing, found_by="texts")
        return made if shapes else None
    most = max(shown.values())
    # Of those with the same marks, the one whose markup of the answer is there too.
    best = max((n for n in shown if shown[n] == most), key=lambda name: _wrapped(KNOWN[name], some))
    known = KNOWN[best]
    return Dialect(
        thinking="always",
        default="on",
        open_tag=known.open_tag,
        close_tag=known.close_tag,
        open=known.open,
        close=known.close,
        answer_open=known.answer_open,
        answer_close=known.answer_close,
        answer_open_alone=known.answer_open_alone,
        end_of_turn=known.end_of_turn,
        markers_special=known.markers_special,
        found_by="texts",
    )


def speaks(dialect: Dialect, text: str) -> bool:
    """Opens a thought at the beginning, or closes one that its prompt opened."""
    if not dialect.close_tag:
        return False
    opening, closing = (dialect.open_tag or "").strip(), dialect.close_tag.strip()
    if opening and text.lstrip().startswith(opening):
        return True
    return closing in text and bool(opening in text or (THINKS.search(closing) and MARK.fullmatch(closing)))


def _wrapped(dialect: Dialect, texts: list[str]) -> int:
    """More where the answer's markup is there, less where it is missed."""
    if not dialect.answer_open:
        return 0
    mark = (dialect.answer_open_alone or dialect.answer_open).strip()
    return 1 if any(mark in text for text in texts) else -1


def _by_shape(text: str) -> tuple[str, str] | None:
    """The mark a text begins with, if it speaks of thinking, and what closes it, now or had it not been cut."""
    first = MARK.match(text.lstrip())
    closing = closing_of(first[0]) if first and THINKS.search(first[0]) else None
    return (first[0], closing) if first and closing else None
