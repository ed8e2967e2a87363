"""Boxed answers with balanced braces: a parser that stops at the first brace cuts every fraction in half.

>>> boxed("\\\\boxed{\\\\frac{1}{2}} and then \\\\boxed{x^{2}}")
'x^{2}'
>>> boxed("$\\\\boxed{1}$ and $\\\\boxed{-2}$", join=True)
'1, -2'
"""

from __future__ import annotations

import re

_BOX = re.compile(
    r"(?:\\boxed|\x08oxed|(?<![A-Za-z])boxed|\\beginboxed|\\fbox)(?:\s*(\{)|\s*(-?[A-Za-z0-9][\w.,]*))"
)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_LONGEST = 4000
"""No answer is longer; with a bound on how far each box is followed the search stays linear."""
_MOST = 64

_JOINT = re.compile(
    r"(?:[\s,;.$&]|\\[()\[\],;!]|\\quad|\\qquad|\\ |and|or"
    r"|\\(?:text|mbox|textrm)\s*+\{[\s,]*+(?:and|or)?[\s,]*+\})*"
)
_DERIVES = re.compile(r"=|\\implies|\\Rightarrow|\\to\b|\\rightarrow|\\approx")
_PLACEHOLDERS = {
    "",
    "...",
    "\\ldots",
    "\\dots",
    "answer",
    "\\text{answer}",
    "\\text{...}",
    "your answer",
    "\\cdot",
}


def boxed(text: str, join: bool = False) -> str | None:
    """What the last complete box holds; with `join`, boxes side by side make one list."""
    if "oxed" not in text and "fbox" not in text:
        return None
    boxes: list[tuple[int, int, str]] = []
    starts = list(_BOX.finditer(text))[-_MOST:]
    for found in reversed(starts):
        box = _box(text, found)
        if box is None or box[2].strip() in _PLACEHOLDERS:
            continue
        if boxes and box[1] > boxes[-1][0]:
            continue  # a box around a box: the inner one is the answer
        if boxes and not (join and _together(text, box[1], boxes[-1][0])):
            break
        boxes.append(box)
        if not join:
            break
    if not boxes:
        return None
    contents = list(dict.fromkeys(content.strip() for _, _, content in reversed(boxes)))
    return ", ".join(contents)


def _box(text: str, found: re.Match[str]) -> tuple[int, int, str] | None:
    if found.group(2) is not None:
        return found.start(), found.end(), found.group(2).rstrip(".,")
    depth = 1
    for brace in _BRACE.finditer(text, found.end(), found.end() + _LONGEST):
        if brace.group() == "{":
            depth += 1
        elif brace.group() == "}":
            depth -= 1
            if depth == 0:
                return found.start(), brace.end(), text[found.end() : brace.start()]
    return None


def _together(text: str, end: int, start: int) -> bool:
    """Whether two boxes make one answer: joined by `,` or `and`, or side by side in one formula."""
    if start - end > 60:
        return False
    between = text[end:start]
    if _JOINT.fullmatch(between):
        return True
    if "$" in between or re.search(r"\\[)\]]", between) or _DERIVES.search(between):
        return False
    before = text[max(0, end - 1000) : end]
    before = before[before.rfind("\n\n") + 1 :]
    dollars = before.replace("\\$", "").replace("$$", "$").count("$")
    opened = max(before.rfind("\\["), before.rfind("\\("))
    return dollars % 2 == 1 or opened > max(before.rfind("\\]"), before.rfind("\\)"))
