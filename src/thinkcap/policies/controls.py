"""Controls: what separates the trace's worth from that of the second pass, the prompt and the tokens."""

from thinkcap.core.flow import Flow, ask
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Mode, Question
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


def no_trace(question: Question, cap: int, *, mode: Mode = "nothink", prompts: Prompts = PROMPTS) -> Flow:
    """The answer pass without any trace: what the prompt alone is worth, in either mode."""
    final = yield from ask(stages.extraction(question, None, cap, prompts, mode=mode))
    return Answer(final.answer, stage="extract", completion=final)


def think_on_trace(
    question: Question,
    cap: int,
    *,
    think: int | None = None,
    answer: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """As `split`, but the answer pass thinks again: the trace's worth without leaving the mode."""
    think, answer = stages.shares(cap, think, answer, default=(0.75, 0.25))
    chain = yield from ask(stages.thinking(question, think, keep=answer))
    if chain.ended:
        return Answer(chain.answer, stage="think", completion=chain)
    final = yield from ask(stages.extraction(question, chain, answer, prompts, mode="think"))
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
    "think_on_trace": Facts(chain=("think",), then=("extract",), needs_nothink=False),
    "placebo": Facts(chain=("think",), then=("extract",), may_be_empty=False),
}
