"""Dynasor-CoT (Certaindex, arXiv 2412.20993): trial answers every few dozen tokens; stop when the last agree."""

from collections.abc import Generator
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, Same, same
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Question
from thinkcap.policies.facts import Facts
from thinkcap.policies.trials import Thought, Trial

DOUBTS = ("wait", "hold", "but", "okay", "no", "hmm")
_CHOICES = ("label", "truth", "yesno")
"""Forms whose answers may themselves hold a word of doubt."""


def agree(
    question: Question,
    cap: int,
    *,
    every: int = 64,
    last: int = 3,
    trial: int = 12,
    doubt: bool = True,
    finish: str = "trial",
    lead: str = "",
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Try an answer every few dozen tokens, and stop when the last ones agree (Dynasor).

        0       every   2 every 3 every                   cap - answer   cap
        |thought|(trial)|(trial)|(trial) all equal: answer                  stops early
        |thought|(trial)|(trial)|(trial)................. |</think>answer |   else

    Use it where answers are short and settle long before the thought ends. It needs an answer kind.
    A trial every `every` tokens (64), `trial` tokens each (12; authors 20); it stops when the `last` (3) are
    equivalent. With `doubt` a trial that says wait, but, no and the like does not count. `finish=trial` gives the
    agreed trial itself, as the authors do; `close`, `last` and `lead` as in `sure`, `answer` as in `close`.
    """
    if every < 1 or last < 1:
        raise ConfigError(f"agree needs every and last of at least 1, not {every} and {last}")
    asked = Trial.of(question, prompts, trial, lead)
    thought = Thought(question, cap, answer, prompts, asked, finish)
    doubting = doubt and question.answer_form not in _CHOICES
    answers: list[str | None] = []
    while True:
        yield from thought.write(every)
        if thought.full:
            break
        found = yield from thought.attempt()
        if found is None:
            break
        doubtful = doubting and any(word in found.text.lower() for word in DOUBTS)
        answers.append(None if doubtful else asked.read(question, found))
        if (yield from settled(answers, last, question)):
            return (yield from thought.finish(stopped=True, answers=tuple(answers)))
    return (yield from thought.finish(answers=tuple(answers)))


def settled(answers: list[str | None], last: int, question: Question) -> Generator[Same, Any, bool]:
    """Whether the last few are one and the same answer."""
    if len(answers) < last:
        return False
    newest = answers[-1]
    for other in answers[-last:-1]:
        if not (yield from same(newest, other, question)):
            return False
    return newest is not None


FACTS = {
    "agree": Facts(
        chain=("think",), then=("trial", "close"), may_be_empty=False, needs_kind=True, needs_nothink=False
    )
}
