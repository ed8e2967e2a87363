"""One spelling for the many ways of writing the same formula: LaTeX, ASCII, Unicode, doubled backslashes.

>>> clean("\\\\left( \\\\dfrac12 ,\\\\, 10,\\\\!080 \\\\right)")
'( \\\\frac12 ,  10080  )'
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 4000
"""Longer than any answer; what is longer is compared as text only."""

_SUPERSCRIPTS = {c: str(i) for i, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-", "⁺": "+", "ⁿ": "n"}
_SUPER_RUN = re.compile("[" + "".join(_SUPERSCRIPTS) + "]+")
_SUB_RUN = re.compile("[₀-₉]+")
_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "×": " \\times ", "·": " \\cdot ", "⋅": " \\cdot ",
    "∙": " \\cdot ", "÷": "/", "∕": "/", "⁄": "/", "≤": " \\le ", "≥": " \\ge ", "≠": " \\ne ",
    "≈": " \\approx ", "∞": " \\infty ", "π": " \\pi ", "√": " \\sqrt ", "∪": " \\cup ", "∩": " \\cap ",
    "∈": " \\in ", "∅": " \\emptyset ", "±": " \\pm ", "∓": " \\mp ", "°": "^\\circ ", "θ": " \\theta ",
    "α": " \\alpha ", "β": " \\beta ", "γ": " \\gamma ", "λ": " \\lambda ", "φ": " \\phi ", "ω": " \\omega ",
    "ℝ": " \\mathbb{R} ", "ℤ": " \\mathbb{Z} ", "ℕ": " \\mathbb{N} ", "∠": " \\angle ", "“": "", "”": "",
    "\u00a0": " ", "\u202f": " ", "\u2009": " ", "，": ",", "；": ";", "：": ":", "（": "(", "）": ")",
    "½": "\\frac{1}{2}", "⅓": "\\frac{1}{3}", "⅔": "\\frac{2}{3}", "¼": "\\frac{1}{4}", "¾": "\\frac{3}{4}",
}  # fmt: skip
_SIGN = re.compile("[" + re.escape("".join(_SIGNS)) + "]")

_COMMANDS = (
    "begin|end|frac|dfrac|tfrac|cfrac|sqrt|left|right|pi|infty|cup|cap|in|text|textbf|mathrm|mathbf|mbox|boxed|cdot|times|le|leq|ge|geq|ne"
    "|neq|pm|sin|cos|tan|sec|csc|cot|log|ln|theta|alpha|beta|circ|angle|quad|binom|overline|mathbb|approx|pmatrix|hline"
)
_DOUBLED = re.compile(rf"(?<!\\)\\\\(?=(?:{_COMMANDS})(?![A-Za-z])|[!$%])")
_RUNS = re.compile(r"\\+")

_SPACING = re.compile(
    r"\\\\|\\[,;:! ]|\\(?:quad|qquad|displaystyle|textstyle|limits|nolimits|left|right|[bB]igg?[lrm]?|hfill"
    r"|hline|hspace\*?\{[^{}]*\}"
    r"|vspace\{[^{}]*\}|phantom\{[^{}]*\}|rm|bf|it|boldmath|thinspace|medspace|enspace|null|label\{[^{}]*\}|tag\{[^{}]*\})(?![A-Za-z])"
    r"|\\(?=\s)|~"
)
_THOUSANDS = re.compile(
    r"(?<=\d)(?:\s?\{\s?,\s?\}|,(?:\s*\\[!,;:])+|\\,|\\;|\\ |\{\\,\}|'|\\!,|,\\,)\s*(?=\d{3}(?!\d))"
)
_DEGREES = re.compile(
    r"\^\s*+\{?\s*+\\circ\s*+\}?|\^\s*+\{?\s*+\\degree\s*+\}?|\\degrees?(?![A-Za-z])|\^\s*+o(?![A-Za-z])"
)
_SYNONYMS = [
    (re.compile(rf"\\(?:{old})(?![A-Za-z])"), new)
    for old, new in (
        ("dfrac|tfrac|cfrac|sfrac|nicefrac", "\\\\frac"), ("leq|leqslant|leqq", "\\\\le"),
        ("geq|geqslant|geqq", "\\\\ge"), ("neq|not\\s*=", "\\\\ne"), ("lt", "<"), ("gt", ">"),
        ("mid|vert|lvert|rvert", "|"), ("lVert|rVert|Vert", "|"), ("dbinom|tbinom", "\\\\binom"),
        ("varnothing", "\\\\emptyset"), ("lbrace", "\\\\{"), ("rbrace", "\\\\}"), ("lbrack", "["),
        ("rbrack", "]"), ("lparen", "("), ("rparen", ")"), ("simeq|thickapprox|doteq", "\\\\approx"),
        ("colon", ":"), ("backslash", "\\\\setminus"), ("ast", "*"), ("div", "/"), ("bmod|mod", "\\\\pmod"),
        ("bar|overline", "\\\\overline"), ("lor|vee", ","), ("varphi", "\\\\phi"),
    )
]  # fmt: skip
_MODULUS = re.compile(r"\\pmod\s*(?:\{[^{}]*\}|\d+)|\(\s*mod\s+\w+\s*\)|(?<=\d)\s+mod\s+\d+")
"""Which modulus is meant stands in the question."""
_ORDINAL = re.compile(
    r"(?<=\d)\s*+(?:\^\s*+\{?\s*+\\(?:text|mathrm|textrm)\s*+\{\s*+)?(?:st|nd|rd|th)(?![A-Za-z])\s*\}{0,2}"
)
_PYTHON_MATRIX = re.compile(r"\b(?:Matrix|array|Tuple|FiniteSet)\(((?:\[|\{).*(?:\]|\}))\)", re.DOTALL)
_CURRENCY = re.compile(r"\\?[$€£¥]")
_PROMPT_NUMBER = re.compile(r"\\not\s*=|!=|<>")


def clean(text: str) -> str:
    """The text in one spelling, still as text."""
    text = _PYTHON_MATRIX.sub(r"\1", single_backslashes(text.strip()))
    text = _SUPER_RUN.sub(lambda m: "^{" + "".join(_SUPERSCRIPTS[c] for c in m.group()) + "}", text)
    text = _SUB_RUN.sub(lambda m: "_{" + unicodedata.normalize("NFKC", m.group()) + "}", text)
    text = _SIGN.sub(lambda m: _SIGNS[m.group()], text)
    text = unicodedata.normalize("NFKC", text)
    text = (
        _PROMPT_NUMBER.sub(r" \\ne ", text)
        .replace("**", "^")
        .replace("==", "=")
        .replace("<=", " \\le ")
        .replace(">=", " \\ge ")
    )
    text = _THOUSANDS.sub("", text)
    text = text.replace("{,}", ",")
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\[\[\]()]", r"\1 ", re.sub(r"\\\\\[[^\[\]]{0,12}\]", r"\\\\", text))
    text = _CURRENCY.sub(" ", text).replace("\\%", "%").replace("\\#", "").replace("\\_", " ").replace("\\|", "|")
    text = (
        text.replace("\\left.", " ")
        .replace("\\right.", " ")
        .replace("\\left\\{", "\\{")
        .replace("\\right\\}", "\\}")
    )
    text = _SPACING.sub(lambda m: m.group() if m.group() == "\\\\" else " ", text)
    for pattern, new in _SYNONYMS:
        text = pattern.sub(new, text)
    text = _ORDINAL.sub("", _MODULUS.sub("", text))
    text = _DEGREES.sub(" \\\\degree ", text)
    return text.strip().rstrip(".").strip()


_AMOUNT = r"\s?(\d{1,12}(?:(?:,|\{,\}|,\\!)\d{3}){0,5}(?:\.\d{0,9})?)"
_AMOUNT_END = r"(?=\s*(?:$|[.,;](?!\d)|\\(?:text|mbox)\b|and\b|or\b))"
_PRICE = re.compile(rf"\\\${_AMOUNT}{_AMOUNT_END}")
_LONE_PRICE = re.compile(rf"\\?\${_AMOUNT}{_AMOUNT_END}")


def priced(text: str) -> str:
    """`\\$5` with its unit behind it, as in `5 dollars`; dollars in pairs are TeX's and stay."""
    if "$" not in text:
        return text
    paired = text.replace("\\$", "").count("$") % 2 == 0
    return (_PRICE if paired else _LONE_PRICE).sub(r"\1\\text{ dollars }", text)


