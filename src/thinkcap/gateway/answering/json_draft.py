"""A schema narrowed to what an answer in a model's own words says, so that JSON can be written from it.

A model that was never taught JSON cannot copy its own answer into it: the bundled one, after `#### 19`, writes
`{"apples": 12800}`. So it answers in its own words first, and each part of the schema that the answer speaks to
is held to what it says. Parts the answer says nothing about stay as they were, for the model to write.

    >>> narrowed({"type": "object", "properties": {"n": {"type": "integer"}}}, Draft("12+7=19\\n#### 19"))
    {'type': 'object', 'properties': {'n': {'const': 19}}, 'required': ['n']}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from thinkcap.core.errors import Unsupported
from thinkcap.core.types import Kind
from thinkcap.engines.grammar import Form, complete
from thinkcap.engines.json_limits import Work
from thinkcap.engines.json_refs import resolve_ref
from thinkcap.engines.json_scalars import written
from thinkcap.engines.json_schema import schema_form
from thinkcap.grading import extract

_WORKING = re.compile(r"reason|expla|think|thought|work|step|rationale|analy|why|how", re.IGNORECASE)
"""Names of properties that ask how the answer was come by, not what it is."""
_NUMBER = re.compile(r"(?<![\w.])-?\d++(?:\.\d++)?(?![\w.]*\d)")
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_MOST_WORK = 3000
"""Parts of the schema and pieces of values that are looked at; what is left over is the model's to write."""
_CHARACTERS_PER_PART = 8
_MOST_NUMBERS = 32
"""Numbers of the draft that are tried for a part, the last ones."""


@dataclass(frozen=True)
class Draft:
    """An answer in a model's own words."""

    text: str
    question: str = ""
    """What was asked: the options of a multiple choice stand there."""
    kind: Kind | None = None
    lines_kept: int | None = None
    """How many lines of working may be told; None for all."""

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """What it states as its answer, in every reading: as a number, a formula, a label, an option's text."""
        kinds: tuple[Kind, ...] = (self.kind,) if self.kind else ("number", "label", "math")
        read = [extract(self.text, kind) for kind in kinds]
        found = [one.answer.strip() for one in read if one.answer and 1 <= one.level <= 3]
        for label in [answer.strip("()") for answer in found]:
            if len(label) == 1 and label.isalpha():
                option = re.search(rf"^\s*\({label}\)\s*(\S.*?)\s*$", self.question, re.MULTILINE)
                found += [f"({label})", *([option[1]] if option else [])]
        if not found and self.lines:
            found = [self.lines[-1]]
        return tuple(dict.fromkeys(found))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for raw in self.text.splitlines() if (line := raw.strip()))

    @cached_property
    def numbers(self) -> tuple[int | float, ...]:
        """The numbers it names, the last ones, each where it stands last."""
        found = dict.fromkeys(n for n in reversed(_NUMBER.findall(self.text)) if not _zeros(n))
        return tuple(json.loads(n) for n in [*found][:_MOST_NUMBERS])

    @property
    def working(self) -> tuple[str, ...]:
        """The lines before the one that states the answer, or that one where it stands alone."""
        before = self.lines[:-1] or self.lines
        return before if self.lines_kept is None else before[len(before) - min(len(before), self.lines_kept) :]


def narrowed(schema: Any, draft: Draft) -> Any:
    """The schema, each part that the draft speaks to held to what it says; what fits it fits the schema too."""
    return _Narrowing(schema, draft).of(schema, "", ())


