"""Answer at once, without thinking."""

from thinkcap.core.flow import Flow, ask
from thinkcap.core.types import Answer, Question, Request
from thinkcap.policies.facts import Facts


def nothink(question: Question, cap: int) -> Flow:
    answer = yield from ask(Request(question, "nothink", cap, stage="answer", shown="answer", final=True))
    return Answer(answer.answer, stage="answer", completion=answer)


FACTS = {"nothink": Facts(chain=("answer",), may_be_empty=False, one_call=True)}
