"""Think and answer in one stream under one cap: what everybody does, and what the tax is measured on.

A chain that was cut is read in one of three ways, and the row says which: `none` (nothing is read out of an
open thought), `heuristic` (the best guess from the text so far), `projection` (a few more tokens are forced).
"""

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import Flow, ask
from thinkcap.core.names import nearest
from thinkcap.core.prompts import PROMPTS, Prompts
from thinkcap.core.types import Answer, Question
from thinkcap.policies import stages

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
    """`project` tokens are set aside for the projection; `budget` fixes the thinking share instead."""
    if pipeline not in PIPELINES:
        raise ConfigError(f"unknown pipeline '{pipeline}'{nearest(pipeline, PIPELINES)}")
    keep = min(project, cap // 2) if pipeline == "projection" else 0
    chain = yield from ask(stages.thinking(question, budget or cap - keep, keep=keep, shown="answer"))
    if chain.ended or pipeline == "none":
        return Answer(chain.answer, stage="think", completion=chain)
    if pipeline == "heuristic":
        return Answer(chain.text, stage="think", completion=chain, guess=True)
    if chain.answer is not None and 1 <= stages.read(question, chain.answer).level <= 3:
        return Answer(chain.answer, stage="think", completion=chain)
    rest = yield from ask(stages.in_band(question, chain, keep, prompts.project, "project"))
    return Answer((chain.answer or "") + rest.text, stage="project", completion=rest)


def think_heuristic(question: Question, cap: int) -> Flow:
    return think(question, cap, pipeline="heuristic")


def think_projection(
    question: Question,
    cap: int,
    *,
    budget: int | None = None,
    project: int = 32,
    prompts: Prompts = PROMPTS,
) -> Flow:
    return think(question, cap, pipeline="projection", budget=budget, project=project, prompts=prompts)
