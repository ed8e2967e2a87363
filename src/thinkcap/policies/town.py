"""TOWN: try without thinking; think, coupled, only where the try did not end in its budget."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thinkcap.core.flow import Flow, ask
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question
from thinkcap.policies import stages
from thinkcap.policies.facts import Declared, Facts
from thinkcap.policies.think import by_pipeline, think


def town(
    question: Question,
    cap: int,
    *,
    first: int | None = None,
    second: int | None = None,
    pipeline: str = "heuristic",
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Try without thinking; think only where the try does not end.

        0            first                                cap
        |probe ......|                                        ended: that is the answer
                     |thought ..................|answer   |   it did not: think with the rest

    A first try that does not fit its budget is a sign of a hard question.
    Use it for mixed traffic in which most questions are easy; hard ones pay for a wasted probe.
    `first` is the probe's budget (a quarter of the cap), `second` that of thinking (the rest); `pipeline` says
    how a cut thought is read, as in `think`, but is `heuristic` by default.
    """
    (first,) = stages.shares(cap, first, default=(0.25,))
    quick = yield from ask(stages.probe(question, first))
    if quick.ended:
        return Answer(quick.answer, stage="probe", completion=quick)
    return (yield from think(question, second or cap - first, pipeline=pipeline, prompts=prompts))


def town_plus(
    question: Question,
    cap: int,
    *,
    first: int | None = None,
    second: int | None = None,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """`town` with a stronger reader.

        0            first                                cap
        |probe ......|thought ..................|answer   |   a weak answer: read the whole thought

    Where the part after the thought holds no clear answer, the whole chain is searched for one; no token is added.
    Use it in place of `town` where the answer kind is known.
    """
    found = yield from town(question, cap, first=first, second=second, prompts=prompts)
    chain = found.completion
    if found.stage == "think" and chain is not None and stages.read(question, found.text).level in (0, 4):
        return Answer(chain.text, stage="think", completion=chain, guess=True)
    return found


def _after_a_probe(options: Mapping[str, Any]) -> Facts:
    # A try that ended needs no kind to be read; only the guess from a cut thought would.
    read = replace(by_pipeline(options), needs_kind=False, one_call=False, plain="")
    return replace(read, chain=("probe", "think"), needs_nothink=True, first_try=True, coupled=True)


FACTS: Declared = {
    "town": _after_a_probe,
    "town_plus": replace(_after_a_probe({"pipeline": "heuristic"}), needs_kind=True, looks_again=True),
}
