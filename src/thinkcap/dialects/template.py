"""A chat template read by what it renders: which argument changes the prompt, and what it writes around a thought.

>>> of_template(source).off                                           # doctest: +SKIP
{'enable_thinking': False}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thinkcap.dialects.arguments import nested
from thinkcap.dialects.completing import completed
from thinkcap.dialects.conversations import ANSWER, QUESTION, SECOND, THOUGHT, said, shows
from thinkcap.dialects.dialect import MARKED, Dialect
from thinkcap.dialects.marks import MARK
from thinkcap.dialects.rendering import Template, user
from thinkcap.dialects.switching import BUDGET, HISTORY, Switching
from thinkcap.dialects.turns import NAMELESS_END, Turns


def of_template(source: str, *, bos_token: str = "", eos_token: str = "") -> Dialect:
    """The dialect a template speaks, as far as it tells; what it cannot tell comes from what is known."""
    return completed(_read(Template(source, bos_token, eos_token or NAMELESS_END)))


def _read(template: Template) -> Dialect:
    prompt = Switching(template)
    turns = Turns(prompt)
    switch, marks = prompt.switch, turns.marks
    if switch is None and (marks is None or not turns.is_thinking):
        return Dialect(on={}, header=prompt.header or None, off_writes="", found_by="template", name="none")
    on = nested(switch.on) if switch else {}
    word = prompt.off_said or prompt.on_said
    opened, closed = marks or (None, None)
    # A template that leaves tool calls out writes only the end of the turn where one would stand.
    leaves_out = turns.tool_open is not None and turns.tool_open.strip() == (turns.end_of_turn or "").strip()
    made = Dialect(
        thinking="switch" if switch or word else "prompted" if turns.asks else "always",
        default=prompt.default,
        on=on,
        off=nested(switch.off) if switch else None,
        on_by_message=prompt.on_said.word if prompt.on_said else None,
        off_by_message=prompt.words.off_word or (prompt.off_said.word if prompt.off_said else None),
        off_word_in=word.place if word else "user",
        open_tag=opened.strip() if opened else None,
        close_tag=closed.strip() if closed else None,
        open=opened,
        close=closed,
        prompt_opens_when_on=prompt.opens(opened),
        off_writes=prompt.off_writes,
        answer_open=turns.answer[0],
        answer_close=turns.answer[1],
        end_of_turn=turns.end_of_turn,
        effort=prompt.effort,
        native_budget=next((name for name in prompt.switches if BUDGET.search(name)), None),
        interleaved=turns.tool_turn is not None and not leaves_out,
        found_by="template",
        header=prompt.header or None,
        tool_open=None if leaves_out else turns.tool_open,
        thought_fields=turns.fields,
        turn_close=turns.turn_close,
    )
    made = replace(
        made, history_keeps=_history(template, made), by_effort=_by_effort(template, prompt, turns, made)
    )
    return replace(made, keep_history_by=_kept_by(template, made), closes_implicitly=_implicit(made))


def _by_effort(template: Template, prompt: Switching, turns: Turns, made: Dialect) -> Mapping[str, Any]:
    """Levels at which thoughts are marked otherwise; read anew only where a level changes a mark at all."""
    found: dict[str, Any] = {}
    usual = _marked(prompt, turns)
    for level in made.levels if len(made.levels) > 1 else ():
        there = Switching(template.saying({made.effort["name"]: level} if made.effort else {}))
        its_turns = Turns(there)
        if _marked(there, its_turns) == usual or its_turns.marks is None:
            continue
        opened, closed = its_turns.marks
        own = replace(
            made,
            open_tag=opened.strip(),
            close_tag=closed.strip(),
            open=opened,
            close=closed,
            prompt_opens_when_on=there.opens(opened),
            answer_open=its_turns.answer[0],
            answer_close=its_turns.answer[1],
        )
        if changed := {name: value for name in MARKED if (value := getattr(own, name)) != getattr(made, name)}:
            found[str(level)] = changed
    return found


def _marked(prompt: Switching, turns: Turns) -> tuple[list[str], ...]:
    """The marks of a prompt and of a turn, which few levels change."""
    return tuple(MARK.findall(text or "") for text in (prompt.on_text, turns.turn, turns.tool_turn))


def _implicit(made: Dialect) -> tuple[str, ...]:
    """Models that forget the close forget it before a call; those whose prompt opens, before the answer too.

    A model that opens its thought by a control token of its own closes it too.
    """
    if not made.interleaved or (made.marks.control and not made.prompt_opens_when_on):
        return ()
    in_header = made.header and made.tool_open and made.header in made.tool_open
    marks = (made.answer_open if made.prompt_opens_when_on else None, None if in_header else made.tool_open)
    return tuple(mark.strip() for mark in marks if mark)


def _history(template: Template, made: Dialect) -> Mapping[str, Any]:
    """Whether a thought of an earlier turn is still in the prompt, by the way it was given."""
    whole = "".join(
        part or "" for part in (made.open, THOUGHT, made.close, made.answer_open, ANSWER, made.answer_close)
    )
    field = (made.thought_fields or ("reasoning_content",))[0]
    ways: dict[str, dict[str, Any]] = {
        "inline": {"role": "assistant", "content": whole},
        "field": {"role": "assistant", "content": ANSWER, field: THOUGHT},
    }
    for turn in said(template, THOUGHT, ANSWER):
        if not isinstance(turn["content"], str):
            text = template.render([user(QUESTION), turn], prompt=False, **(made.on or {}))
            if shows(text, THOUGHT, ANSWER):
                ways["blocks"] = turn
    keeps: dict[str, Any] = {}
    for way, turn in ways.items():
        text = template.render([user(QUESTION), turn, user(SECOND)], **(made.on or {}))
        keeps[way] = "error" if text is None else THOUGHT in text
    return keeps


def _kept_by(template: Template, made: Dialect) -> Mapping[str, Any] | None:
    """The argument that keeps thoughts of earlier turns."""
    if not made.thought_fields or (made.history_keeps or {}).get("field"):
        return None
    turn = {"role": "assistant", "content": ANSWER, made.thought_fields[0]: THOUGHT}
    for name in template.reading.names:
        if HISTORY.search(name) and re.search(r"think|reason", name, re.IGNORECASE):
            for value in (True, False):
                given = {**(made.on or {}), name: value}
                if shows(template.render([user(QUESTION), turn, user(SECOND)], **given), THOUGHT):
                    return {name: value}
    return None
