"""Think and answer in one stream under one cap: what everybody does, and what the tax is measured on.

A chain that was cut is read in one of three ways, and the row says which: `none` (nothing is read out of an
open thought), `heuristic` (the best guess from the text so far), `projection` (a few more tokens are forced).
"""

from collections.abc import Mapping
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, ask
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question
from thinkcap.policies import stages
from thinkcap.policies.facts import Declared, Facts

PIPELINES = ("none", "heuristic", "projection")


def think(
    question: Question,
    cap: int,
    *,
    pipeline: str = "none",
    budget: int | None = None,
    project: int = 32,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """Think and answer in one stream under one cap.

        0                                                 cap
        |thought ...............................|answer   |   the thought ended: an answer follows
        |thought .........................................|   it did not: the cap is spent, no answer

    This is what most deployments do, and what the coupling tax is measured on.
    Use it where the cap is far beyond the length of nearly every thought; below that it returns empty answers.
    `pipeline` says how a cut thought is read: `none` (not at all), `heuristic` (the best guess in its text) or
    `projection` (`project` tokens are set aside to force an answer). `budget` fixes the tokens of the thought.
    """
    if pipeline not in PIPELINES:
        raise ConfigError(f"unknown pipeline '{pipeline}'{nearest(pipeline, PIPELINES)}")
    keep = min(project, cap // 2) if pipeline == "projection" else 0
    thinking = stages.thinking(question, budget or cap - keep, keep=keep, shown="answer")
    chain = yield from ask(thinking)
    if chain.ended or pipeline == "none":
        return Answer(chain.answer, stage="think", completion=chain)
    if pipeline == "heuristic":
        return Answer(stages.tagged(chain), stage="think", completion=chain, guess=True)
    if chain.answer is not None and 1 <= stages.read(question, chain.answer).level <= 3:
        return Answer(chain.answer, stage="think", completion=chain)
    rest = yield from ask(stages.in_band(question, chain, keep, prompts.project, "project"))
    return Answer(stages.answer_of(chain, rest), stage="project", completion=rest)


def think_heuristic(question: Question, cap: int) -> Flow:
    """`think`, but a cut thought is searched for a guess.

        0                                                 cap
        |thought .........................................|   cut: the best guess in its text

    No further tokens are spent. The guess is often an intermediate result.
    Use it to see how much of an answer a cut thought already holds; it is the paper's reading of `think`.
    """
    return think(question, cap, pipeline="heuristic")


def think_projection(
    question: Question,
    cap: int,
    *,
    budget: int | None = None,
    project: int = 32,
    prompts: Prompts = PROMPTS,
) -> Flow:
    """`think`, but a cut thought is made to give an answer.

        0                                   cap - 32      cap
        |thought ...........................|</think>     |   cut: "The final answer: ..."

    Where the cap cuts the thought, it is closed, "The final answer:" is forced after it, and `project` tokens (32)
    complete that sentence. Use it for short answers of a known kind; `close` leaves the words to the model.
    `budget` fixes the tokens of the thought.
    """
    return think(question, cap, pipeline="projection", budget=budget, project=project, prompts=prompts)


_PIPELINES = {
    "none": Facts(chain=("think",), needs_nothink=False, answer_pass=False, one_call=True, plain="think"),
    "heuristic": Facts(
        chain=("think",), needs_kind=True, needs_nothink=False, answer_pass=False, one_call=True, plain="think"
    ),
    "projection": Facts(chain=("think",), then=("project",), may_be_empty=False, needs_nothink=False),
}


def by_pipeline(options: Mapping[str, Any]) -> Facts:
    # A wrong name is refused where the policy runs.
    return _PIPELINES.get(options["pipeline"], Facts())


FACTS: Declared = {
    "think": by_pipeline,
    "think_heuristic": _PIPELINES["heuristic"],
    "think_projection": _PIPELINES["projection"],
}