@dataclass
class _Narrowing:
    root: Any
    draft: Draft
    work: Work = field(default_factory=lambda: Work(_MOST_WORK))
    forms: dict[int, Form | None] = field(default_factory=dict)

    def of(self, schema: Any, name: str, refs: tuple[str, ...]) -> Any:
        self.work.left -= 1
        if not isinstance(schema, Mapping) or "const" in schema or self.work.left < 0:
            return schema
        ref = schema.get("$ref")
        if isinstance(ref, str):
            # What holds itself has its answer outside; another inside would only repeat it.
            return schema if ref in refs else self.of(resolve_ref(self.root, ref, "$"), name, (*refs, ref))
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            tries = [self.of(option, name, refs) for option in options]
            return next((found for found in tries if settled(found) and found != {"const": None}), schema)
        if schema.get("type") == "object" and schema.get("properties"):
            return self._object(schema, refs)
        if schema.get("type") == "array":
            return self._array(schema, name, refs)
        value = next((v for v in self._values(schema, name) if self._fits(v, schema)), None)
        return schema if value is None else {"const": value}

    def _object(self, schema: Mapping[str, Any], refs: tuple[str, ...]) -> dict[str, Any]:
        """Properties that need not be there are left out, unless the draft fills them."""
        needed = schema.get("required") or ()
        inner = {name: self.of(part, name, refs) for name, part in schema["properties"].items()}
        kept = {name: part for name, part in inner.items() if name in needed or settled(part)}
        return {**schema, "properties": kept, "required": list(kept)} if kept else dict(schema)

    def _array(self, schema: Mapping[str, Any], name: str, refs: tuple[str, ...]) -> Any:
        items = schema.get("items")
        item = self.of(items, name, refs)
        lists: list[list[Any]] = []
        if isinstance(items, Mapping) and items.get("type") == "string" and "enum" not in items:
            lines = [*(self.draft.working if _WORKING.search(name) else self.draft.answers[:1])]
            lists.append(lines[: int(schema.get("maxItems", len(lines)))])
        if settled(item):
            lists.append([value_of(item)])
        numbers = [json.loads(n) for n in dict.fromkeys(_NUMBER.findall(self.draft.text)) if not _zeros(n)]
        lists.append(numbers[-int(schema.get("minItems", 0)) :])
        if self.draft.lines_kept == 0:
            lists.insert(0, [])
        found = next(
            (one for one in lists if (one or self.draft.lines_kept == 0) and self._fits(one, schema)), None
        )
        return schema if found is None else {"const": found}

    def _values(self, schema: Mapping[str, Any], name: str) -> Iterator[Any]:
        answers = self.draft.answers
        if "enum" in schema:
            yield from self._chosen(schema["enum"])
            return
        kinds = schema.get("type") or ("number", "boolean", "string")
        numeric = "integer" in kinds or "number" in kinds
        if "string" in kinds and _WORKING.search(name):
            # Empty where there is no room for any.
            yield "; ".join(self.draft.working)
        for answer in answers:
            plain = answer.replace(",", "").removeprefix("$").removesuffix("%")
            if numeric and re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", plain):
                yield json.loads(plain)
            if "boolean" in kinds and answer.casefold() in _TRUTH:
                yield _TRUTH[answer.casefold()]
        if "string" in kinds:
            yield from answers
        if numeric:
            yield from self.draft.numbers

    def _chosen(self, values: Sequence[Any]) -> Iterator[Any]:
        """The value that is the answer, else the one the draft names last."""
        for answer in self.draft.answers:
            yield from (v for v in values if _said(v) == answer.casefold().rstrip("."))
        if self.draft.answers and self.draft.answers[0].casefold() in _TRUTH:
            yield from (v for v in values if v is _TRUTH[self.draft.answers[0].casefold()])
        text = self.draft.text.casefold()
        places = {i: _last(text, _said(v)) for i, v in enumerate(values) if isinstance(v, str)}
        named = [i for i, place in places.items() if place >= 0]
        if named:
            yield values[max(named, key=lambda i: (places[i], len(values[i])))]

    def _fits(self, value: Any, schema: Mapping[str, Any]) -> bool:
        text = written(value)
        self.work.left -= 1 + len(text) // _CHARACTERS_PER_PART
        if self.work.left < 0:
            return False
        if id(schema) not in self.forms:
            try:
                self.forms[id(schema)] = schema_form(schema, root=self.root, work=self.work)
            except Unsupported:
                self.forms[id(schema)] = None
        form = self.forms[id(schema)]
        return form is not None and complete(form, text)


def settled(schema: Any) -> bool:
    """Whether one value is all it allows."""
    if not isinstance(schema, Mapping):
        return False
    if "const" in schema:
        return True
    parts = schema.get("properties") or {}
    return bool(parts) and set(parts) == set(schema.get("required") or ()) and all(map(settled, parts.values()))


def value_of(schema: Mapping[str, Any]) -> Any:
    """The one value a settled schema allows."""
    if "const" in schema:
        return schema["const"]
    return {name: value_of(part) for name, part in schema["properties"].items()}


def _said(value: Any) -> str:
    return value.casefold() if isinstance(value, str) else written(value)


def _last(text: str, word: str) -> int:
    # Most words of a long list are not in the text, and finding that out must cost little.
    found = list(re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text)) if word and word in text else []
    return found[-1].start() if found else -1


def _zeros(number: str) -> bool:
    """Digits that JSON does not write as a number (dates are full of them)."""
    return re.fullmatch(r"-?0\d+.*", number) is not None
