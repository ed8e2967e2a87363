"""Words in a message that turn a thought on or off: the usual ones, and whatever else a template looks for.

>>> Wording(Switching(Template(source))).off                          # doctest: +SKIP
'/no_think'
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, NamedTuple

from thinkcap.dialects.conversations import QUESTION
from thinkcap.dialects.marks import MARK, closes, opens
from thinkcap.dialects.rendering import Template, user

_USUAL = ("/no_think", "/nothink", "/no_thinking", "detailed thinking off")
_PARTS = frozenset(["user", "system", "assistant", "tool", "function", "developer", "text", "image", "string"])
"""Roles and kinds of contents, which every template looks for."""


class SwitchWord(NamedTuple):
    word: str
    prompt: str
    """What the template makes of a question with the word."""
    place: Literal["user", "system"] = "user"


class Wording:
    """Words tried in messages, without any argument; `end` cuts a prompt down to what it ends with."""

    def __init__(self, template: Template, end: Callable[[str], str]) -> None:
        self.template, self._end = template, end

    @cached_property
    def off_word(self) -> str | None:
        """A usual word that the template's text has, whatever it does there."""
        return next((word for word in _USUAL if word in self.template.source), None)

    @cached_property
    def off(self) -> SwitchWord | None:
        """The word that ends the prompt with a thought that is over, or with none where there was one."""
        if self.off_word is not None:
            return next((said for said, _ in self._tried(self.off_word)), None)
        return next((said for said, bare in self._rarer if self._ends(said.prompt, bare)), None)

    @cached_property
    def on(self) -> SwitchWord | None:
        """The word without which the prompt has no thought, or one that is over."""
        return next((said for said, bare in self._rarer if self._ends(bare, said.prompt)), None)

    @cached_property
    def _rarer(self) -> list[tuple[SwitchWord, str]]:
        words = [w for w in self.template.reading.words if w.strip() not in _PARTS and not MARK.search(w)]
        return [tried for word in words for tried in self._tried(word)]

    def _tried(self, word: str) -> list[tuple[SwitchWord, str]]:
        """Prompts that end otherwise for the word, and how they end without it."""
        found: list[tuple[SwitchWord, str]] = []
        asked: list[dict[str, Any]] = [{"role": "system", "content": word}, user(QUESTION)]
        for turns in ([user(f"{QUESTION} {word}")], [user(f"{word}{QUESTION}")], asked):
            said = self.template.render(turns)
            bare = self.template.render([{**m, "content": m["content"].replace(word, "")} for m in turns])
            if said is not None and bare is not None and self._end(said) != self._end(bare):
                found.append((SwitchWord(word, said, "system" if turns is asked else "user"), bare))
        return found

    def _ends(self, off: str, on: str) -> bool:
        """Whether the first of two prompts leaves the thought out that the second has."""
        off, on = self._end(off), self._end(on)
        return (closes(off) and not closes(on)) or (opens(on) and not opens(off))
