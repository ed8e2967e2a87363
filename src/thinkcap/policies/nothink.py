"""Answer at once, without thinking."""

from thinkcap.core.flow import Flow, ask
from thinkcap.core.types import Answer, Question, Request
from thinkcap.policies.facts import Facts


def nothink(question: Question, cap: int) -> Flow:
    """Answer at once, without thinking.

        0                                                 cap
        |answer                                           |

    One call, and the whole cap is for the answer.
    Use it under small caps and for easy questions, and as the baseline every other method has to beat.
    It goes wrong where a question needs working out: more tokens do not help a model that answers at once.
    """
    answer = yield from ask(Request(question, "nothink", cap, stage="answer", shown="answer", final=True))
    return Answer(answer.answer, stage="answer", completion=answer)


FACTS = {"nothink": Facts(chain=("answer",), may_be_empty=False, one_call=True, plain="nothink")}
