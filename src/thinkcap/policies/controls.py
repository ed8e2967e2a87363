"""Controls: what separates the trace's worth from that of the second pass, the prompt and the tokens."""

from thinkcap.core.flow import Flow, ask
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question
from thinkcap.policies import stages
from thinkcap.policies.facts import Facts


def two_pass(
    question: Question,
    cap: int,
    *,
    think: int | None = None,
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Half the cap to think, half to answer from the trace, also where the chain was complete."""
    think, answer = stages.shares(cap, think, answer, default=(0.5, 0.5))
    chain = yield from ask(stages.thinking(question, think, keep=min(answer, cap // 2)))
    final = yield from ask(stages.extraction(question, chain, answer, prompts))
    return Answer(final.answer, stage="extract", completion=final)


def no_trace(question: Question, cap: int, *, prompts: Prompts = PROMPTS) -> Flow:
    """The answer pass without any trace: what the prompt alone is worth."""
    final = yield from ask(stages.extraction(question, None, cap, prompts))
    return Answer(final.answer, stage="extract", completion=final)


def placebo(
    question: Question,
    cap: int,
    *,
    other: Question,
    think: int | None = None,
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """The answer pass with another question's trace: what any trace is worth. A study supplies the other."""
    think, answer = stages.shares(cap, think, answer, default=(0.875, 0.125))
    chain = yield from ask(stages.thinking(other, think, keep=answer, shown="hidden"))
    final = yield from ask(stages.extraction(question, chain, answer, prompts))
    return Answer(final.answer, stage="extract", completion=final)


FACTS = {
    "two_pass": Facts(chain=("think",), then=("extract",), may_be_empty=False),
    "no_trace": Facts(chain=("extract",), may_be_empty=False),
    "placebo": Facts(chain=("think",), then=("extract",), may_be_empty=False),
}
