"""IRIS: try without thinking; else think with a budget of its own, and answer from the trace, however cut, in
a separate pass without thinking. IRIS+ asks only for what is missing and tries again where it cannot be read.
"""

from dataclasses import replace

from thinkcap.core.flow import Flow, ask
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts
from thinkcap.policies.split import split


def iris(
    question: Question,
    cap: int,
    *,
    first: int | None = None,
    think: int | None = None,
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Try without thinking; else think, and answer from the trace in a pass of its own.

        0            first                cap - answer    cap
        |probe ......|                                        ended: that is the answer
                     |thought ............|answer pass    |   it did not: think, answer from the trace

    `town` and `split` in one: easy questions stop at the probe, hard ones always get an answer.
    Use it for mixed traffic under caps that cut many thoughts.
    `first`, `think`, `answer`: budgets of the three passes, by default a quarter of the cap, the rest, an eighth.
    """
    first, answer = stages.shares(cap, first, answer, default=(0.25, 0.125))
    quick = yield from ask(stages.probe(question, first, keep=answer))
    if quick.ended:
        return Answer(quick.answer, stage="probe", completion=quick)
    return (yield from split(question, max(1, cap - first), think=think, answer=answer, prompts=prompts))


def iris_plus(
    question: Question,
    cap: int,
    *,
    first: int | None = None,
    think: int | None = None,
    answer: int | None = None,
    retry: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """`iris` that asks only for the final answer, and asks again where it cannot read one.

        0            first                                cap
        |probe ......|thought ..........|answer pass|retry|

    A system prompt asks the answer pass for the answer alone; a weak reading is repeated once. Both are charged.
    Use it where answers are short and their kind is known.
    `first`, `think` and `answer` are as in `iris`; `retry` is the second try's budget (half of `answer`).
    """
    first, answer = stages.shares(cap, first, answer, default=(0.25, 0.125))
    retry = retry if retry is not None else max(1, answer // 2)
    quick = yield from ask(stages.probe(question, first, keep=answer + retry))
    if quick.ended:
        return Answer(quick.answer, stage="probe", completion=quick)
    think = think or max(1, cap - first - answer - retry)
    chain = yield from ask(stages.thinking(question, think, keep=answer + retry))
    if chain.ended:
        return Answer(chain.answer, stage="think", completion=chain)
    # Hidden: only one of the two tries may reach a reader, and which is known after the reading.
    final = yield from ask(
        stages.extraction(
            question, chain, answer, prompts, system=prompts.extract_only, keep=retry, shown="hidden"
        )
    )
    found = stages.read(question, final.answer)
    if not found.weak:
        return Answer(final.answer, stage="extract", completion=final)
    again = yield from ask(
        stages.extraction(
            question,
            chain,
            retry,
            prompts,
            template=prompts.retry,
            system=prompts.extract_only,
            stage="retry",
            shown="hidden",
        )
    )
    second = stages.read(question, again.answer)
    if not second.weak or (found.answer is None and second.answer is not None):
        return Answer(again.answer, stage="retry", completion=again)
    return Answer(final.answer, stage="extract", completion=final)


_CHAIN = ("probe", "think")
_IRIS = Facts(chain=_CHAIN, then=("extract",), may_be_empty=False, splits=True, divides="split", first_try=True)
FACTS = {
    "iris": _IRIS,
    "iris_plus": replace(_IRIS, then=("extract", "retry"), needs_kind=True, looks_again=True),
}
