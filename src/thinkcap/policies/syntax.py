"""A policy as people write it: a name, and options that may be numbers, quoted texts and policies in turn.

The reader goes through the text once, from left to right, because strangers type such texts too: twice the
length takes twice the time. It knows the syntax only; whether a name exists is the registry's business.

    >>> read("gate(each=64, otherwise=iris_plus(first=64))", lambda name, options: (name, dict(options)))
    ('gate', {'each': 64, 'otherwise': ('iris_plus', {'first': 64})})
    >>> written("Time is up, so:")
    '"Time is up, so:"'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.types import EMPTY

_DEEPEST = 8
_SHOWN = 80
_PLAIN = re.compile(r"[^,()]*")
_KEY = re.compile(r"[^,()=]*")
_QUOTED = re.compile(r"[^\"'\\]*")
_ESCAPES = MappingProxyType({"n": "\n", "t": "\t"})
_NEEDS_QUOTES = re.compile(r"[,()\"'\\\n\t]")


Make = Callable[[str, Mapping[str, Any]], Any]
"""From a name and its options to a policy."""


def read(text: str, make: Make) -> Any:
    """One policy and nothing after it."""
    reader = _Reader(text, make)
    found = reader.policy()
    if not reader.at_end:
        raise reader.wrong("wanted nothing after the policy")
    return found


def read_list(text: str, make: Make) -> list[Any]:
    """Policies with commas between them; commas inside parentheses and quotes belong to their options."""
    reader = _Reader(text, make)
    found = []
    while not reader.at_end:
        if not reader.took(","):
            found.append(reader.policy())
            if not reader.at_end and not reader.took(","):
                raise reader.wrong("wanted a comma before the next policy")
    return found


def written(value: Any) -> str:
    """A value as the reader takes it: a text that would read as something else stands in quotes."""
    if not isinstance(value, str):
        return str(value)
    bare = value and value == value.strip() and not _NEEDS_QUOTES.search(value)
    if bare and isinstance(_number_or_word(value), str):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


class _Reader:
    def __init__(self, text: str, make: Make) -> None:
        self._text = text
        self._make = make
        self._at = 0
        self._depth = 0
        self._skip()

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def took(self, mark: str) -> bool:
        """Steps over the mark and the blanks behind it, where it stands here."""
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        self._skip()
        return True

    def policy(self) -> Any:
        name = self._run(_PLAIN).strip()
        if not name:
            raise self.wrong("wanted a name such as iris or iris(first=64,answer=32)")
        return self._make(name, self._options() if self.took("(") else EMPTY)

    def _options(self) -> Mapping[str, Any]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.wrong(f"wanted policies at most {_DEEPEST} deep in one another")
        options: dict[str, Any] = {}
        while not self.took(")"):
            if self.at_end:
                raise self.wrong("wanted a closing parenthesis")
            if self.took(","):
                continue
            key = self._run(_KEY).strip()
            if not key or not self.took("="):
                raise self.wrong(f"cannot read '{key[:_SHOWN]}'; wanted option=value")
            if key in options:
                raise self.wrong(f"option '{key[:_SHOWN]}' is given twice")
            options[key] = self._value()
            if not self.at_end and self._text[self._at] not in ",)":
                raise self.wrong("wanted a comma or a closing parenthesis; put a text with either into quotes")
        self._depth -= 1
        return MappingProxyType(options)

    def _value(self) -> Any:
        if self._text[self._at : self._at + 1] in ('"', "'"):
            return self._quoted()
        word = self._run(_PLAIN).strip()
        if word and self.took("("):
            return self._make(word, self._options())
        return _number_or_word(word)

    def _quoted(self) -> str:
        quote = self._text[self._at]
        self._at += 1
        parts: list[str] = []
        while not self.at_end:
            parts.append(self._run(_QUOTED))
            mark = self._text[self._at : self._at + 1]
            self._at += 1
            if mark == quote:
                self._skip()
                return "".join(parts)
            if mark == "\\":
                mark = self._text[self._at : self._at + 1]
                mark = _ESCAPES.get(mark, mark)
                self._at += 1
            parts.append(mark)
        raise self.wrong(f"wanted a closing {quote}")

    def _run(self, what: re.Pattern[str]) -> str:
        match = what.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return match.group()

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def wrong(self, why: str) -> ConfigError:
        seen = self._text[self._at : self._at + 20]
        place = f"at '{seen}'" if seen else "at its end"
        return ConfigError(f"cannot read policy '{_short(self._text)}' {place}: {why}")


def _short(text: str) -> str:
    text = " ".join(text[: 2 * _SHOWN].split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _number_or_word(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(word.lower(), word)
