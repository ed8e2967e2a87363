"""Tokens of a formula: numbers, names with their subscripts, commands, words, matrices.

>>> [t.kind + ":" + str(t.text) for t in tokens("2x_1 + \\\\pi, y and 10 cm")]
['num:2', 'name:x_1', 'op:+', 'name:pi', 'sep:,', 'name:y', 'sep:and', 'num:10', 'text:cm']
"""

from __future__ import annotations

import re
from typing import NamedTuple

from thinkcap.grading.latex_cleanup import clean, priced
from thinkcap.grading.vocabulary import CONNECTORS, CONSTANTS, FUNCTIONS, is_word, unit


class Unparsed(Exception):
    """A text that is no formula we read. Never leaves the package."""


class Token(NamedTuple):
    kind: str
    text: str
    parts: tuple[tuple[tuple[Token, ...], ...], ...] = ()
    """Rows of cells, for a matrix."""


_TOKEN = re.compile(
    r"\s+"
    r"|(?P<num>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+(?![\w.]))?)"
    r"|(?P<wrap>\\(?:text|mbox|textbf|textit|textrm|textnormal|mathrm|mathbf|mathit|mathsf|boldsymbol|operatorname\*?|vec|hat|overrightarrow|mathbb|mathcal|mathscr)\s*(?=\{))"
    r"|(?P<begin>\\begin\s*\{(?P<env>[a-zA-Z*]+)\})"
    r"|(?P<row>\\\\)"
    r"|(?P<brace>\\[{}])"
    r"|(?P<cmd>\\[A-Za-z]+)"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<letters>[^\W\d_]+)"
    r"|(?P<sub>_)"
    r"|(?P<op>.)",
    re.DOTALL,
)
_MATRICES = {"matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix", "array"}
_GREEK = {
    *(
        [
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "varepsilon",
            "zeta",
            "eta",
            "theta",
            "vartheta",
            "iota",
            "kappa",
            "lambda",
            "mu",
            "nu",
            "xi",
            "rho",
            "sigma",
            "tau",
        ]
    ),
    *(
        [
            "upsilon",
            "phi",
            "chi",
            "psi",
            "omega",
            "Gamma",
            "Delta",
            "Theta",
            "Lambda",
            "Xi",
            "Sigma",
            "Upsilon",
            "Phi",
            "Psi",
            "Omega",
            "ell",
            "hbar",
            "nabla",
        ]
    ),
}
_IGNORED = {
    "angle",
    "triangle",
    "mathopen",
    "mathclose",
    "limits",
    "to",
    "measuredangle",
    "therefore",
    "because",
    "boxed",
}
_RELATIONS = {
    "le": "<=",
    "ge": ">=",
    "ne": "!=",
    "approx": "~",
    "equiv": "equiv",
    "in": "in",
    "notin": "notin",
    "subset": "subset",
    "subseteq": "subset",
}
_OPERATORS = {
    "times": "*",
    "cdot": "*",
    "pm": "pm",
    "mp": "mp",
    "cup": "cup",
    "cap": "cap",
    "setminus": "setminus",
}
_UNIT_LETTERS = {"m", "g", "s", "h", "l", "L"}
"""Set upright after a number these are units; in italics they are variables."""
_MOST_TOKENS = 1500
_MOST_DEPTH = 40


def tokens(text: str, depth: int = 0) -> tuple[Token, ...]:
    """The tokens of a text; raises Unparsed where there are too many, or a group does not close."""
    return _scan(clean(priced(text)) if depth == 0 else text, depth)


def _scan(text: str, depth: int) -> tuple[Token, ...]:
    if depth > _MOST_DEPTH:
        raise Unparsed("too deeply nested")
    out: list[Token] = []
    at = 0
    while at < len(text):
        if len(out) > _MOST_TOKENS:
            raise Unparsed("too long for an answer")
        found = _TOKEN.match(text, at)
        if found is None:
            raise Unparsed(f"cannot read {text[at]!r}")
        at = found.end()
        kind = found.lastgroup
        if kind is None:
            continue
        value = found.group(kind)
        if kind == "env" or kind == "begin":
            at = _environment(text, at, found.group("env"), out, depth)
        elif kind == "wrap":
            inner, at = group(text, at)
            _wrapped(value.strip()[1:].rstrip("*"), inner, out, depth)
        elif kind == "sub":
            inner, at = group(text, at)
            _subscript(inner, out)
        elif kind == "num":
            out.append(Token("num", value))
        elif kind == "row":
            out.append(Token("sep", ","))
        elif kind == "brace":
            out.append(Token("op", value))
        elif kind == "cmd":
            at = _command(value[1:], text, at, out)
        elif kind == "word":
            _word(value, out)
        elif kind == "letters":
            _add_text(value, out)
        elif value in ",;":
            out.append(Token("sep", value))
        elif value in "<>=":
            out.append(Token("rel", value))
        elif value == "'":
            if not out or out[-1].kind != "name":
                raise Unparsed("a prime after nothing")
            out[-1] = Token("name", out[-1].text + "'")
        elif value == '"' or value == "&":
            continue
        else:
            out.append(Token("op", value))
    return tuple(out)


