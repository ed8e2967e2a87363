"""The final answer a text states and how plainly it states it, so that guesses are never mistaken for answers.

    >>> extract("so we get \\\\boxed{\\\\frac{1}{2}}.", "math")
    Extracted(answer='\\\\frac{1}{2}', level=1)
    >>> extract("", "number", thought="so it must be 41")
    Extracted(answer='41', level=4)

Levels: 1 boxed, 2 `####`, 3 a final-answer marker or a reply that is nothing but the answer, 4 the last number or
formula, or the last line where the answer is words (never for labels), 0 nothing. Every step is linear in the
length of the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from thinkcap.grading import labels
from thinkcap.grading.boxes import boxed
from thinkcap.grading.decode import decoded
from thinkcap.grading.kinds import KindName
from thinkcap.grading.prose import is_bare, last_formula, last_number, lead_number


class Extracted(NamedTuple):
    answer: str | None
    level: int

    @property
    def weak(self) -> bool:
        """Guessed or missing. A cut text that states its answer is as good as a finished one."""
        return self.answer is None or self.level not in (1, 2, 3)


NOTHING = Extracted(None, 0)

_TURN_END = re.compile(r"<\|?(?:im_end|im_start|endoftext|eot_id|end▁of▁sentence)\|?>|<｜end▁of▁sentence｜>|</s>")
_LONGEST_ANSWER = 2000
_MOST = 64
_FEW_WORDS = 3
_FAR = 400
_ENDINGS = ".!?})]$*\"'`>。0123456789"
"""A text that ends in none of these was cut; what it called its answer long before was not its last word."""

_HASHES = re.compile(r"(?<!#)####(?!#)[ \t]*\**[ \t]*([^\n]*)")
_HEADING = re.compile(r"(?:step|part|case|section|solution|explanation)\b|\d+[.)]\s+[A-Za-z]", re.IGNORECASE)
_ANSWER_WORDS = re.compile(r"(?:the\s+)?(?:final\s+)?(?:answer|result)\b\s*(?:is\b)?\s*[:=]?\s*", re.IGNORECASE)
_KEYWORDS = (
    "answer",
    "Answer",
    "ANSWER",
    "réponse",
    "Réponse",
    "respuesta",
    "Respuesta",
    "antwort",
    "Antwort",
    "答案",
)
_MARKER = re.compile(
    r"(?:answers?|réponse|respuesta|antwort|答案)\**+[ \t]*+"
    r"(?:(?:is|are|would\s+be|must\s+be|est|es|ist)\b\**+\s*+[:：]?|[是为]\**+\s*+[:：]?|[:：=]|(?=\s*+(?:\$|\\\(|\\\[)))",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"\.(?=\s+[A-Z\[<(]|\s*$)|[!?](?=\s|$)|\n\s*\n|。")
_MATH_OPEN = re.compile(r"[\"*\s]*+(\$\$?|\\\(|\\\[)")
_MATH_CLOSE = {"$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]"}


def extract(text: str | None, kind: KindName, *, thought: str | None = None) -> Extracted:
    """The answer in `text` and its level; what was thought before it counts only where it says nothing."""
    if text is None:
        return NOTHING
    reply = decoded(text)
    said = _read(reply, kind)
    if thought is None or said.answer is not None:
        return said
    if kind in ("math", "text") and 0 < len(reply.split()) <= _FEW_WORDS:
        return Extracted(reply.strip(), 3)  # after a thought a word or two is the whole reply
    return _read(decoded(thought), kind)


def _read(text: str, kind: KindName) -> Extracted:
    if "<" in text:
        text = _TURN_END.sub(" ", text)
    if not text.strip():
        return NOTHING
    for level, step in ((1, _from_box), (2, _from_hashes), (3, _from_marker)):
        answer = step(text, kind)
        if answer is not None:
            return Extracted(answer, level)
    if kind == "label":
        return NOTHING
    if kind == "text":
        return Extracted(text.strip().rpartition("\n")[2].strip()[:_LONGEST_ANSWER], 4)
    guess = last_number(text) if kind == "number" else last_formula(text)
    return Extracted(guess, 4) if guess is not None else NOTHING


def _from_box(text: str, kind: KindName) -> str | None:
    content = boxed(text, join=kind == "math")
    if content is None or kind != "label":
        return content
    return labels.label(content) and _as_written(content)


def _from_hashes(text: str, kind: KindName) -> str | None:
    first = text.find("####")
    if first < 0:
        return None
    for found in reversed(list(_HASHES.finditer(text, first))[-_MOST:]):
        line = _ANSWER_WORDS.sub("", found.group(1), count=1).strip().rstrip("*").strip()
        if not line:
            line = text[found.end() : found.end() + 300].strip().partition("\n")[0].strip("* #")
        heading = _HEADING.match(line) if kind != "text" else None
        answer = None if not line or heading else _payload(line, kind, words=4)
        if answer is not None:
            return answer
    return None


def _from_marker(text: str, kind: KindName) -> str | None:
    if kind == "label":
        whole = labels.bare(text)
        if whole is not None:
            return _as_written(text)
    tag = _from_tag(text)
    # The last statement counts; with a bound on how many are tried the search stays linear.
    cut = text.rstrip()[-1:] not in _ENDINGS
    for start, end in _markers(text):
        if tag is not None and start < tag[0]:
            break
        if cut and len(text) - end > _FAR and not text[max(0, start - 6) : start].lower().startswith("final"):
            continue
        said = _payload(_sentence(text, end), kind, words=8)
        if said is not None:
            return said
    if tag is not None:
        return tag[1] if kind in ("math", "text") else _payload(tag[1], kind, words=40)
    if kind == "label":
        stated = labels.stated(text)
        return _as_written(stated) if stated else None
    if kind == "text":
        whole = text.strip()
        return whole if "\n" not in whole and len(whole.split()) <= _FEW_WORDS else None
    if not is_bare(text):
        return None
    return text.strip() if kind == "math" else lead_number(text)


def _markers(text: str) -> list[tuple[int, int]]:
    """Where `the answer is`, `Answer:` and their like begin and end, the last one first."""
    found: list[tuple[int, int]] = []
    for keyword in _KEYWORDS:
        at = text.rfind(keyword)
        while at >= 0 and len(found) < _MOST * len(_KEYWORDS):
            match = _MARKER.match(text, at)
            if match:
                found.append((at, match.end()))
            at = text.rfind(keyword, 0, at)
    last = text.rstrip().rfind("\n") + 1
    if text.startswith("A:", last):  # only as the last line: `A: (0, 0)` above others names a point
        found.append((last, last + 2))
    return sorted(found, reverse=True)[:_MOST]


def _from_tag(text: str) -> tuple[int, str] | None:
    close = max(text.rfind("</answer>"), text.rfind("</Answer>"), text.rfind("</ANSWER>"))
    if close < 0:
        return None
    start = max(text.rfind(tag, 0, close) for tag in ("<answer>", "<Answer>", "<ANSWER>"))
    inner = text[start + len("<answer>") : close].strip() if start >= 0 else ""
    return (start, inner) if inner and len(inner) <= _LONGEST_ANSWER else None


def _sentence(text: str, start: int) -> str:
    """What follows a marker: a formula in its dollars, or the words up to the end of the sentence."""
    rest = text[start : start + _LONGEST_ANSWER]
    math = _MATH_OPEN.match(rest)
    if math:
        close = rest.find(_MATH_CLOSE[math.group(1)], math.end())
        if close > 0:
            after = rest[close + len(math.group(1)) :]
            tail = _SENTENCE_END.search(after)
            line = after[: tail.start()] if tail else after
            return rest[: close + len(math.group(1))] + line.partition("\n")[0]
    rest = rest.lstrip(" \t\n*:")
    end = _SENTENCE_END.search(rest)
    return rest[: end.start()] if end else rest


def _payload(said: str, kind: KindName, words: int) -> str | None:
    """The answer in the words after a marker, or None where they hold none."""
    said = said.strip().strip("*").strip()
    if kind == "label":
        found = labels.bare(said) or labels.first(said)
        return _as_written(found) if found else None
    if not said or len(said) > _LONGEST_ANSWER:
        return None
    if kind == "number":
        return lead_number(said)
    if kind == "text":
        return said.partition("\n")[0].strip().strip("*").strip() or None
    return said if is_bare(said) else last_formula(said, words=words)


def _as_written(found: str) -> str:
    """Labels leave here in one spelling: `B`, `True`, `No`."""
    label = labels.label(found) or ""
    return label if len(label) == 1 else label.capitalize()
