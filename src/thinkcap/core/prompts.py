"""Every text thinkcap itself says to a model, in one place, so that a run can name what it said by one hash.

The bundled model is trained on exactly these texts. Replace them for another model with a TOML file of the
same keys (`--prompts my.toml`); the hash in every row changes with them.

    >>> PROMPTS.asked("What is 2 + 3?", "number")
    'What is 2 + 3?\\nSolve it, then end with: #### number'
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest

HERE = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands in a message where a trace's token ids are spliced in."""

_FORMS: Mapping[str, str] = MappingProxyType(
    {
        "number": "#### number",
        "math": "\\boxed{answer}",
        "label": "The answer is (X).",
        "truth": "The answer is True or False.",
        "yesno": "The answer is Yes or No.",
        "text": "#### answer",
    }
)
_LATER: Mapping[str, str] = MappingProxyType({"text": "#### answer"})
"""Forms added after studies were stored, each with its first text. While a form has that text it is left out
of the hash: rows of questions that never use it stay valid."""


@dataclass(frozen=True)
class Prompts:
    """The stage prompts. `{form}` is the answer form of the question's kind, `{answer}` a previous answer."""

    version: str = "1"
    forms: Mapping[str, str] = field(default_factory=lambda: _FORMS)
    instruction: str = "Solve it, then end with: {form}"
    """Follows every question of a task, in both modes."""

    extract: str = (
        "Work on this so far, maybe cut off:\n" + HERE + "\nUse it and give the final answer. End with: {form}"
    )
    """Follows the question in the answer pass; the trace stands where HERE is."""

    extract_open: str = "Work on this so far, maybe cut off:\n" + HERE + "\nUse it and give the final answer now."
    """The same where nobody declared an answer form (a free conversation)."""

    extract_bare: str = "Give the final answer. End with: {form}"
    """The answer pass without a trace: the control that shows what the trace was worth."""

    extract_only: str = "You turn unfinished work into its final answer. Add only the steps that are missing."
    """System prompt of the strengthened answer pass (IRIS+)."""

    retry: str = "Work on this so far, maybe cut off:\n" + HERE + "\nReply with one line and nothing else: {form}"
    """Second try after an answer that could not be read."""

    hint: str = "A previous attempt gave: {answer}. Check it, correct it if wrong, or derive it again."
    """Follows the question from the second refinement round on; never carries the trace."""

    close: str = "\n</think>\n\n"
    """Forced after a thought that has used up its share, so that the answer follows in band."""

    project: str = "\n</think>\n\nThe final answer:"
    """Forced after a cut chain by the projection pipeline; a few tokens of answer follow."""

    no_think: str = "<think>\n\n</think>\n\n"
    """An empty thought, put before the answer of a model that has no switch of its own."""

    think_by_prompt: str = (
        "First think step by step between <think> and </think>, then give the answer after </think>."
    )
    no_think_by_prompt: str = "Answer directly and briefly, without thinking aloud first."

    def form(self, kind: str) -> str:
        return self.forms.get(kind, self.forms["math"])

    def asked(self, question: str, kind: str) -> str:
        return question + "\n" + self.instruction.replace("{form}", self.form(kind))

    def extraction(self, kind: str, template: str | None = None) -> str:
        if not kind:
            return self.extract_open
        # str.replace, not str.format: a form such as \boxed{answer} and a user's own text may hold braces.
        return (template or self.extract).replace("{form}", self.form(kind))

    def hinted(self, answer: str) -> str:
        return self.hint.replace("{answer}", answer)

    def saying(self, **texts: str) -> Prompts:
        """The same with some texts replaced."""
        changed: dict[str, Any] = dict(texts)
        return replace(self, **changed)

    @cached_property
    def hash(self) -> str:
        forms = {kind: text for kind, text in self.forms.items() if _LATER.get(kind) != text}
        plain = {**asdict(replace(self, forms={})), "forms": forms}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]

    @classmethod
    def from_mapping(cls, texts: Mapping[str, Any]) -> Prompts:
        """The default prompts with some texts replaced; refuses keys that do not exist."""
        known = [f.name for f in fields(cls)]
        for key, value in texts.items():
            if key not in known:
                raise ConfigError(f"unknown prompt '{key}'{nearest(key, known)}")
            if key == "forms":
                if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
                    raise ConfigError("prompt 'forms' must be a table of texts by kind")
            elif not isinstance(value, str):
                raise ConfigError(f"prompt '{key}' must be a text, not {type(value).__name__}")
        for key in ("extract", "extract_open", "retry"):
            if key in texts and HERE not in texts[key]:
                raise ConfigError(f"prompt '{key}' must hold the mark U+FFFC once, where the trace goes")
        changed = dict(texts)
        if "forms" in changed:
            changed["forms"] = MappingProxyType({**_FORMS, **changed["forms"]})
        return replace(cls(), **changed)


PROMPTS = Prompts()
