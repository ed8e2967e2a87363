"""What a template does not say of its dialect, from the known one that it is most like."""

from __future__ import annotations

from dataclasses import replace

from thinkcap.dialects.dialect import QWEN, Dialect
from thinkcap.dialects.known import KNOWN


def completed(found: Dialect) -> Dialect:
    """A dialect read from a template, with what the known one of the same marks adds."""
    if found.thinks and not found.close_tag:
        # A switch in a system text whose marks only the model knows: nearly all write these.
        marks = ("open_tag", "close_tag", "open", "close")
        found = replace(found, **{name: getattr(QWEN, name) for name in marks})
    family = [d for d in KNOWN.values() if d.open_tag and _same_marks(d, found)]
    if not family:
        return found
    alike = max(family, key=lambda known: _likeness(known, found))
    calls = _calls_alike(alike, found)
    same = all(getattr(alike, n) == getattr(found, n) for n in ("thinking", "default", "close", "off"))
    made = replace(
        found,
        # Without a switch there is little to know a model by, but its tool calls.
        name=alike.name if same and (calls or found.thinking != "always") else "",
        sampling=found.sampling or (alike.sampling if calls else None),
        markers_special=alike.markers_special,
        end_of_turn=found.end_of_turn or alike.end_of_turn,
        answer_open_alone=found.answer_open_alone or alike.answer_open_alone,
        closes_implicitly=found.closes_implicitly or (alike.closes_implicitly if found.interleaved else ()),
    )
    if alike.name == "muse-glimmer":
        # Its levels are its server's: the template takes any word for one.
        made = replace(
            made,
            name=alike.name,
            thinking="switch",
            off=alike.off,
            off_writes=alike.off_writes,
            effort=alike.effort,
        )
    return made


def _likeness(known: Dialect, found: Dialect) -> int:
    told = ("thinking", "off", "close", "off_writes", "default", "tool_open", "answer_open", "effort")
    return sum(getattr(known, name) == getattr(found, name) for name in told)


def _calls_alike(known: Dialect, found: Dialect) -> bool:
    """Makers advise on their own models; one that only borrowed the marks mostly has other tool calls, or none."""
    return not known.tool_open or known.tool_open.strip() == (found.tool_open or "").strip()


def _same_marks(known: Dialect, found: Dialect) -> bool:
    marks = ("open_tag", "close_tag", "header", "prompt_opens_when_on", "open")
    return all(getattr(known, m) == getattr(found, m) for m in marks)
