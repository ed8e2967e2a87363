"""A dialect seen through two prompts of one question: for servers that render their template and hide it.

>>> found = of_prompts("<|me|><[reason]>", "<|me|><[reason]><[/reason]>")
>>> found.open_tag, found.close_tag, found.off_writes
('<[reason]>', '<[/reason]>', '<[reason]><[/reason]>')
"""

from __future__ import annotations

from dataclasses import replace

from thinkcap.dialects.dialect import QWEN, Dialect
from thinkcap.dialects.marks import closes, closing_of, laid_out, last_mark, opening_of, opens

COMMON = replace(
    QWEN,
    on={"enable_thinking": True, "thinking": True},
    off={"enable_thinking": False, "thinking": False},
    name="",
    found_by="the commonest marks",
)
"""For servers that show nothing: the names most templates have for the switch, and what most models write."""


def of_prompts(on: str, off: str) -> Dialect | None:
    """What two prompts, rendered with the switches of `COMMON`, show by their ends; None where that is nothing."""
    begun = last_mark(on) if opens(on) else ""
    over = last_mark(off) if closes(off) else ""
    if on == off:
        always = replace(COMMON, thinking="always", on={}, off=None, off_writes=None, prompt_opens_when_on=True)
        return _marked(always, begun, closing_of(begun) or "", on) if begun else None
    switched = replace(COMMON, prompt_opens_when_on=bool(begun), off_writes="")
    if not begun and not over:
        return switched
    opening, closing = begun or opening_of(over) or "", over or closing_of(begun) or ""
    if over:
        head, opened, inside = off.rpartition(opening)
        switched = replace(switched, off_writes=opened + inside if head and opened else over)
    return _marked(switched, opening, closing, on if begun else off)


def _marked(found: Dialect, opening: str, closing: str, shown: str) -> Dialect:
    """With these marks, laid out as the prompt lays out the first; the commonest ones are laid out as most do."""
    found = replace(found, found_by="rendering")
    if (opening, closing) == (COMMON.open_tag, COMMON.close_tag):
        return found
    opened = opening + ("\n" if shown.rpartition(opening)[2].startswith("\n") else "")
    return replace(
        found,
        open_tag=opening,
        close_tag=closing,
        open=opened,
        close=laid_out(closing, opened),
        # Nothing shows how it calls tools.
        tool_open=None,
        closes_implicitly=(),
    )
