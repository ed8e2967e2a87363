"""Regular expressions of JSON schemas as forms of text inside a JSON string, and the named formats made of them.

Looking around and looking back are refused by name. A pattern that is not tied to the ends by `^` and `$` may
stand anywhere in the string, as JSON Schema says.

    >>> from thinkcap.engines.grammar import complete
    >>> complete(pattern("^[A-Z]{2}-[0-9]+$", "$"), "AB-12")
    True
"""

from __future__ import annotations

from collections.abc import Mapping

from thinkcap.core.errors import Unsupported
from thinkcap.engines.grammar import Chars, Exactly, Form, Seq, Times, either

Ranges = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_NEEDS_ESCAPE: Ranges = ((0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0x7F, 0x7F), (0xD800, 0xDFFF))
_DIGIT: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_BLANK: Ranges = ((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x2028, 0x2029))
_NAMED: Mapping[str, Ranges] = {"d": _DIGIT, "w": _WORD, "s": _BLANK}
_MOST = 1000
_LONGEST = 4096


def pattern(expression: str, where: str) -> Form:
    """The form of what stands between the quotes."""
    if len(expression) > _LONGEST:
        raise Unsupported(
            f"the JSON schema's pattern at {where} has {len(expression)} characters; wanted {_LONGEST} at most"
        )
    return _Parser(expression, where).whole()


class _Parser:
    def __init__(self, expression: str, where: str) -> None:
        self._text = expression
        self._where = where
        self._at = 0

    def whole(self) -> Form:
        options = [self._side()]
        while self._took("|"):
            options.append(self._side())
        if self._at < len(self._text):
            raise self._cannot(f"'{self._text[self._at]}'")
        return either(options)

    def _side(self) -> Form:
        """One alternative at the top, where the ends of the string may be named."""
        anything = Times(_class(_without((), negated=True)))
        begins = self._took("^")
        inner = self._sequence()
        ends = self._took("$")
        return Seq((*(() if begins else (anything,)), inner, *(() if ends else (anything,))))

    def _sequence(self) -> Form:
        parts: list[Form] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)$":
            parts.append(self._counted(self._one()))
        return parts[0] if len(parts) == 1 else Seq(tuple(parts))

    def _counted(self, node: Form) -> Form:
        least: int
        most: int | None
        if self._took("*"):
            least, most = 0, None
        elif self._took("+"):
            least, most = 1, None
        elif self._took("?"):
            least, most = 0, 1
        elif self._took("{"):
            inside, brace, _ = self._text[self._at :].partition("}")
            low, comma, high = inside.partition(",")
            if not brace or not low.isdecimal() or (high and not high.isdecimal()):
                raise self._cannot(f"'{{{inside}'")
            self._at += len(inside) + 1
            least, most = int(low), int(high) if high else None if comma else int(low)
            if max(least, most or 0) > _MOST:
                raise self._cannot(f"a repetition above {_MOST}")
        else:
            return node
        # A lazy or a greedy repetition allows the same texts.
        self._took("?")
        return Times(node, least, most)

    def _one(self) -> Form:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._set()
        if character == "\\":
            return _class(self._escape())
        if character == ".":
            return _class(_without(((0x0A, 0x0A), (0x0D, 0x0D)), negated=True))
        if character in "*+?{}^)":
            raise self._cannot(f"'{character}' in this place")
        return _class(((ord(character), ord(character)),))

    def _group(self) -> Form:
        if self._took("?") and not self._took(":"):
            raise self._cannot(f"'(?{self._text[self._at : self._at + 1]}'")
        options = [self._sequence()]
        while self._took("|"):
            options.append(self._sequence())
        if not self._took(")"):
            raise self._cannot("an open group, or an anchor inside one")
        return either(options)

    def _set(self) -> Form:
        negated = self._took("^")
        found: list[tuple[int, int]] = []
        while not self._took("]"):
            first = self._member()
            after = self._text[self._at : self._at + 2]
            if after[:1] == "-" and after != "-]":
                self._at += 1
                low, high = first[0][0], self._member()[-1][1]
                if len(first) > 1 or low != first[0][1] or low > high:
                    raise self._cannot("a range without a beginning or an end")
                first = ((low, high),)
            found += first
        return _class(_without(tuple(found), negated=negated))

    def _member(self) -> Ranges:
        character = self._next()
        return self._escape() if character == "\\" else ((ord(character), ord(character)),)

    def _escape(self) -> Ranges:
        name = self._next()
        if name.lower() in _NAMED:
            return _without(_NAMED[name.lower()], negated=name.isupper())
        if name in "ux":
            digits = self._text[self._at : self._at + (4 if name == "u" else 2)]
            try:
                code = int(digits, 16)
            except ValueError:
                raise self._cannot(f"'\\{name}{digits}'") from None
            self._at += len(digits)
            return ((code, code),)
        plain = {"n": "\n", "t": "\t", "r": "\r"}.get(name, name)
        if plain == name and name.isalnum():
            raise self._cannot(f"'\\{name}'")
        return ((ord(plain), ord(plain)),)

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise self._cannot("an end in the middle of something")
        self._at += 1
        return self._text[self._at - 1]

    def _took(self, word: str) -> bool:
        found = self._text.startswith(word, self._at)
        self._at += len(word) * found
        return found

    def _cannot(self, what: str) -> Unsupported:
        return Unsupported(
            f"the JSON schema's pattern '{self._text[:80]}' at {self._where} has {what}, which cannot be held to "
            f"here; leave it out"
        )


