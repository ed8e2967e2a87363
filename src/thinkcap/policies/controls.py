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
    """Control: half of the cap to think, half to answer from the trace, always.

        0                        cap / 2                  cap
        |thought ................|answer pass             |

    It takes the options of `split`, but makes the answer pass even where the thought ended.
    Use it in a study to see what the second pass is worth by itself. Not for serving.
    """
    think, answer = stages.shares(cap, think, answer, default=(0.5, 0.5))
    chain = yield from ask(stages.thinking(question, think, keep=min(answer, cap // 2)))
    final = yield from ask(stages.extraction(question, chain, answer, prompts))
    return Answer(final.answer, stage="extract", completion=final)


def no_trace(question: Question, cap: int, *, mode: Mode = "nothink", prompts: Prompts = PROMPTS) -> Flow:
    """Control: the answer pass without any trace.

        0                                                 cap
        |answer pass, its prompt but no thought           |

    It measures what the answer prompt alone is worth, in either `mode`.
    Use it in a study beside `split` or `iris`: what these gain over it comes from the trace. Not for serving.
    """
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
    """Control: as `split`, but the answer pass thinks again.

        0                                    3/4 cap      cap
        |thought ............................|think|answer|

    It separates the trace from the change of mode: what `split` gains over it comes from not thinking.
    Use it in a study, also with models that cannot answer without thinking. Not for serving.
    """
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
    """Control: the answer pass with the trace of another question.

        0                                      7/8 cap    cap
        |thought about another question .......|answer pass|

    It measures what any text of that length is worth. The study supplies the other question; the options are those
    of `split`.
    Use it in a study: a method that gains over its placebo uses what the trace says. Not for serving.
    """
    think, answer = stages.shares(cap, think, answer, default=(0.875, 0.125))
    chain = yield from ask(stages.thinking(other, think, keep=answer, shown="hidden"))
    final = yield from ask(stages.extraction(question, chain, answer, prompts))
    return Answer(final.answer, stage="extract", completion=final)


FACTS = {
    "two_pass": Facts(
        chain=("think",),
        then=("extract",),
        may_be_empty=False,
        splits=True,
        divides="split",
        control="always_cut",
    ),
    "no_trace": Facts(chain=("extract",), may_be_empty=False, control="without_trace"),
    "think_on_trace": Facts(chain=("think",), then=("extract",), needs_nothink=False, control="thinking"),
    "placebo": Facts(chain=("think",), then=("extract",), may_be_empty=False, control="other_trace"),
}
