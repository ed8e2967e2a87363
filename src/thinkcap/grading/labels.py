"""Option letters, True/False and Yes/No: read from short answers and from sentences.

>>> label("\\\\text{(C)}"), label("The answer is (b)."), label("so it is plausible: Yes")
('C', 'B', 'yes')
"""

from __future__ import annotations

import re

_WORDS = {"true": "true", "false": "false", "yes": "yes", "no": "no"}
_WRAP = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|textnormal|boldsymbol)\s*\{([^{}]*)\}")
_FAR = 4000
_DECORATION = " \t\n.,;:!?*_`'\"$~#"
_BARE = re.compile(r"[\(\[{]?\s*([A-Za-z])\s*[\)\]}]?")
_LEADING = re.compile(r"[\(\[]?([A-Z])[\)\]]?(?:[.:,)]|\s++[-–—]?\s*+(?=\S)|$)")
_PAREN = re.compile(r"\(([A-Za-z])\)")
_FIRST = re.compile(
    r"\(([A-Za-z])\)|(?<![\w'’])([A-Z])(?![\w'’])|(?<![\w'’])(true|false|yes|no)(?![\w'’])", re.IGNORECASE
)
_DENIED = re.compile(r"(?:\bnot|n['’]t|\bneither|\brather than|\binstead of)\s+(?:option\s+)?\(?$", re.IGNORECASE)
_STATED = re.compile(
    r"(?:(?:answer|option|choice)\s*+(?:is|was|:|=|would be|should be|must be)?\s*+:?\s*+"
    r"|(?:it is|it's|it’s|i choose|i pick|select|choose)\s++(?:option\s++)?)\*{0,3}\(?([A-Za-z])\)?(?![\w'’])",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Without the wrappers and decoration that mean nothing around a label."""
    for _ in range(3):
        text = _WRAP.sub(r"\1", text)
    return text.replace("\\(", "").replace("\\)", "").strip(_DECORATION)


def bare(text: str) -> str | None:
    """The label where the text is nothing but a label: `(C)`, `c`, `True`, `**No.**`."""
    if len(text) > 60:
        return None
    short = plain(text)
    word = _WORDS.get(short.strip("()[]").lower())
    if word:
        return word
    found = _BARE.fullmatch(short)
    return found.group(1).upper() if found else None


def leading(text: str) -> str | None:
    """The label a text opens with: `D. it cannot be A`, `(C) Cecile`, `C Cecile`."""
    short = plain(text[:200])
    found = _LEADING.match(short)
    if not found:
        return None
    # `A train left` is a sentence, `A Peter` an option: an article is followed by a small letter.
    if found.group(1) in "AI" and re.match(r"[AI]\s+[a-z]", short):
        return None
    return found.group(1)


def first(text: str) -> str | None:
    """The first label in the words that follow a marker such as `the answer is`."""
    for found in _FIRST.finditer(text[:400]):
        letter = found.group(1) or found.group(2)
        if _DENIED.search(text[max(0, found.start() - 30) : found.start()]):
            continue
        if letter is None:
            return _WORDS[found.group(3).lower()]
        if found.group(1) or letter.isupper():
            # `A` may be an article; only a letter that closes a clause or wears brackets counts then.
            rest = text[found.end() : found.end() + 2]
            if letter in "AI" and not found.group(1) and re.match(r" [a-z]", rest):
                continue
            return letter.upper()
    return None


def stated(text: str) -> str | None:
    """The label a text states in so many words (`I think it's B`) or opens with (`D. it cannot be A`)."""
    last = None
    for found in _STATED.finditer(text, max(0, len(text) - _FAR)):
        if found[1].isupper() or found[0].rstrip().endswith(")"):
            last = found[1].upper()
    return last or leading(text)


def label(text: str) -> str | None:
    """The label a text gives as its answer, or None. True/False and Yes/No come back in small letters."""
    found = bare(text) or stated(text)
    if found:
        return found
    tail = plain(text[-400:])
    parens = _PAREN.findall(tail)
    if parens:
        return str(parens[-1]).upper()
    words = re.findall(r"(?<![\w'’])(true|false|yes|no)(?![\w'’])", tail, re.IGNORECASE)
    if words:
        return _WORDS[words[-1].lower()]
    letters = re.findall(r"(?<![\w'’])([A-Z])(?![\w'’])", tail)
    return letters[-1] if letters else None