def _without(ranges: Ranges, *, negated: bool) -> Ranges:
    """The ranges themselves, in order and joined; or, negated, everything else."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], high)
        else:
            joined.append((low, high))
    if not negated:
        return tuple(joined)
    edges = [-1, *(edge for pair in joined for edge in pair), _LAST + 1]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((low + 1, high - 1) for low, high in pairs if low + 1 <= high - 1)


def _class(ranges: Ranges) -> Form:
    """One character of these, as JSON writes it."""
    everything = _without(ranges, negated=True)
    plain = _without((*everything, *_NEEDS_ESCAPE), negated=True)
    options: list[Form] = []
    if len(plain) == 1 and plain[0][0] == plain[0][1]:
        options.append(Exactly(chr(plain[0][0])))
    elif plain:
        options.append(Chars("".join(_range(low, high) for low, high in plain)))
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    options += [Exactly(said) for c, said in escapes.items() if any(low <= ord(c) <= high for low, high in ranges)]
    return either(options)


def _range(low: int, high: int) -> str:
    return _code(low) if low == high else f"{_code(low)}-{_code(high)}"


def _code(point: int) -> str:
    """Letters and digits as they are; everything else by number, so that nothing has a second meaning."""
    character = chr(point)
    if character.isascii() and character.isalnum():
        return character
    return f"\\u{point:04X}" if point <= 0xFFFF else f"\\U{point:08X}"


_DAYS = (
    "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])",
    "(0[469]|11)-(0[1-9]|[12][0-9]|30)",
    "02-(0[1-9]|1[0-9]|2[0-8])",
)
_DATE = f"[12][0-9]{{3}}-({'|'.join(_DAYS)})"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_ZONE = r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
_PART = "[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?"

FORMATS: Mapping[str, Form] = {
    name: pattern(f"^{expression}$", "$")
    for name, expression in {
        "date": _DATE,
        "time": _TIME + _ZONE,
        "date-time": f"{_DATE}T{_TIME}{_ZONE}",
        "uuid": "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        "email": rf"[A-Za-z0-9]([A-Za-z0-9_+-]{{0,30}}[A-Za-z0-9])?@({_PART}\.){{1,3}}[a-z]{{2,10}}",
        "uri": rf"https?://({_PART}\.){{1,4}}[a-z]{{2,10}}(/[A-Za-z0-9._~%&=?#/-]*)?",
        "ipv4": r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])",
    }.items()
}
"""The formats that can be held to, by the name JSON Schema has for them."""
