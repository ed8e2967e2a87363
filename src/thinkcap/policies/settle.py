"""Answer convergence (arXiv 2506.02536): an answer at every sentence end; stop when many in a row are the same."""

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Question
from thinkcap.policies.agree import settled
from thinkcap.policies.facts import Facts
from thinkcap.policies.trials import PLACES, Thought, Trial


def settle(
    question: Question,
    cap: int,
    *,
    last: int = 10,
    at: str = "sentence",
    least: int = 0,
    trial: int = 12,
    finish: str = "close",
    lead: str = "",
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Answer at every sentence end; stop when many in a row are the same (answer convergence).

        0     .       .       .       .                   cap - answer   cap
        |thought.(trial).(trial).(trial) same: answer                       stops early
        |thought.(trial).(trial).(trial) ................ |</think>answer |   else

    A trial a sentence nearly doubles the cost of a thought, which only shows when trials are charged.
    Use it for comparison; on hard questions it stops too soon. It needs an answer kind.
    `last` equal answers (10, the authors') at every `at`: sentence, line, paragraph, or a text of your own (which
    the trial does not see); none before `least` tokens. `trial` tokens each (12). `lead` and `finish` as in
    `sure`, `answer` as in `close`.
    """
    if last < 1:
        raise ConfigError(f"settle needs at least one answer in a row, not {last}")
    asked = Trial.of(question, prompts, trial, lead)
    thought = Thought(question, cap, answer, prompts, asked, finish)
    places = PLACES.get(at, (at,))
    answers: list[str | None] = []
    if least:
        yield from thought.write(least)
    while not thought.full:
        yield from thought.write(stop_at=places)
        if thought.full:
            break
        found = yield from thought.attempt()
        if found is None:
            break
        answers.append(asked.read(question, found))
        if (yield from settled(answers, last, question)):
            return (yield from thought.finish(stopped=True, answers=tuple(answers)))
    return (yield from thought.finish(answers=tuple(answers)))


FACTS = {
    "settle": Facts(
        chain=("think",), then=("trial", "close"), may_be_empty=False, needs_kind=True, needs_nothink=False
    )
}
