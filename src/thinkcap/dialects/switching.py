"""What turns thinking on and off in a template: the arguments and words that change the prompt of a question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

from thinkcap.dialects.conversations import ANSWER, QUESTION, SECOND
from thinkcap.dialects.marks import MARK, THINKS, closes, closing_of, common_start, opens, thinking_at
from thinkcap.dialects.reading import GIVEN
from thinkcap.dialects.rendering import Template, user
from thinkcap.dialects.wording import SwitchWord, Wording

HISTORY = re.compile(r"history|past|preserve|keep|drop|clear|truncate|strip|content|instruction", re.IGNORECASE)
"""Arguments about earlier turns are no switches."""
_SWITCH = re.compile(r"think|reason|effort|deliberat|budget|cot\b", re.IGNORECASE)
_LEVELS = re.compile(r"effort|strength|level", re.IGNORECASE)
_NO = frozenset(
    ["none", "off", "no_think", "nothink", "no_thinking", "disabled", "disable", "no", "false", "never"]
)
_OPPOSITES = {"on": "off", "enabled": "disabled", "enable": "disable", "yes": "no", "true": "false"}
"""A template may look for the one word alone and take all others for the other."""
_EITHER = frozenset(["auto", "adaptive", "dynamic", "default", "hybrid"])
"""Words that leave it to the model."""
_USUAL = ("low", "medium", "high")
_ORDER = ("none", "no_think", "off", "minimal", *_USUAL, "xhigh", "max")
"""Levels as most templates call them, the lowest first."""
BUDGET = re.compile(r"budget|tokens", re.IGNORECASE)
"""Arguments that bound a thought."""
_SOME = 512
_END = 60
"""Characters in which a prompt's last mark stands."""


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
        for kwargs in ({}, *({name: value} for name, value in self._tries)):
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
        thought = thinking_at(shared)
        if thought == 0:
            # The header is written unasked, and only the thought's mark comes with the prompt.
            return self._header_in_history
        shared = shared[:thought]
        # Whatever it is called: a mark that off closes at once is the thought's.
        ends = next((m for m in MARK.finditer(shared) if not shared[m.end() :].strip()), None)
        if ends and any(t[ends.end() :].lstrip().startswith(closing_of(ends[0]) or "\0") for t in tails):
            shared = shared[: ends.start()]
        # Two marks may begin alike: half a mark is none.
        begun = shared.rfind("<")
        return self._as_earlier(shared[:begun] if begun > shared.rfind(">") else shared)

    @cached_property
    def _earlier(self) -> tuple[str, str]:
        """What an earlier turn has before its answer, and what it has behind it."""
        said = [user(QUESTION), {"role": "assistant", "content": ANSWER}, user(SECOND)]
        before, _, behind = (self.template.render(said) or "").partition(QUESTION)[2].partition(ANSWER)
        return before, behind

    def _as_earlier(self, header: str) -> str:
        """White space behind a header that an answer without a thought does not have belongs to the thought."""
        before, bare = self._earlier[0], header.rstrip()
        if bare and header not in before:
            # Words that an answer without a thought does not have: "### Thoughts".
            size = next((n for n in range(len(header) - 1, 0, -1) if before.endswith(header[:n])), 0)
            if header[:size].strip() and THINKS.search(header[size:]):
                return header[:size]
        if not bare or header in before or bare not in before:
            return header
        return bare + common_start([header[len(bare) :], before.rpartition(bare)[2]])

    @cached_property
    def _header_in_history(self) -> str:
        """For templates that write the generation prompt unasked, or none at all."""
        before, behind = self._earlier
        shared = common_start([self.plain.rpartition(QUESTION)[2], before])
        marks = [m[0] for m in MARK.finditer(behind.partition(SECOND)[0])]
        first = MARK.match(shared)
        if MARK.match(behind) and first and first[0] in marks and first[0] != shared:
            # The end of a turn is followed by what it is always followed by.
            lines = common_start([shared[first.end() :], behind.partition(first[0])[2]])
            return shared[first.end() + len(lines) - len(lines.lstrip()) :]
        return shared

    @cached_property
    def _tries(self) -> tuple[tuple[str, Any], ...]:
        """Arguments and values that may change the prompt."""
        return tuple(self._values())

    def _values(self) -> Iterator[tuple[str, Any]]:
        for name in self.template.reading.names:
            if self._may_switch(name):
                if (held := self.template.reading.holds(name)) and not _SWITCH.search(name):
                    # Lists of wishes, of which thinking is one.
                    yield from ((name, value) for value in ((), *((word,) for word in held)))
                    continue
                said = [v for v in self.template.reading.compared_with(name) if v is not None]
                said += [_OPPOSITES[v.lower()] for v in said if isinstance(v, str) and v.lower() in _OPPOSITES]
                if numbers := self._numbers(name, said):
                    yield from ((name, value) for value in numbers)
                    continue
                listed = _has_low(said) or bool(set(said) - set(_ORDER))
                if _LEVELS.search(name) and not listed and not self._is_flag(name):
                    # Where whatever is said goes into a text, or a level is told from all others, the usual do.
                    said += _USUAL
                usual = self.template.reading.fallback(name)
                if said and isinstance(usual, str) and re.fullmatch(r"\w{1,12}", usual):
                    # A level that nothing is compared with, since it changes nothing.
                    said.append(usual)
                if BUDGET.search(name):
                    yield from ((name, value) for value in (0, _SOME))
                elif _LEVELS.search(name) and _has_low(said) and not self._is_flag(name):
                    yield from ((name, value) for value in dict.fromkeys(said) if isinstance(value, str))
                else:
                    yield from ((name, value) for value in dict.fromkeys([True, False, *said]))

    def _numbers(self, name: str, said: list[Any]) -> list[int]:
        """Levels that are numbers, the one that is taken unasked among them."""
        usual = self.template.reading.fallback(name)
        found = {v for v in (*said, usual) if isinstance(v, int) and not isinstance(v, bool)}
        words = any(isinstance(v, str | bool) for v in said)
        return sorted(found) if found and not words and _LEVELS.search(name) and not BUDGET.search(name) else []

    def _may_switch(self, name: str) -> bool:
        """By its name; else where it adds a mark of thinking, or an empty pair of any, to the prompt's end."""
        usual = self.template.reading.fallback(name)
        if HISTORY.search(name) or name in GIVEN or (isinstance(usual, str) and MARK.search(usual)):
            return False
        if _SWITCH.search(name):
            return True
        words = [v for v in self.template.reading.compared_with(name) if isinstance(v, str)]
        tried = (True, False, *words, *((word,) for word in self.template.reading.holds(name)))
        ends = [(self.single(**{name: value}) or "").rpartition(QUESTION)[2] for value in tried]
        shown = {(closes(end), *(m for m in MARK.findall(end) if THINKS.search(m))) for end in ends}
        return len(shown) > 1

    def _is_flag(self, name: str) -> bool:
        """Whether any word means the same as True: then the argument is a flag, whatever its name says."""
        texts = [self.single(**{name: value}) for value in (True, "low", "high", False)]
        return texts[0] is not None and texts[0] == texts[1] == texts[2] != texts[3]

    @cached_property
    def switches(self) -> dict[str, dict[Any, str]]:
        """Arguments that change the prompt of a question, with what each value makes of it."""
        found: dict[str, dict[Any, str]] = {}
        for name, value in self._tries:
            text = self.single(**{name: value})
            if text is not None:
                # True and 1 are one key of a dict; a template tells them apart.
                found.setdefault(name, {}).setdefault(_key(value), text)
        return {n: texts for n, texts in found.items() if len({*texts.values(), self.plain}) > 1}

    @cached_property
    def switch(self) -> Switch | None:
        """The argument that turns thinking on and off; of two that do, the one that wins."""
        able = [s for name in self.switches if (s := self._as_switch(name)) is not None]
        for one, other in permutations(able, 2):
            if self._is_half(one) and self._changes(other.off) and not self._changes(other.on):
                # One argument forces the thought, another leaves it out; without both the model decides.
                return Switch(one.on, other.off)
        for one in able:
            others = [o for o in able if o is not one]
            if all(self.single(**{**o.off, **one.on}) == self.single(**one.on) for o in others):
                return one
        return able[0] if able else None

    def _changes(self, switches: Mapping[str, Any]) -> bool:
        return self.single(**switches) != self.plain

    def _is_half(self, one: Switch) -> bool:
        """Turns a thought on, and its off is no more than what the prompt does anyway: nothing."""
        return self._changes(one.on) and not self._changes(one.off) and self.plain.endswith(self.header)

    def _as_switch(self, name: str) -> Switch | None:
        texts = {_value(k): t for k, t in self.switches[name].items()}
        if () in texts:
            wish = next((v for v in texts if texts[v] != texts[()]), ())
            chosen, none = {name: list(wish)}, {name: list[str]()}
            return (Switch(none, chosen) if self._closes(texts[wish]) else Switch(chosen, none)) if wish else None
        offs = [v for v in texts if self._is_off(name, v, texts)]
        if not any(isinstance(v, str) for v in offs) and not _LEVELS.search(name):
            offs = self._without_thought(texts) or offs
        if any(isinstance(v, str) for v in offs):
            # An argument that knows a word for it takes False for some other word.
            offs = sorted((v for v in offs if isinstance(v, str)), key=lambda word: word.lower() not in _NO)
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
        if off is False and True in texts and texts[True] != texts[off] and not _LEVELS.search(name):
            # A word beside True and False leaves it to the model.
            words = []
        if any(isinstance(v, str) for v in (off, *words)):
            best = self._highest(words)
            unsaid = best is None or (by_default and _LEVELS.search(name))
            return Switch({} if unsaid else {name: best}, {name: off})
        if self._negative(name):
            return Switch({name: False}, {name: True}) if True in texts else None
        if not isinstance(off, bool):
            return Switch({}, {name: off})
        return Switch({name: True}, {name: False}) if texts.get(True) != texts[False] else None

    def _is_off(self, name: str, value: Any, texts: Mapping[Any, str]) -> bool:
        if isinstance(value, str):
            return value.lower() in _NO or self._closes(texts[value])
        if isinstance(value, bool):
            return value is self._negative(name)
        # A text that says "0 tokens" where it said "512 tokens" bounds the thought and turns nothing off.
        told = texts.get(_SOME, "").replace(str(_SOME), "0")
        if BUDGET.search(name):
            return value == 0 and texts[value] not in (self.plain, told)
        return self._closes(texts[value])

    def _without_thought(self, texts: Mapping[Any, str]) -> list[str]:
        """Words whose prompts begin no thought, where the prompt of another word does."""
        words = [v for v in texts if isinstance(v, str) and v.lower() not in _EITHER]
        begun = [v for v in words if opens(self._end(texts[v]))]
        return [v for v in words if v not in begun] if begun else []

    def _negative(self, name: str) -> bool:
        """True turns thinking off: its name says so, or the thought that its prompt closes."""
        texts = self.switches[name]
        if self._closes(texts.get(_key(True), "")) and not self._closes(texts.get(_key(False), "")):
            return True
        return bool(
            re.match(r"(no|non|disable|skip|without|hide)_|\w+_(off|disabled|skipped)$", name, re.IGNORECASE)
        )

    def _closes(self, text: str) -> bool:
        """Whether a prompt ends with a thought that is over."""
        return closes(self._end(text))

    @staticmethod
    def _highest(words: list[str]) -> str | None:
        order = ("high", "xhigh", "max", "enabled", "on", "medium", "low", "minimal")
        known = [w for wanted in order for w in words if w.lower() == wanted]
        return known[0] if known else words[0] if words else None

    def _end(self, text: str) -> str:
        """What a prompt writes behind the header, which may come again before the answer."""
        behind = text.rpartition(QUESTION)[2]
        if self.header and self.header in behind:
            return behind.partition(self.header)[2]
        return text.rpartition(self.header)[2] if self.header and self.header in text else text[-_END:]

    def _tail(self, **switches: Any) -> str:
        """What the generation prompt adds to a conversation; empty where that cannot be told."""
        whole = self.single(**switches) or ""
        without = self.template.render([user(QUESTION)], prompt=False, **switches)
        return whole[len(without) :] if without and whole.startswith(without) else ""

    @cached_property
    def on_tail(self) -> str:
        return self._tail(**(self.switch.on if self.switch else {}))

    @cached_property
    def default(self) -> Any:
        if self.switch is None:
            return "off" if self.on_said else "on"
        on, off = self.single(**self.switch.on), self.single(**self.switch.off)
        return "on" if self.plain == on else "off" if self.plain == off else "neither"

    @cached_property
    def off_writes(self) -> str | None:
        if (off := self.off_text) is None:
            return None
        if self.header:
            return self._end(off) if self.header in off else ""
        return self._tail(**self.switch.off) if self.switch else ""

    def opens(self, opened: str | None) -> bool:
        return bool(opened and opened.strip() and self.on_text.rstrip().endswith(opened.strip()))

    @cached_property
    def effort(self) -> Mapping[str, Any] | None:
        """The argument whose levels change the prompt of a model that thinks."""
        on = dict(self.switch.on) if self.switch else {}
        plain = self.single(**on)
        for name in dict.fromkeys(n for n, _ in self._tries if _LEVELS.search(n)):
            fallback = self.template.reading.fallback(name)
            levels = []
            for value in dict.fromkeys(v for n, v in self._tries if n == name):
                text = self.single(**{**on, name: value})
                by_itself = self.single(**{name: value})
                if text is not None and (text != plain or by_itself != self.plain or value == fallback):
                    levels.append(value)
            words = _ascending([v for v in levels if isinstance(v, str)])
            numbers = [v for v in levels if isinstance(v, int) and not isinstance(v, bool)]
            values: list[Any] = words or sorted(numbers)
            if values:
                return {"name": name, "values": values, "default": fallback if fallback in values else None}
            if levels:
                return {"name": name, "values": [True, False], "default": False}
        return None

    @cached_property
    def words(self) -> Wording:
        return Wording(self.template, self._end)

    @cached_property
    def off_said(self) -> SwitchWord | None:
        """The word in a message that turns thinking off; an unusual one counts where no argument does it."""
        return self.words.off if self.words.off_word or self.switch is None else None

    @cached_property
    def on_said(self) -> SwitchWord | None:
        """The word in a message without which the model does not think."""
        return self.words.on if self.switch is None and self.off_said is None else None

    @cached_property
    def on_text(self) -> str:
        """The prompt of a question with thinking on."""
        if self.on_said:
            return self.on_said.prompt
        return self.single(**(self.switch.on if self.switch else {})) or ""

    @cached_property
    def off_text(self) -> str | None:
        """The prompt of a question with thinking off, where it can be turned off."""
        if self.switch is not None:
            return self.single(**self.switch.off) or ""
        return self.off_said.prompt if self.off_said else self.plain if self.on_said else None


def _key(value: Any) -> Any:
    return f"={value!r}" if isinstance(value, bool) else value


def _value(key: Any) -> Any:
    return {"=True": True, "=False": False}.get(key, key) if isinstance(key, str) else key


def _has_low(values: list[Any]) -> bool:
    return any(isinstance(v, str) and v.lower() == "low" for v in values)


def _ascending(words: list[str]) -> list[str]:
    return sorted(words, key=lambda w: _ORDER.index(w.lower()) if w.lower() in _ORDER else len(_ORDER))
