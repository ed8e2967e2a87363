"""Numbers and formulas in running text: which is the last one, and when a text is nothing but an answer.

>>> last_number("he paid $5, then 1,000.99 euros in 3 days2")
'3'
>>> last_formula("Therefore $x \\\\geq 5$ is the solution.")
'x \\\\geq 5'
"""

from __future__ import annotations

import re
from collections import deque
from itertools import islice

from thinkcap.grading.vocabulary import CONNECTORS, SHORT_WORDS, VERBAL, is_word, unit

_DIGITS = (
    r"\d{1,3}(?:(?:,|,\\!\s?|\{,\}|[\u00a0\u202f\u2009])\d{3})+(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)|\d+\.\d+|\d{1,9},\d{2}(?!\d)|\d{4,9},\d+|\.\d+|\d+"
)
_SIGN = r"(?:(?<![\w)\]}.])[-+−–])?"
NUMBER = re.compile(
    rf"{_SIGN}\\[dt]?frac\s?\{{-?\d+\}}\{{\d+\}}"
    rf"|{_SIGN}(?:\\?[$€£¥]\s?)?(?<![A-Za-z_.\d])(?:{_DIGITS})(?:[eE][-+]?\d+(?![\w]))?(?:\s?/\s?\d+(?![\d.]))?(?:\s?\\?%)?"
)
_JOINING = CONNECTORS | VERBAL
_DIGIT = re.compile("[0-9]")
_WORD = re.compile(r"[^\W\d_²³¹⁰⁴-⁹ⁿ]+")
_COMMAND = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]*\}(?:\{[^{}]*\})?|\\(?:text|mbox|textbf|textrm|textnormal|textit|mathrm|operatorname)\s*\{[^{}]*\}|\\[A-Za-z]+"
)
_VERB = re.compile(r"\b(?:is|are|equals|equal to|be|by|gives?|gets?|obtain|yields?|becomes?|have)\b")
_MATHY = re.compile(r"\d|\\[A-Za-z]+|[A-Za-z]\s*[-+*/^=<>]\s*[A-Za-z]|[π√∞½¼]")
_CUT = re.compile(r"(?:[-+*/^=<,(\[]|\\(?:frac|times|cdot|left|sqrt|text))\s*$")
_BARE_LENGTH = 600
_TAIL = 4000
_NEVER = frozenset("bghijklmnopqsuvwxyzBCDFGHIJKLMNOPQRSTUVWXYZ")
"""Letters that stand in no number: `1e5` and `\\dfrac`, `\\tfrac` have the others."""
_BLOCK, _NEAR, _OVERLAP = 4096, 128, 64
_MOST = 60
_LONGEST_NUMBER = 400
_ENV = re.compile(r"\$\$(.{1,600}?)\$\$|\\\[(.{1,600}?)\\\]|\\\((.{1,600}?)\\\)|\$([^$\n]{1,600})\$", re.DOTALL)
_LINE_END_MATH = re.compile(r"(?:^|[\s:=])(\\(?:frac|dfrac|sqrt|begin)\b[^\n]*|[-\d][^\nA-Za-z]*)\.?\s*$")


def words(text: str, most: int | None = None) -> list[str]:
    """The words of a text that are neither commands, units, functions, connectors nor products of variables."""
    plain = _COMMAND.sub(" ", text)
    return list(islice(filter(_speaks, _WORD.findall(plain)), most))


def _speaks(word: str) -> bool:
    lower = word.lower()
    return lower in SHORT_WORDS or (is_word(word) and not unit(word) and lower not in _JOINING)


def is_bare(text: str) -> bool:
    """Whether a text is an answer and nothing else: a formula, a number, a number with its unit."""
    text = text.strip()
    if "\n" in text.strip("$\\[]() \n") and "\\begin" not in text:
        return False  # two lines are working, unless they are a matrix
    if not text or len(text) > _BARE_LENGTH or not (_MATHY.search(text) or len(text) == 1):
        return False
    found = words(text, most=2)
    if not found:
        return not _CUT.search(text) and "?" not in text
    # `10 apples`: one unknown word after a number is a unit too.
    return len(found) == 1 and NUMBER.match(text) is not None and text.rstrip(".").endswith(found[0])


def last_number(text: str) -> str | None:
    """The last number that is not part of a word."""
    found = _last_number(text)
    return found.group().strip() if found else None