def single_backslashes(text: str) -> str:
    """Undo doubled backslashes (a LaTeX string that was escaped once too often), but keep row ends of matrices."""
    if "\\\\" not in text:
        return text
    if _DOUBLED.search(text) and all(len(m.group()) % 2 == 0 for m in _RUNS.finditer(text)):
        return _RUNS.sub(lambda m: "\\" * (len(m.group()) // 2), text)
    return _DOUBLED.sub(lambda m: "\\", text)


def squeezed(text: str) -> str:
    """For a first comparison: without white space and dollars, fractions and brackets in one spelling."""
    text = clean(text[:LONGEST])
    text = re.sub(r"\\frac\s*(\d)\s*(\d)(?!\d)", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\(?:text|mbox|textbf|mathrm|textrm|textnormal)\s*\{([^{}]*)\}", r"\1", text)
    # Between digits a space counts: `3 4/5` is not `34/5`.
    return re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", re.sub(r"\s+", " ", text))


_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_WRAPPERS = re.compile(
    r"\\(?:text|mbox|textbf|textit|mathrm|textrm|textnormal|mathbf|operatorname)\s*\{([^{}]*)\}"
)


def is_plain(text: str) -> bool:
    """Whether a text is words, without any sign that plain words would lose."""
    bare = _WRAPPERS.sub(r"\1", single_backslashes(text))
    return any(c.isalpha() for c in bare) and not re.search(r"[\\^_=+*<>|(){}\[\]-]", bare)


def plain_words(text: str) -> str:
    """Words for comparison: small letters, no articles, no punctuation."""
    text = _WRAPPERS.sub(r"\1", single_backslashes(text))
    text = unicodedata.normalize("NFKC", text).lower()
    text = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", text)
    text = re.sub(r"[^\w\s%/.-]|(?<!\d)[.\-/]|[.\-/](?!\d)", " ", text)
    return " ".join(_ARTICLES.sub(" ", text).split())
