"""A diagnosis as a short page of text or as JSON; neither adds a number of its own."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

from thinkcap.diagnose.diagnosis import Diagnosis
from thinkcap.diagnose.document import document, plain
from thinkcap.verdict.say import Spoken, say
from thinkcap.verdict.words import percent, times


def as_json(found: Diagnosis, more: Mapping[str, Any] | None = None) -> str:
    """The document of docs/diagnosis.md; `more` adds keys of whoever asks."""
    said = say(found)
    words = {
        "headline": said.headline,
        "advice": [a.to_dict() for a in said.advice],
        "not_advised": plain(said.not_advised),
        "verdict": plain(said.sentences),
        "notes": list(said.notes),
    }
    return json.dumps(
        document(found) | plain(words) | plain(more or {}), indent=1, allow_nan=False, ensure_ascii=False
    )


def as_text(found: Diagnosis, *, details: bool = False, width: int = 100) -> str:
    said = say(found)
    arms = sum(len(f.arms) for f in found.findings)
    lines = [f"{times(found.rows, 'row')}, {times(arms, 'arm')}."]
    shown = [s for s in said.sentences if details or not s.detail]
    topic = None
    for sentence in shown:
        if sentence.topic != topic:
            topic = sentence.topic
            lines += ["", topic] if topic else [""]
        lines += textwrap.wrap(sentence.text, width, initial_indent="- " if topic else "", subsequent_indent="  ")
    if not shown:
        lines += ["", *_accuracies(found)]
    hidden = len(said.sentences) - len(shown)
    if hidden:
        lines += ["", f"{times(hidden, 'more sentence')} with --details; every number with --json."]
    if said.notes:
        lines += ["", "Notes", *_notes(said, width)]
    return "\n".join(lines)


def _notes(said: Spoken, width: int) -> list[str]:
    return [
        line for n in said.notes for line in textwrap.wrap(n, width, initial_indent="- ", subsequent_indent="  ")
    ]


def _accuracies(found: Diagnosis) -> list[str]:
    return [
        f"{a.name}: {percent(a.accuracy.value)} of {times(a.n, 'answer')} right "
        f"({percent(a.accuracy.low)} to {percent(a.accuracy.high)})"
        for f in found.findings
        for a in f.arms
    ]
