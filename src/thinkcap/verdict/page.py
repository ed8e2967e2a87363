"""A diagnosis as a short page of text or as JSON; neither adds a number of its own."""

from __future__ import annotations

import json
import textwrap

from thinkcap.diagnose.diagnosis import Diagnosis


def as_json(found: Diagnosis) -> str:
    return json.dumps(found.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)


def as_text(found: Diagnosis, width: int = 100) -> str:
    arms = sum(len(f.arms) for f in found.findings)
    lines = [f"{found.rows} rows, {arms} arm{'s' if arms != 1 else ''}."]
    lines += [""] if not found.verdict or not found.verdict[0].topic else []
    topic = ""
    for sentence in found.verdict:
        if sentence.topic != topic:
            topic = sentence.topic
            lines += ["", topic] if topic else [""]
        lines += textwrap.wrap(sentence.text, width, initial_indent="- " if topic else "", subsequent_indent="  ")
    if not found.verdict:
        lines += [_accuracies(found)]
    if found.notes:
        lines += ["", "Notes"]
        for note in found.notes:
            lines += textwrap.wrap(note, width, initial_indent="- ", subsequent_indent="  ")
    return "\n".join(lines)


def _accuracies(found: Diagnosis) -> str:
    return "\n".join(
        f"{a.name}: {100 * (a.accuracy.value or 0):.1f} % of {a.n} right "
        f"({100 * (a.accuracy.low or 0):.1f}-{100 * (a.accuracy.high or 0):.1f})"
        for f in found.findings
        for a in f.arms
    )