def group(text: str, at: int) -> tuple[str, int]:
    """The braced group or single sign at `at`, and where it ends."""
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text):
        raise Unparsed("a group is missing")
    if text[at] != "{":
        found = re.compile(r"\\[A-Za-z]+|.").match(text, at)
        return (found.group(), found.end()) if found else ("", at)
    level, start = 0, at
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        level += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if level == 0:
            return text[start + 1 : at - 1], at
    raise Unparsed("a brace does not close")


def _wrapped(command: str, inner: str, out: list[Token], depth: int) -> None:
    content = inner.strip()
    if command == "mathbb":
        out.append(Token("name", "R" if content == "R" else "set " + content))
        if content == "R":
            out[-1] = Token("reals", "R")
    elif command in (
        "mathbf",
        "boldsymbol",
        "vec",
        "hat",
        "overrightarrow",
        "mathit",
        "mathcal",
        "mathscr",
        "mathsf",
    ):
        out.extend(_scan(inner, depth + 1))
    elif command == "operatorname" and content in FUNCTIONS:
        out.append(Token("func", content))
    elif not content:
        return
    elif re.fullmatch(r"[,;\s]*+(?:and|or)?[,;\s]*+", content):
        out.append(Token("sep", re.sub(r"[\s,;]", "", content) or ","))
    elif content in _UNIT_LETTERS and out and out[-1].kind == "num":
        _add_text(content, out)
    elif re.fullmatch(r"[-+\d.,/\s]+", content) or (len(content) == 1 and content.isalpha()):
        out.extend(_scan(content, depth + 1))
    else:
        _add_text(content, out)


def _subscript(inner: str, out: list[Token]) -> None:
    inner = re.sub(r"\\(?:text|mathrm|textrm)\s*\{([^{}]*)\}|[\s{}]", r"\1", inner)
    if not out or out[-1].kind not in ("name", "num", "func", "text"):
        raise Unparsed("a subscript under nothing")
    last = out[-1]
    if last.kind == "func":
        out.append(Token("base", inner))
    elif last.kind == "num":
        out[-1] = Token("based", last.text + "_" + inner)
    else:
        out[-1] = Token(last.kind, last.text + "_" + inner)


def _command(name: str, text: str, at: int, out: list[Token]) -> int:
    if name in _RELATIONS:
        out.append(Token("rel", _RELATIONS[name]))
    elif name in _OPERATORS:
        out.append(Token("op", _OPERATORS[name]))
    elif name in FUNCTIONS or name in ("overline",):
        out.append(Token("func", name))
    elif name == "pi":
        out.append(Token("name", "pi"))
    elif name == "infty":
        out.append(Token("inf", "inf"))
    elif name == "emptyset":
        out.append(Token("empty", "empty"))
    elif name == "degree":
        out.append(Token("op", "degree"))
    elif name in ("lfloor", "rfloor", "lceil", "rceil", "langle", "rangle"):
        out.append(Token("op", name))
    elif name in _GREEK:
        out.append(Token("name", name))
    elif name in ("land", "wedge"):
        out.append(Token("sep", "and"))
    elif name not in _IGNORED:
        raise Unparsed(f"\\{name}")
    return at


def _word(word: str, out: list[Token]) -> None:
    lower = word.lower()
    if lower in CONNECTORS:
        out.append(Token("sep", lower))
    elif word in FUNCTIONS:
        out.append(Token("func", word))
    elif lower in ("infinity", "inf", "oo", "infty"):
        out.append(Token("inf", "inf"))
    elif word in CONSTANTS:
        out.append(Token("name", word))
    elif lower in ("percent", "percentage", "pct"):
        out.append(Token("op", "%"))
    elif lower in ("degree", "degrees"):
        out.append(Token("op", "degree"))
    elif (
        (unit(word) and len(word) > 1)
        or is_word(word)
        or lower == "per"
        or (lower in ("of", "in", "a", "an", "the") and len(word) > 1)
    ):
        _add_text(word, out)
    else:
        out.extend(Token("name", letter) for letter in word)


def _add_text(content: str, out: list[Token]) -> None:
    if out and out[-1].kind == "text":
        out[-1] = Token("text", out[-1].text + " " + content)
    else:
        out.append(Token("text", content))


def _environment(text: str, at: int, name: str, out: list[Token], depth: int) -> int:
    close = f"\\end{{{name}}}"
    end = text.find(close, at)
    if end < 0:
        raise Unparsed(f"\\begin{{{name}}} does not end")
    body = text[at:end]
    if name == "array":
        body = re.sub(r"^\s*\{[^{}]*\}", "", body)
    if name not in _MATRICES:
        out.extend(_scan(body.replace("&", " "), depth + 1))
        return end + len(close)
    rows = [row for row in re.split(r"\\\\", body) if row.strip()]
    cells = tuple(tuple(_scan(cell, depth + 1) for cell in row.split("&")) for row in rows)
    if not cells or any(len(row) != len(cells[0]) for row in cells):
        raise Unparsed("a matrix with uneven rows")
    out.append(Token("det" if name == "vmatrix" else "matrix", name, cells))
    return end + len(close)
