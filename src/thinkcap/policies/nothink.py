"""Answer at once, without thinking."""

from thinkcap.core.flow import Flow, ask
from thinkcap.core.types import Answer, Question, Request


def nothink(question: Question, cap: int) -> Flow:
    answer = yield from ask(Request(question, "nothink", cap, stage="answer", shown="answer", final=True))
    return Answer(answer.answer, stage="answer", completion=answer)
