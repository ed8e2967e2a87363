"""What turns thinking on and off in a template: the arguments and words that change the prompt of a question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thinkcap.dialects.conversations import ANSWER, QUESTION, SECOND
from thinkcap.dialects.marks import MARK, THINKS, common_start
from thinkcap.dialects.rendering import Template, user

HISTORY = re.compile(r"history|past|preserve|keep|drop|clear|truncate|strip|content|instruction", re.IGNORECASE)
"""Arguments about earlier turns are no switches."""
_SWITCH = re.compile(r"think|reason|effort|deliberat|budget|cot\b", re.IGNORECASE)
_LEVELS = re.compile(r"effort|strength|level", re.IGNORECASE)
_NO = frozenset(
    ["none", "off", "no_think", "nothink", "no_thinking", "disabled", "disable", "no", "false", "never"]
)
_OFF_WORDS = ("/no_think", "/nothink", "/no_thinking", "detailed thinking off")


@dataclass(frozen=True)
class Switch:
    on: Mapping[str, Any]
    off: Mapping[str, Any]


class Switching:
    """The generation prompt of one question, asked once for every argument and kept."""

    def __init__(self, template: Template) -> None:
        self.template = template

    def single(self, **switches: Any) -> str | None:
        return self.template.render([user(QUESTION)], **switches)

    @cached_property
    def plain(self) -> str:
        return self.single() or ""

    @cached_property
    def header(self) -> str:
        """What every generation prompt begins with, whatever the mode."""
        tails = []
        for kwargs in ({}, *({name: value} for name, value in self._tries())):
            with_prompt = self.single(**kwargs)
            without = self.template.render([user(QUESTION)], prompt=False, **kwargs)
            if with_prompt is not None and without is not None and with_prompt.startswith(without):
                tails.append(with_prompt[len(without) :])
        tails = [t for t in tails if t]
        shared = common_start(tails) if tails else self._header_in_history
        # `<|open|>think` and `<|open|>response` begin alike: the mark belongs to the word behind it.
        last = next((m for m in MARK.finditer(shared) if m.end() == len(shared)), None)
        if last and tails and all(t[len(shared) :][:1].isalpha() for t in tails):
            shared = shared[: last.start()]
        # An opening mark that every prompt ends with belongs to the thought, not to the header.
        found = [m for m in MARK.finditer(shared) if THINKS.search(m[0]) and m.start() > 0]
        shared = shared[: found[0].start()] if found else shared
        # Two marks may begin alike: half a mark is none.
        begun = shared.rfind("<")
        return shared[:begun] if begun > shared.rfind(">") else shared

    @cached_property
    def _header_in_history(self) -> str:
        """For templates that write the generation prompt unasked, or none at all."""
        said = [user(QUESTION), {"role": "assistant", "content": ANSWER}, user(SECOND)]
        earlier = (self.template.render(said) or "").partition(QUESTION)[2]
        shared = common_start([self.plain.rpartition(QUESTION)[2], earlier.partition(ANSWER)[0]])
        ended = MARK.match(earlier.partition(ANSWER)[2])
        marks = [m[0] for m in MARK.finditer(earlier.partition(ANSWER)[2].partition(SECOND)[0])]
        first = MARK.match(shared)
        if ended and first and first[0] in marks and first[0] != shared:
            return shared[first.end() :]
        return shared

    def _tries(self) -> Iterator[tuple[str, Any]]:
        for name in self.template.names:
            if _SWITCH.search(name) and not HISTORY.search(name):
                said = [v for v in self.template.compared_with(name) if v is not None]
                if not any(isinstance(v, str) for v in said) and _LEVELS.search(name):
                    # Whatever is said goes into a system text: the usual levels do.
                    said += [] if self._is_flag(name) else ["low", "medium", "high"]
                usual = self.template.fallback(name)
                if said and isinstance(usual, str) and re.fullmatch(r"\w{1,12}", usual):
                    # A level that nothing is compared with, since it changes nothing.
                    said.append(usual)
                if "budget" in name:
                    yield from ((name, value) for value in (0, 512))
                elif _LEVELS.search(name) and "low" in said and not self._is_flag(name):
                    yield from ((name, value) for value in dict.fromkeys(said) if isinstance(value, str))
                else:
                    yield from ((name, value) for value in dict.fromkeys([True, False, *said]))

    def _is_flag(self, name: str) -> bool:
        """Whether any word means the same as True: then the argument is a flag, whatever its name says."""
        texts = [self.single(**{name: value}) for value in (True, "low", "high", False)]
        return texts[0] is not None and texts[0] == texts[1] == texts[2] != texts[3]

    @cached_property
    def switches(self) -> dict[str, dict[Any, str]]:
        """Arguments that change the prompt of a question, with what each value makes of it."""
        found: dict[str, dict[Any, str]] = {}
        for name, value in self._tries():
            text = self.single(**{name: value})
            if text is not None:
                # True and 1 are one key of a dict; a template tells them apart.
                found.setdefault(name, {}).setdefault(_key(value), text)
        return {n: texts for n, texts in found.items() if len({*texts.values(), self.plain}) > 1}

    @cached_property
    def switch(self) -> Switch | None:
        """The argument that turns thinking on and off; of two that do, the one that wins."""
        able = [s for name in self.switches if (s := self._as_switch(name)) is not None]
        for one in able:
            others = [o for o in able if o is not one]
            if all(self.single(**{**o.off, **one.on}) == self.single(**one.on) for o in others):
                return one
        return able[0] if able else None

    def _as_switch(self, name: str) -> Switch | None:
        texts = {_value(k): t for k, t in self.switches[name].items()}
        offs = [v for v in texts if self._is_off(name, v, texts)]
        ons = [v for v in texts if v not in offs and not (v is False and not self._negative(name))]
        # One compared with words alone takes False for any other value: only what changes something is off.
        offs = [v for v in offs if any(texts[v] != texts[o] for o in ons)] if ons else offs
        if not offs or (len(set(texts.values())) < 2 and texts[offs[0]] == self.plain):
            return None
        off = offs[0]
        by_default = self.plain != texts[off]
        if "effort" in name and all(isinstance(v, bool) for v in texts):
            return None
        words = [v for v in ons if isinstance(v, str)]
        if any(isinstance(v, str) for v in (off, *words)):
            best = self._highest(words)
            return Switch({} if by_default or best is None else {name: best}, {name: off})
        if self._negative(name):
            return Switch({name: False}, {name: True}) if True in texts else None
        if not isinstance(off, bool):
            return Switch({}, {name: off})
        return Switch({name: True}, {name: False}) if texts.get(True) != texts[False] else None

    def _is_off(self, name: str, value: Any, texts: Mapping[Any, str]) -> bool:
        if isinstance(value, str):
            return value.lower() in _NO
        if isinstance(value, bool):
            return value is self._negative(name)
        return value == 0 and "budget" in name and texts[value] != self.plain

    @staticmethod
    def _negative(name: str) -> bool:
        return bool(re.match(r"(no|non|disable|skip|without|hide)_", name, re.IGNORECASE))

    @staticmethod
    def _highest(words: list[str]) -> str | None:
        order = ("high", "xhigh", "max", "enabled", "on", "medium", "low", "minimal")
        known = [w for w in order if w in words]
        return known[0] if known else words[0] if words else None

    @cached_property
    def default(self) -> Any:
        if self.switch is None:
            return "on"
        on, off = self.single(**self.switch.on), self.single(**self.switch.off)
        return "on" if self.plain == on else "off" if self.plain == off else "neither"

    @cached_property
    def off_writes(self) -> str | None:
        if self.switch is None and self.off_by_word is None:
            return None
        off = (self.single(**self.switch.off) if self.switch else self.off_by_word) or ""
        return off.rpartition(self.header)[2] if self.header and self.header in off else ""

    def opens(self, on: Mapping[str, Any], opened: str | None) -> bool:
        text = self.single(**on) or ""
        return bool(opened and opened.strip() and text.rstrip().endswith(opened.strip()))

    @cached_property
    def effort(self) -> Mapping[str, Any] | None:
        """The argument whose levels change the prompt of a model that thinks."""
        on = dict(self.switch.on) if self.switch else {}
        plain = self.single(**on)
        for name in dict.fromkeys(n for n, _ in self._tries() if _LEVELS.search(n)):
            fallback = self.template.fallback(name)
            levels = []
            for value in dict.fromkeys(v for n, v in self._tries() if n == name):
                text = self.single(**{**on, name: value})
                by_itself = self.single(**{name: value})
                if text is not None and (text != plain or by_itself != self.plain or value == fallback):
                    levels.append(value)
            words = _ascending([v for v in levels if isinstance(v, str)])
            if words:
                return {"name": name, "values": words, "default": fallback if fallback in words else None}
            if levels:
                return {"name": name, "values": [True, False], "default": False}
        return None

    @cached_property
    def off_word(self) -> str | None:
        return next((word for word in _OFF_WORDS if word in self.template.source), None)

    @cached_property
    def off_by_word(self) -> str | None:
        """The prompt of a question whose message says the word, where that changes its end."""
        if self.off_word is None:
            return None
        asked = [{"role": "system", "content": self.off_word}, user(QUESTION)]
        for turns in (asked, [user(f"{QUESTION} {self.off_word}")], [user(f"{self.off_word}{QUESTION}")]):
            off = self.template.render(turns)
            on = self.template.render([{**m, "content": m["content"].replace(self.off_word, "")} for m in turns])
            if off is not None and on is not None and off[-60:] != on[-60:]:
                return off
        return None


def _key(value: Any) -> Any:
    return f"={value!r}" if isinstance(value, bool) else value


def _value(key: Any) -> Any:
    return {"=True": True, "=False": False}.get(key, key) if isinstance(key, str) else key


def _ascending(words: list[str]) -> list[str]:
    order = ["none", "no_think", "off", "minimal", "low", "medium", "high", "xhigh", "max"]
    return sorted(words, key=lambda w: order.index(w) if w in order else len(order))
