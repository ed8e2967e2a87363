"""A thought written in pieces, with trial answers between them: what the rivals' early exits have in common.

The pieces continue one turn, so a stored thought serves every cap; a trial is a short answer forced out of the
thought so far, hidden and taken back. Every trial is charged, and notes say how many there were and their cost:
what is charged minus `trial_tokens` is what the authors of these methods count.

    thought = Thought(question, cap, answer, prompts, Trial.of(question, prompts, 12), "close")
    yield from thought.write(64)
    found = yield from thought.attempt()
    return (yield from thought.finish(stopped=sure(found)))
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Ask, Flow, ask
from thinkcap.core.names import nearest
from thinkcap.core.prompts import Prompts
from thinkcap.core.types import Answer, Completion, Question, Request, Span
from thinkcap.policies import stages

_BLANKS: Mapping[str, str] = MappingProxyType(
    {"number": "number", "math": "answer", "label": "X", "truth": "True", "yesno": "Yes", "text": "answer"}
)
"""The word of each answer form that the model is to fill in."""
_ENDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "math": ("}\n", "}.", "}$", "}}", "}\\", "\n"),
        "label": (")", "\n"),
        "truth": (".", "\n"),
        "yesno": (".", "\n"),
    }
)
_SENTENCES = (". ", ".\n", "? ", "?\n", "! ", "!\n", "\n")
PLACES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"sentence": _SENTENCES, "line": ("\n",), "paragraph": ("\n\n",)}
)
"""Where a thought can be interrupted, by name; any other text stands for itself."""
ENDINGS = ("close", "trial", "last")
"""Who answers: the model once more after our close; the trial at which a thought was stopped; or, where the cap
came first, the last trial that could be read, and one more at the cut where there is none."""


@dataclass(frozen=True)
class Trial:
    """What is asked at a checkpoint: our words, then at most `most` tokens of the model's."""

    text: str
    lead: str
    """The beginning of the answer inside `text`."""
    most: int
    stop_at: tuple[str, ...]
    scored: bool = False

    @classmethod
    def of(cls, question: Question, prompts: Prompts, most: int, lead: str = "", *, scored: bool = False) -> Trial:
        """The thought closed and the answer begun in the question's own form, or `lead` for all of it."""
        if most < 1:
            raise ConfigError(f"a trial needs at least 1 token, not {most}")
        form = question.answer_form
        shape = prompts.form(form)
        blank = _BLANKS.get(form, "")
        begun = shape[: shape.index(blank)] if blank and blank in shape else ""
        ends = _ENDS.get(form, ("\n",))
        return cls(lead or prompts.close + begun, lead or begun, most, ends, scored)

    def read(self, question: Question, found: Completion) -> str | None:
        """The answer in a trial; None where there is none to read."""
        return stages.read(question, self.said(found)).answer

    def said(self, found: Completion) -> str:
        text = self.lead + found.text
        return text + "}" * max(0, text.count("{") - text.count("}"))


