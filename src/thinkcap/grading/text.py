"""Answers in words: equal after normalising, or found by the regular expression that the gold is.

    >>> normal("  The “Eiffel-Tower”. "), normal("C#"), normal("-3.5 °C")
    ('the eiffel tower', 'c#', '-3.5 °c')
    >>> pattern("/^par(is|igi)$/i"), pattern("Paris")
    (('^par(is|igi)$', True), None)

A pattern may take for ever on the right answer, so it is matched in the worker program only, which has a second.
"""

from __future__ import annotations

import re
import unicodedata

from thinkcap.grading.extraction import extract
from thinkcap.grading.kinds import Decision

LONGEST_PATTERN = 1000
_LONGEST = 4000
"""No answer is longer."""
_PATTERN = re.compile(r"/(.+)/(i?)", re.DOTALL)
_INNER = re.compile(r"(?<=\d)[.,](?=\d)|(?<![^\s(])[-−](?=[\d.])")
_DROPPED = re.compile(r"['’‘ʼ]")
_KEPT = "#%&@/\\"
"""Punctuation that tells words apart: C# is not C, and 5% is not 5."""
_WRAP = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")


def normal(text: str) -> str:
    """Without case, decoration, spare white space and most punctuation; what is punctuation only stays itself."""
    plain = unicodedata.normalize("NFKC", _WRAP.sub(r"\1", text)).casefold()
    inner = {found.start() for found in _INNER.finditer(plain)}
    kept = "".join(
        ("-" if c == "−" else c) if i in inner or not _is_punctuation(c) else "" if _DROPPED.match(c) else " "
        for i, c in enumerate(plain)
    )
    return " ".join(kept.split()) or " ".join(plain.split())


def _is_punctuation(character: str) -> bool:
    return character in "`~*" or (character not in _KEPT and unicodedata.category(character)[0] == "P")


def pattern(gold: str) -> tuple[str, bool] | None:
    """What stands between the slashes of `/.../`, and whether case counts for nothing (`/.../i`)."""
    found = _PATTERN.fullmatch(gold.strip())
    return (found.group(1), found.group(2) == "i") if found else None


def decide(gold: str, answer: str) -> Decision:
    """The same words or not; UNSURE where the gold is a pattern, which only `settle` matches."""
    said = _stated(answer)
    if len(said) > _LONGEST:
        return Decision.UNREADABLE
    if normal(gold) in (normal(said), normal(answer[:_LONGEST])):
        return Decision.SAME
    return Decision.DIFFERENT if pattern(gold) is None else Decision.UNSURE


def settle(gold: str, answer: str) -> Decision:
    """Whether the gold's pattern is found in the answer, however long that takes: for the worker program alone."""
    found = pattern(gold)
    if found is None or len(found[0]) > LONGEST_PATTERN:
        return Decision.UNREADABLE
    try:
        wanted = re.compile(found[0], re.IGNORECASE if found[1] else 0)
    except (re.error, OverflowError):
        return Decision.UNREADABLE
    return Decision.SAME if wanted.search(_stated(answer)) else Decision.DIFFERENT


def _stated(answer: str) -> str:
    """What a text with words around it states as its answer, or else the text itself."""
    said = extract(answer, "text")
    return answer.strip() if said.weak or said.answer is None else said.answer
