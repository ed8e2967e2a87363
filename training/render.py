"""From a problem to a training document: the product's prompts, a trace cut anywhere, an answer.

Every text a model is shown comes from `thinkcap.core.prompts`, and traces are spliced as token ids (head, cut
trace, tail, each tokenized on its own), exactly as the product does it.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from thinkcap.core.prompts import HERE, PROMPTS
from thinkcap.tasks.families.problem import LETTERS, Problem
from training.encoder import Encoder
from training.workings import WORKINGS
from training.workings.piece import Piece


class Document(NamedTuple):
    ids: list[int]
    learn: list[bool]


# Share of each form among the documents.
FORMS = {
    "think": 40,
    "nothink": 15,
    "extract": 14,
    "extract_only": 6,
    "retry": 2,
    "close": 7,
    "project": 3,
    "hint_think": 8,
    "hint_nothink": 2,
    "bare": 1.5,
    "placebo": 1.5,
}


def answer_text(problem: Problem, answer: str | None = None) -> str:
    given = problem.answer if answer is None else answer
    if problem.form == "number":
        return f"#### {given}"
    if problem.form == "math":
        return f"\\boxed{{{given}}}"
    return f"The answer is {given}."


def wrong_answer(problem: Problem, rng: Random) -> str:
    """An answer someone could have given: a digit off, another option."""
    if problem.form == "truth":
        return "False" if problem.answer == "True" else "True"
    if problem.form == "label":
        last = problem.question.rsplit("\n(", 1)[1][0]
        others = [x for x in LETTERS[: LETTERS.index(last) + 1] if f"({x})" != problem.answer]
        return f"({rng.choice(others)})"
    value = int(problem.answer)
    while True:
        way = rng.random()
        if way < 0.4:
            digits = list(problem.answer)
            digits[rng.randrange(len(digits))] = str(rng.randrange(10))
            other = int("".join(digits))
        elif way < 0.7:
            other = value + rng.choice((-100, -10, -2, -1, 1, 2, 10, 100))
        else:
            other = rng.randint(1, max(9, value * 2))
        if other != value and other >= 0:
            return str(other)


def _opening(given: str) -> str:
    """How a thought begins that was told a previous answer."""
    return f"They say {given}. Let me see.\n"


class Renderer:
    """Makes documents with one encoder; `prompt` is also what evaluation sends."""

    def __init__(self, encoder: Encoder) -> None:
        self.encode = encoder
        self._turn = [encoder.end, *encoder("\n"), encoder.start, *encoder("assistant\n")]
        self._empty_thought = encoder.marked(PROMPTS.no_think)
        self._user = [encoder.start, *encoder("user\n")]

    def prompt(self, content: str, think: bool, system: str = "", trace: list[int] | None = None) -> list[int]:
        """The ids up to where the assistant begins to write; `trace` goes where HERE stands."""
        encode = self.encode
        ids: list[int] = []
        if system:
            ids = [encode.start, *encode("system\n" + system), encode.end, *encode("\n")]
        head, here, tail = content.partition(HERE)
        ids = [*ids, *self._user, *encode(head)]
        if here:
            ids += trace or []
            ids += encode(tail)
        return [*ids, *self._turn, *([] if think else self._empty_thought)]

    def thought(self, pieces: list[Piece]) -> tuple[list[int], list[bool], list[tuple[int, int]]]:
        """Ids of `<think>` and the working, what to learn of them, and cut marks (tokens, steps done)."""
        ids = [self.encode.think, *self.encode("\n")]
        learn = [True] * len(ids)
        marks = [(0, 0)]
        for piece in pieces:
            more = self.encode(piece.text)
            ids += more
            learn += [piece.learn] * len(more)
            marks.append((len(ids), piece.done))
        return ids, learn, marks

    def asked(self, problem: Problem) -> str:
        return PROMPTS.asked(problem.question, problem.form)

    def document(self, problem: Problem, form: str, rng: Random, other: Problem | None = None) -> Document:
        asked = self.asked(problem)
        work = WORKINGS[problem.family]
        system = "You are a helpful assistant." if rng.random() < 0.02 else ""
        if rng.random() < 0.04:
            # People who type a question do not add how to answer.
            asked = problem.question
        if form == "nothink":
            return self._reply(self.prompt(asked, False, system), work.quick(problem, rng) + answer_text(problem))
        if form == "bare":
            content = asked + "\n" + PROMPTS.extraction(problem.form, PROMPTS.extract_bare)
            return self._reply(self.prompt(content, False), work.quick(problem, rng) + answer_text(problem))
        if form.startswith("hint"):
            return self._hinted(problem, form, rng)
        if form == "think":
            pieces = work.think(problem, rng, slip=rng.random() < 0.06)
            return self._thinking(self.prompt(asked, True, system), pieces, answer_text(problem))
        trace, start = self._cut(problem, rng)
        if form == "placebo":
            trace, start = self._cut(other or problem, rng)[0], 0
        if form in ("close", "project"):
            return self._closed(problem, form, trace, start, rng)
        template = PROMPTS.retry if form == "retry" else PROMPTS.extract
        strict = form == "extract_only" or (form == "retry" and rng.random() < 0.7)
        system = PROMPTS.extract_only if strict else ""
        if form != "placebo" and rng.random() < 0.07:
            trace, start = self._whole(problem, rng)
        if rng.random() < 0.3:
            # Some callers hand over the thought without its opening tag.
            trace = trace[2:]
        prompt = self.prompt(asked + "\n" + PROMPTS.extraction(problem.form, template), False, system, trace)
        steps = "" if form == "retry" else self._rest(problem, rng, start)
        return self._reply(prompt, steps + answer_text(problem))

    def _rest(self, problem: Problem, rng: Random, start: int) -> str:
        """What is still to do; a trace that has settled nothing is worth no more than none."""
        work = WORKINGS[problem.family]
        return work.brief(problem, rng, start) if start else work.quick(problem, rng)

    def _cut(self, problem: Problem, rng: Random) -> tuple[list[int], int]:
        """A thought cut at a random token, and how many steps it had settled by then."""
        pieces = WORKINGS[problem.family].think(problem, rng, slip=rng.random() < 0.03)
        if rng.random() < 0.12:
            given = wrong_answer(problem, rng) if rng.random() < 0.5 else problem.answer
            pieces.insert(0, Piece(_opening(given), 0))
        if any(not p.sound for p in pieces):
            # Only cut where a slip has been repaired already.
            last = max(i for i, p in enumerate(pieces) if not p.sound)
            ids, _, marks = self.thought(pieces)
            at = rng.randint(marks[last + 1][0], len(ids))
        else:
            ids, _, marks = self.thought(pieces)
            at = len(ids) if rng.random() < 0.1 else rng.randint(0, len(ids))
        start = [done for upto, done in marks if upto <= at][-1]
        return ids[:at], start

    def _whole(self, problem: Problem, rng: Random) -> tuple[list[int], int]:
        """A thought that came to its end, closed, with the answer after it or part of it."""
        work = WORKINGS[problem.family]
        ids, _, _ = self.thought(work.think(problem, rng))
        answer = [self.encode.close, *self.encode("\n\n"), *self.encode(answer_text(problem)), self.encode.end]
        return ids + answer[: rng.randint(1, len(answer))], work.steps_of(problem)

    def _reply(self, prompt: list[int], text: str) -> Document:
        reply = [*self.encode(text), self.encode.end]
        return Document(prompt + reply, [False] * len(prompt) + [True] * len(reply))

    def _thinking(self, prompt: list[int], pieces: list[Piece], answer: str) -> Document:
        ids, learn, _ = self.thought(pieces)
        reply = [self.encode.close, *self.encode("\n\n"), *self.encode(answer), self.encode.end]
        return Document(prompt + ids + reply, [False] * len(prompt) + learn + [True] * len(reply))

    def _closed(self, problem: Problem, form: str, trace: list[int], start: int, rng: Random) -> Document:
        """The thought is closed by force; the answer follows in the same turn."""
        prompt = self.prompt(self.asked(problem), True) + trace
        if form == "project":
            prompt += self.encode.marked(PROMPTS.project)
            return self._reply(prompt, " " + answer_text(problem))
        prompt += self.encode.marked(PROMPTS.close)
        return self._reply(prompt, self._rest(problem, rng, start) + answer_text(problem))

    def _hinted(self, problem: Problem, form: str, rng: Random) -> Document:
        right = rng.random() < 0.5
        given = problem.answer if right else wrong_answer(problem, rng)
        shown = given.strip("()") if problem.form == "label" and rng.random() < 0.4 else given
        content = self.asked(problem) + "\n" + PROMPTS.hinted(shown)
        work = WORKINGS[problem.family]
        if form == "hint_nothink":
            return self._reply(self.prompt(content, False), work.quick(problem, rng) + answer_text(problem))
        pieces = [Piece(_opening(given), 0)]
        pieces += work.think(problem, rng, slip=rng.random() < 0.06)
        pieces.append(Piece("They are right.\n" if right else f"Not {given} but {problem.answer}.\n", 0))
        return self._thinking(self.prompt(content, True), pieces, answer_text(problem))
