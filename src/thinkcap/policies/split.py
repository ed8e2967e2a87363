"""Split: think with a budget of its own, then answer from the trace, if it was cut, in a pass without thinking."""

from thinkcap.core.flow import Flow, ask
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts


def split(
    question: Question,
    cap: int,
    *,
    think: int | None = None,
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Think under one budget, answer from the trace under another.

        0                                 cap - answer    cap
        |thought .........................|answer pass    |   without thinking, reads the cut thought

    A thought that ends in time answers for itself. A cut one is given to a second call as context.
    Use it where a model answers badly after a forced close; it costs reading the trace once more.
    `answer` is the budget of the answer pass (a quarter of the cap, at least 32 if that fits), `think` that of the
    thought (the rest).
    """
    if answer is None:
        answer = min(max(32, cap // 4), max(1, cap // 2))
    chain = yield from ask(stages.thinking(question, think or max(1, cap - answer), keep=answer))
    if chain.ended:
        return Answer(chain.answer, stage="think", completion=chain)
    final = yield from ask(stages.extraction(question, chain, answer, prompts))
    return Answer(final.answer, stage="extract", completion=final)


FACTS = {"split": Facts(chain=("think",), then=("extract",), may_be_empty=False, splits=True, divides="split")}
