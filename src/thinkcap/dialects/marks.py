"""The marks that templates write: what one looks like, and which closes what another opens."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

MARK = re.compile(
    r"<\|[^<>]*?\|>|<[^<>\s][^<>\n]{0,60}>|\[/?[A-Z][A-Z_ ]{1,30}\]|◁/?[^◁▷]{1,20}▷|【/?[^【】\n]{1,20}】"
)
THINKS = re.compile(
    r"think|thought|reason|inner|cot\b|reflect|scratch|analysis|deliberat|ponder|contemplat|monologue|rational"
    r"|思考|思索|推理|推論|생각|추론|мысл|рассужд|(?<![a-z])(?:denk|raisonn|pens[ée]|pensam|razon)",
    re.IGNORECASE,
)
"""Words that a mark around a thought has in it."""

_OF_PARTS = re.compile(rf"(?:{MARK.pattern})(?=([^<>\n]{{1,30}})(?:{MARK.pattern}))")
"""A mark of two tokens with a word between them, such as `<|open|>think<|sep|>`."""

_COUNTERPARTS = (
    ("START", "END"),
    ("BEGIN", "END"),
    ("start", "end"),
    ("begin", "end"),
    ("prefix", "suffix"),
    ("open", "close"),
)


def thinking_at(text: str) -> int | None:
    """Where the first mark begins that speaks of thinking, be it one token or two with a word between them."""
    places = [m.start() for m in MARK.finditer(text) if THINKS.search(m[0])]
    places += [m.start() for m in _OF_PARTS.finditer(text) if THINKS.search(m[1])]
    return min(places, default=None)


def closing_of(mark: str) -> str | None:
    for one, other in _COUNTERPARTS:
        if (word := _word(one)).search(mark):
            return word.sub(other, mark)
    if named := re.fullmatch(r"<([^\s<>|/]+)\s[^<>]*>", mark):
        # Attributes stand in the opening alone.
        return f"</{named[1]}>"
    found = re.match(r"([<\[◁【])(\|?)(.*)", mark, re.DOTALL)
    return f"{found[1]}{found[2]}/{found[3]}" if found else None


def opening_of(mark: str) -> str | None:
    for one, other in _COUNTERPARTS:
        if (word := _word(other)).search(mark):
            return word.sub(one, mark)
    return mark.replace("/", "", 1) if "/" in mark else None


@cache
def _word(text: str) -> re.Pattern[str]:
    """A word of a mark, also glued to another at either end of it; `open` in `<x:opensource>` is none."""
    glued = "" if text in ("open", "close") else rf"|(?<=[<\[|]){text}"
    return re.compile(rf"(?<![A-Za-z]){text}(?![A-Za-z])|{text}(?=\W*$){glued}")


def pairs(opening: str, closing: str) -> bool:
    slashed = re.match(r"[^\w\s]+/", closing) is not None and opening_of(closing) == opening
    return slashed or closing_of(opening) == closing


def closes(end: str) -> bool:
    """Whether a prompt's end has a thought that is over: its closing mark, or two marks with nothing inside."""
    last = last_mark(end)
    if THINKS.search(last) and pairs(opening_of(last) or "", last):
        return True
    marks = list(MARK.finditer(end))
    return any(
        not end[one.end() : two.start()].strip()
        and (pairs(one[0], two[0]) or (THINKS.search(one[0]) and not THINKS.search(two[0])))
        for one, two in pairwise(marks)
    )


def opens(end: str) -> bool:
    """Whether a prompt's end begins a thought."""
    last = last_mark(end)
    return bool(THINKS.search(last)) and not closes(end)


def last_mark(end: str) -> str:
    """The mark that nothing follows."""
    return next((m[0] for m in MARK.finditer(end) if not end[m.end() :].strip()), "")


def laid_out(close: str, opened: str) -> str:
    """Where no template shows it: a mark on a line of its own is followed by an empty line."""
    bare = close.strip()
    return f"\n{bare}\n\n" if opened.endswith("\n") else bare


def common_start(texts: list[str]) -> str:
    shortest = min(texts, key=len)
    return next((shortest[:i] for i, c in enumerate(shortest) if any(t[i] != c for t in texts)), shortest)
