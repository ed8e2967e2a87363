"""What a template writes around thoughts, answers and calls of earlier turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from thinkcap.dialects.asking import SystemText
from thinkcap.dialects.conversations import (
    ANSWER,
    ARGUMENTS,
    CALL_ID,
    QUESTION,
    SECOND,
    THOUGHT,
    TOOL,
    TOOLS,
    call,
    result,
    said,
    shows,
    thought_fields,
)
from thinkcap.dialects.marks import MARK, THINKS, closing_of, laid_out, opening_of, pairs
from thinkcap.dialects.rendering import user
from thinkcap.dialects.switching import Switching

NAMELESS_END = "\N{SYMBOL FOR END OF TRANSMISSION}"
"""Stands for an end-of-sequence token that the caller did not name."""

_UNMARKED = 60
"""Characters of a mark that has no usual shape."""


class Turns:
    """Turns of an assistant as one template writes them, asked once and kept."""

    def __init__(self, prompt: Switching) -> None:
        self.prompt, self.template, self.asked = prompt, prompt.template, SystemText(prompt)

    @cached_property
    def turn(self) -> str | None:
        """An answer with a thought in the last turn, as the template writes it."""
        for given in self._ways_on():
            for message in said(self.template, THOUGHT, ANSWER):
                text = self.template.render([user(QUESTION), message], prompt=False, **given)
                if shows(text, THOUGHT, ANSWER):
                    return text
        return None

    @cached_property
    def tool_turn(self) -> str | None:
        """A thought before a tool call in the running turn."""
        for given in self._ways_on():
            for arguments in ARGUMENTS:
                for message in said(self.template, THOUGHT, ""):
                    turns = [user(QUESTION), {**message, "tool_calls": [call(arguments)]}, result()]
                    text = self.template.render(turns, tools=TOOLS, **given)
                    if shows(text, THOUGHT):
                        return text
        return None

    def _ways_on(self) -> Iterator[dict[str, Any]]:
        yield dict(self.prompt.switch.on) if self.prompt.switch else {}
        if self.prompt.switch and not self.prompt.switch.on:
            return
        yield {}

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Fields of a message from which a thought is read, in the order in which the template looks at them."""
        found = []
        for name in thought_fields(self.template.reading):
            message = {"role": "assistant", "content": ANSWER, name: THOUGHT}
            loop = {**message, "content": "", "tool_calls": [call(ARGUMENTS[0])]}
            for given in self._ways_on():
                whole = self.template.render([user(QUESTION), message], prompt=False, **given)
                tools = self.template.render([user(QUESTION), loop, result()], tools=TOOLS, **given)
                if shows(whole, THOUGHT) or shows(tools, THOUGHT):
                    found.append(name)
                    break
        places = {n: re.search(rf"\b{n}\b", self.template.source) for n in found}
        found.sort(key=lambda n: place.start() if (place := places[n]) else 0)
        return tuple(n for n in found if n != "tool_plan" or len(found) == 1)

    @cached_property
    def marks(self) -> tuple[str, str] | None:
        """`(open, close)` with their white space, as a turn shows them, else the prompt, else the system text."""
        opened, closed = self._shown_open, None
        for text in (self.turn, self.tool_turn):
            closed = closed or (self._closing(text, opened) if text is not None else None)
        opened = opened or self._prompt_opening or self._prompt_extra(closed)
        block = self._empty_block
        if block is not None:
            opened, closed = opened or block[0], closed or block[1]
        if opened is None and closed is None:
            return self.asked.marks
        opened = opened or opening_of((closed or "").strip())
        closed = closed or closing_of((opened or "").strip())
        if not opened or not closed:
            return None
        if self.turn is None and (block is None or self._prompt_opening):
            closed = laid_out(closed, opened)
        return opened, closed

    @cached_property
    def _shown_open(self) -> str | None:
        for text in (self.turn, self.tool_turn):
            before = (text or "").partition(THOUGHT)[0]
            if not self.prompt.header and self.prompt.on_tail.strip() and before.endswith(self.prompt.on_tail):
                return self.prompt.on_tail
            if self.prompt.header and self.prompt.header in before:
                opening = before.rpartition(self.prompt.header)[2]
                if opening.strip() and len(opening) < 80 and QUESTION not in opening:
                    return opening
                if not opening:
                    continue
            found = list(MARK.finditer(before))
            if found and not before[found[-1].end() :].strip() and found[-1][0] not in self.prompt.header:
                return before[found[-1].start() :]
        return None

    @cached_property
    def _empty_block(self) -> tuple[str, str] | None:
        """An empty thought that the prompt writes when off: half of the lines inside belong to each mark."""
        off = self.prompt.off_writes or ""
        tags = list(MARK.finditer(off))
        if len(tags) > 2 and THINKS.search(tags[0][0]) and not off[tags[0].end() : tags[1].start()].strip():
            # What follows the empty thought is of the answer.
            tags, off = tags[:2], off[: tags[1].end()]
        if not tags or not (THINKS.search(tags[0][0]) or len(tags) == 2) or off[tags[-1].end() :].strip():
            return None
        if len(tags) > 1 and (self._prompt_opening or tags[0][0]).strip() not in off:
            # Other marks than the thought's: what stands before an answer without one.
            return None
        if len(tags) == 1:
            opening = opening_of(tags[0][0])
            return (opening, tags[0][0]) if opening and closing_of(opening) == tags[0][0] else None
        inside = off[tags[0].end() : tags[-1].start()]
        # A word that stands right behind a mark is a part of it; other words are of the thought.
        words = len(inside.rstrip("\n")) if re.fullmatch(r"\w+\s*", inside) else 0
        half = words + (len(inside) - words + 1) // 2
        if inside.strip() and not words:
            before, after = (len(inside) - len(inside.lstrip("\n")), len(inside) - len(inside.rstrip("\n")))
            return off[: tags[0].end() + before], inside[len(inside) - after :] + off[tags[-1].start() :]
        return off[: tags[0].end()] + inside[:half], inside[half:] + off[tags[-1].start() :]

    def _prompt_extra(self, closed: str | None) -> str | None:
        """A sentence of the prompt that begins the thought, where earlier turns show only the thought's end."""
        text = self.prompt.on_text
        if not closed or not self.prompt.header or self.prompt.header not in text:
            return None
        extra = text.rpartition(self.prompt.header)[2]
        return extra if extra.strip() and len(extra) < 120 else None

    @cached_property
    def _prompt_opening(self) -> str | None:
        """The mark a prompt ends with when thinking is on."""
        text = self.prompt.on_text
        end = (
            text.rpartition(self.prompt.header)[2]
            if self.prompt.header and self.prompt.header in text
            else text[-80:]
        )
        found = list(MARK.finditer(end))
        if (
            found
            and not end[found[-1].end() :].strip()
            and THINKS.search(found[-1][0])
            and "/" not in found[-1][0]
        ):
            return end if end.strip() == found[-1][0] else end[found[-1].start() :]
        return None

    def _closing(self, text: str, opened: str | None) -> str | None:
        after = text.partition(THOUGHT)[2]
        until = after.partition(ANSWER)[0] if ANSWER in after else after
        counterpart = closing_of((opened or "").strip())
        if counterpart and until.lstrip().startswith(counterpart):
            end = until.index(counterpart) + len(counterpart)
        else:
            first = MARK.search(until[:120])
            if first is None or until[: first.start()].strip():
                return self._unmarked(until, opened) if ANSWER in after else None
            end = first.end()
        while end < len(until) and until[end] == "\n":
            end += 1
        return until[:end]

    @staticmethod
    def _unmarked(between: str, opened: str | None) -> str | None:
        """What stands between a thought and its answer where marks are of no usual shape."""
        return between if opened and between.strip() and len(between) < _UNMARKED else None

    @cached_property
    def answer(self) -> tuple[str | None, str | None]:
        """Markup around the answer, where the template or its system text writes any."""
        opening, closing = self._answer
        # The answer's own mark may be what ends the thought.
        return None if opening and self.marks and opening.strip() == self.marks[1].strip() else opening, closing

    @property
    def _answer(self) -> tuple[str | None, str | None]:
        text = self.turn
        if text is not None:
            closing = self._closing(text, self._shown_open) or ""
            between = text.partition(THOUGHT)[2].partition(ANSWER)[0]
            opening = between[len(closing) :].strip()
            if opening:
                after = text.partition(THOUGHT)[2].partition(ANSWER)[2]
                counterpart = closing_of(opening)
                return opening, counterpart if counterpart and after.lstrip().startswith(counterpart) else None
        if self.asked.answer != (None, None):
            return self.asked.answer
        return self._around_earlier or self._cut_out or (None, None)

    @property
    def _around_earlier(self) -> tuple[str, str] | None:
        """Marks directly around an answer of an earlier turn."""
        turns = [user(QUESTION), {"role": "assistant", "content": ANSWER}, user(SECOND)]
        before, found, behind = (self.template.render(turns) or "").partition(ANSWER)
        opening = next((m for m in MARK.finditer(before) if not before[m.end() :].strip()), None)
        closing = MARK.match(behind.lstrip())
        if not found or not opening or not closing or opening[0] in self.prompt.header:
            return None
        return (opening[0], closing[0]) if pairs(opening[0], closing[0]) else None

    @property
    def _cut_out(self) -> tuple[str, str] | None:
        """Marks that the template cuts out of an answer it is given: the model writes them, nobody reads them."""
        named = dict.fromkeys(m[0] for text in self.template.reading.constants for m in MARK.finditer(text))
        for mark in named:
            closing = closing_of(mark)
            if closing in named and closing and not THINKS.search(mark):
                wrapped = f"{mark}\n{ANSWER}\n{closing}"
                # Some cut them out only where a thought stands before them.
                thought = THOUGHT.join(self.marks or ("", ""))
                for content in (wrapped, thought + wrapped):
                    said = {"role": "assistant", "content": content}
                    text = self.template.render([user(QUESTION), said, user(SECOND)]) or ""
                    if ANSWER in text and mark not in text.partition(QUESTION)[2] and closing not in text:
                        return mark, closing
        return None

    @cached_property
    def asks(self) -> bool:
        """Thinking hangs on a text that a system message of the caller takes away, and on nothing else."""
        asked = self.prompt.switch is None and self.asked.marks is not None and self._prompt_opening is None
        return asked and not self.asked.lasts

    @property
    def is_thinking(self) -> bool:
        """Marks alone prove nothing: some templates only cut thoughts out of earlier turns."""
        shown = self._prompt_opening or self.turn or self.tool_turn or self.prompt.off_said or self.prompt.on_said
        return bool(shown or self.asked.marks or self._effort_only)

    @property
    def _effort_only(self) -> bool:
        return self.prompt.effort is not None and self.prompt.switch is None

    @cached_property
    def end_of_turn(self) -> str | None:
        said = {"role": "assistant", "content": ANSWER}
        last = self.turn or self.template.render([user(QUESTION), said], prompt=False) or ""
        next_turn = self.template.render([user(QUESTION), said, user(SECOND)]) or ""
        for text, until in ((last, None), (next_turn, SECOND)):
            if ANSWER not in text:
                continue
            tail = text.rpartition(ANSWER)[2] if until is None else text.partition(ANSWER)[2].partition(until)[0]
            if self.answer[1]:
                tail = tail.partition(self.answer[1].strip())[2] or tail
            tail = tail.partition(self.prompt.header)[0] if self.prompt.header and until is None else tail
            run = re.match(rf"(?:(?:{MARK.pattern})[ \w]{{0,12}})+", tail.lstrip("\n"))
            marks = [m[0] for m in MARK.finditer(run[0])] if run else []
            if marks or tail.strip():
                ended = (marks[-1] if until is None else marks[0]) if marks else tail.strip().split("\n")[0]
                if NAMELESS_END not in ended:
                    return ended
                continue
            if tail.strip(" ") and until is None:
                return tail
        return None

    @cached_property
    def turn_close(self) -> str | None:
        """Markup between the answer's own and the end of the turn."""
        tail = (self.turn or "").rpartition(ANSWER)[2]
        if self.end_of_turn is None or self.end_of_turn not in tail:
            return None
        between = tail.rpartition(self.end_of_turn)[0].strip().removeprefix((self.answer[1] or "").strip()).strip()
        return between if MARK.match(between) else None

    @cached_property
    def tool_open(self) -> str | None:
        text = self.tool_turn or self._call_alone
        if text is None:
            return None
        header = self.prompt.header
        if THOUGHT in text:
            after = text.partition(THOUGHT)[2]
            if not self._call_ends_thought(after):
                after = after[len(self._closing(text, self._shown_open) or "") :]
        else:
            after = text.rpartition(QUESTION)[2]
            after = after.partition(header)[2] if header and header in after else after
        before = after.partition(TOOL)[0]
        if self.answer[0] and self.answer[1]:
            # An answer without a word in it may stand before the call.
            before = before.replace(self.answer[0] + self.answer[1], "", 1)
        marks, numbered, _ = before.partition(CALL_ID)
        if header and before.startswith(header) and numbered and not MARK.sub("", marks[len(header) :]).strip():
            return marks
        if header and before.startswith(header) and before != header:
            if "\n" in before[len(header) :]:
                return before[: before.index("\n", len(header))]
            return before if before.endswith(".") else before + TOOL
        tags = {m.strip() for m in self.marks or ()}
        return self._of_parts(before) or next((m[0] for m in MARK.finditer(before) if m[0] not in tags), None)

    def _of_parts(self, text: str) -> str | None:
        """A mark with a word inside, such as `<|open|>tools<|sep|>`, where the thought has one of that shape."""
        parts = [m[0] for m in MARK.finditer((self.marks or ("", ""))[0])]
        if len(parts) < 2:
            return None
        word, last, _ = text.removeprefix(parts[0]).partition(parts[-1])
        whole = text.startswith(parts[0]) and last and word and not MARK.search(word)
        return parts[0] + word + last if whole else None

    def _call_ends_thought(self, after: str) -> bool:
        closing = self.marks[1].strip() if self.marks else ""
        return MARK.search(after) is None or not after.lstrip().startswith(closing)

    @cached_property
    def _call_alone(self) -> str | None:
        """A tool call without a thought before it."""
        for arguments in ARGUMENTS:
            for content in ("", None):
                message = {"role": "assistant", "content": content, "tool_calls": [call(arguments)]}
                text = self.template.render([user(QUESTION), message, result()], tools=TOOLS)
                if text is not None and TOOL in text.rpartition(QUESTION)[2]:
                    return text
        return None