def _last_number(text: str) -> re.Match[str] | None:
    end = len(text)
    if text.isascii():
        # Around the last digit alone, where it nearly always is: all places of a block take a millisecond.
        digit = _last_digit(text)
        apart = _apart(text, digit)
        found = deque(NUMBER.finditer(text, apart, min(end, digit + _OVERLAP)), 1) if apart else ()
        if found:
            return found[0]
        near = max(0, digit - _NEAR)
        close = deque(NUMBER.finditer(text, near, min(end, digit + _OVERLAP)), 1) if near else ()
        if close and close[0].start() >= near + _OVERLAP and len(close[0].group()) <= _OVERLAP:
            return close[0]
    for _ in range(_MOST):
        if end <= 0:
            break
        start = max(0, end - _BLOCK)
        last = None
        if not _DIGIT.search(text, start, end):
            end = start
            continue
        for last in NUMBER.finditer(text, start, min(len(text), end + _OVERLAP)):  # noqa: B007
            pass
        if last is not None:
            # What begins at a block's edge may be the tail of a longer number.
            if len(last.group()) > _LONGEST_NUMBER:
                return None
            if last.start() > start or start == 0:
                return last
            return NUMBER.search(text, max(0, start - _OVERLAP), last.end() + _OVERLAP)
        end = start
    return None


def _apart(text: str, digit: int) -> int:
    """A letter shortly before a digit that no number is written with, so that none reaches across; 0 if none."""
    for at in range(digit - 1, max(0, digit - _OVERLAP), -1):
        if text[at] in _NEVER:
            return at
    return 0


def _last_digit(text: str) -> int:
    """Where it stands; -1 where there is none. Most often near the end, and nine of ten digits are nowhere."""
    near = max(0, len(text) - _BLOCK // 16)
    found = max([text.rfind(digit, near) for digit in "0123456789"])
    return found if found >= 0 or not near else max([text.rfind(digit, 0, near) for digit in "0123456789"])


def lead_number(said: str) -> str | None:
    """The number meant after a marker: the only formula, the end of an equation, or the first number."""
    said = said.strip().strip("*").strip()
    if "=" in said:
        tail = said.rsplit("=", 1)[1]
        if NUMBER.search(tail):
            said = tail.strip()
    inner = said.strip("$ *").removeprefix("\\(").removesuffix("\\)").strip()
    found = NUMBER.search(inner)
    if found is None:
        return None
    if is_bare(inner) and not _only_number(inner, found):
        return inner
    return found.group().strip()


def _only_number(text: str, found: re.Match[str]) -> bool:
    rest = text[: found.start()] + text[found.end() :]
    return not re.search(r"\d|[-+*/^=<>\\]|[π√]", rest.replace("\\$", "").replace("\\text", "").replace("\\,", ""))


def last_formula(text: str, words: int = 0) -> str | None:
    """The last formula or number. With `words`, a short phrase without either stands for itself."""
    tail = text[-_TAIL:]
    last = None
    for found in reversed(list(_ENV.finditer(tail))[-_MOST:]):
        content = next(g for g in found.groups() if g is not None).strip()
        if content and is_bare(content):
            last = (found.start(), found.end(), content)
            break
    number = _last_number_at(tail)
    if last is None and (named := _after_verb(tail)) is not None:
        return named
    if number is not None and last is None and words and (first := NUMBER.search(tail)):
        return first.group().strip()  # after a marker the answer comes first, the explanation later
    if last is not None and (number is None or number[0] < last[1]):
        return _joined(tail, last)
    if number is not None:
        line = _LINE_END_MATH.search(tail[tail.rstrip().rfind("\n") + 1 :])
        if line and is_bare(line.group(1)) and number[1] in line.group(1):
            return line.group(1).strip().rstrip(".")
        return number[1]
    phrase = text.strip().strip(".*\"'").strip()
    if words and phrase and len(phrase.split()) <= words and "\n" not in phrase:
        return phrase
    return None


def _after_verb(tail: str) -> str | None:
    """`The radius is (3√3)/π inches.`: what follows the last verb of the last sentence, if it is a formula."""
    line = tail.rstrip(" .\n*").rpartition("\n")[2][-400:]
    said = _VERB.split(line)[-1].strip(" *")
    return said if said != line and is_bare(said) and not NUMBER.fullmatch(said) else None


def _joined(tail: str, last: tuple[int, int, str]) -> str:
    """`$12$ and $13$` at the end of a sentence is one answer of two formulas."""
    start, _, content = last
    before = tail[max(0, start - 200) : start]
    joint = re.search(r"\$([^$\n]+)\$\s*(?:,|and|or|,\s*and|,\s*or)\s*$", before)
    if joint and is_bare(joint.group(1)):
        return joint.group(1).strip() + ", " + content
    return content


def _last_number_at(tail: str) -> tuple[int, str] | None:
    found = _last_number(tail)
    return None if found is None else (found.start(), found.group().strip())