class Thought:
    """The turn so far, what it has cost, and where it can be closed."""

    def __init__(
        self,
        question: Question,
        cap: int,
        answer: int | None,
        prompts: Prompts,
        trial: Trial,
        ending: str = "close",
    ) -> None:
        if ending not in ENDINGS:
            raise ConfigError(f"unknown finish '{ending}'{nearest(ending, ENDINGS)}")
        self.question, self.prompts, self.trial, self.ending = question, prompts, trial, ending
        self.answer = min(max(32, cap // 8), max(1, cap // 2)) if answer is None else answer
        self.chain: Completion | None = None
        self.trials = self.trial_tokens = 0
        self.full = False
        """Nothing more can be written: it has ended, closed itself, or used up its share."""
        self._cap, self._spent = cap, 0
        self._here: tuple[Span, ...] = ()
        self._newest: Completion | None = None
        self._tried: Completion | None = None
        self._readable: Completion | None = None
        self._forced = 0

    @property
    def length(self) -> int:
        return self.chain.tokens if self.chain else 0

    def write(self, most: int = 0, stop_at: Sequence[str] = ()) -> Generator[Ask, Any, Completion | None]:
        """One more piece: `most` tokens, or up to a text with something before it. Keeps back the answer and a
        trial."""
        keep = self.answer + self._price()
        piece = yield from self._piece(most, stop_at, keep)
        while piece and not self.full and piece.finish == "stopped" and not (piece.thought or "").strip():
            piece = yield from self._piece(most, stop_at, keep)
        return piece

    def _piece(self, most: int, stop_at: Sequence[str], keep: int) -> Generator[Ask, Any, Completion | None]:
        room = self._cap - self._spent - keep
        if room <= 0:
            self.full = True
            return None
        begun = (self.chain.span(),) if self.chain else ()
        budget = min(most, room) if most else room
        piece = yield from ask(
            Request(self.question, "think", budget, "think", "answer", keep, prefill=begun, stop_at=tuple(stop_at))
        )
        self._spent += piece.charged
        self._newest = piece
        self.chain = stages.joined(self.chain, piece) if self.chain else piece
        self._here = (*begun, piece.before) if piece.before is not None else (self.chain.span(),)
        reached = piece.tokens == budget and most == budget
        self.full = self.chain.ended or self.chain.answer is not None
        self.full = self.full or not (piece.finish == "stopped" or reached)
        return piece

    def attempt(self) -> Generator[Ask, Any, Completion | None]:
        """A trial answer from the thought as it stands; None where there is no room for one."""
        room = self._cap - self._spent - self.answer
        if room < self._price():
            return None
        found = yield from ask(
            Request(
                self.question,
                "think",
                room,
                "trial",
                keep=self.answer,
                prefill=(*self._here, self.trial.text),
                most=self.trial.most,
                stop_at=self.trial.stop_at,
                scored=self.trial.scored,
            )
        )
        if not found.tokens:
            return None
        self._forced = found.forced
        self._spent += found.charged
        self.trials += 1
        self.trial_tokens += found.charged
        self._tried = found
        if self.ending == "last" and self.trial.read(self.question, found) is not None:
            self._readable = found
        return found

    def finish(self, *, stopped: bool = False, **notes: Any) -> Flow:
        """The answer: a trial that may be it, or in the same turn, after the model's own close or after ours.
        Unless `stopped`, the thought first takes all that is left for it."""
        over = self.chain is not None and (self.chain.ended or self.chain.answer is not None)
        held = self._tried if stopped and self.ending != "close" else self._readable
        if not (stopped or over or held):
            yield from self._piece(0, (), self.answer)
        told = {"trials": self.trials, "trial_tokens": self.trial_tokens, **notes}
        chain = self.chain
        if stopped:
            told["stopped"] = self.length
        if chain is not None and chain.ended:
            # Of the steps this one gave the answer, which is on show already.
            return Answer(chain.answer, "think", self._newest, notes=told)
        if chain is not None and chain.answer is not None:
            rest = yield from ask(self._answering("think", chain.span()))
            return Answer(chain.answer + rest.text, "think", rest, notes=told)
        if held is not None:
            return Answer(self.trial.said(held), "trial", held, notes=told)
        if self.ending == "last" and self.trial.lead:
            # The trial's own words, so that one made here before is gone on with.
            asked = self._answering("close", *self._here, self.trial.text)
            found = yield from ask(replace(asked, shown="hidden", stop_at=self.trial.stop_at))
            return Answer(self.trial.said(found), "close", found, notes=told)
        rest = yield from ask(replace(self._answering("close", *self._here, self.prompts.close), final=True))
        return Answer(rest.text, "close", rest, notes=told)

    def _answering(self, stage: str, *turn: Span | str) -> Request:
        return Request(self.question, "think", self._cap - self._spent, stage, "answer", prefill=turn)

    def _price(self) -> int:
        """What a trial costs at most; before the first one our words are taken for a token a character or two."""
        return (self._forced or 1 + len(self.trial.text) // 2) + self.trial.most
