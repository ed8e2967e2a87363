"""One row per question x policy x budget x seed: what was asked, what came out and what it cost.

row = make_row(cell, outcome, engine.card, prompts=PROMPTS.hash)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from thinkcap.core.engine import EngineCard
from thinkcap.core.types import GREEDY, Failed, Graded, Outcome, Request, Sampling, Step
from thinkcap.grading import Grader
from thinkcap.policies.facts import Facts
from thinkcap.policies.registry import facts
from thinkcap.study.plan import Cell, Key

KEPT_CHARACTERS = 4000
RENAMED = {"tokens_reread": "tokens_prefill_trace"}
"""Fields, with the names under which earlier runs hold them."""
Line = TypeVar("Line", bound=msgspec.Struct)


class StageRow(msgspec.Struct, frozen=True, array_like=True):
    """What one call of a flow got and cost."""

    stage: str
    budget: int
    charged: int
    generated: int
    reread: int
    prompt: int
    ended: bool
    origin: str


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The few fields of a row that say which it is and whether it is still to be done."""

    task: str
    question: str
    policy: str
    budget: int
    seed: int
    failed: bool
    grader: str
    prompts: str

    @property
    def key(self) -> Key:
        return (self.task, self.question, self.policy, self.budget, self.seed)


class Row(State, frozen=True, kw_only=True):
    group: str
    model: str
    verdict: str | None
    """right, wrong, unreadable; None where the run failed."""
    error: str | None
    gold_hash: str
    answer: str | None
    level: int
    text: str | None
    """The words the answer was read from, where short enough to keep, so that regrading needs no model."""
    guess: bool
    ended: bool
    """The chain this policy lives on (its last pass before any extraction) reached its end-of-turn token."""
    tokens_charged: int
    tokens_generated: int
    tokens_think: int
    tokens_reread: int
    tokens_prompt: int
    calls: int
    stage: str
    stages: tuple[StageRow, ...]
    source: str
    notes: dict[str, Any]
    claims: dict[str, int]
    """Stored traces this row was the first to use, so that tokens are counted once after a restart too."""
    temperature: float = 0.0
    top_p: float = 1.0
    """How the run was sampled; a policy that draws samples of its own sets its own."""
    dialect: str = ""
    """How the model marks its thoughts, by name or by its marks, and how that was found."""
    dialect_by: str = ""


def stands(row: State, grader: str, prompts: str) -> bool:
    """A row counts as done unless it failed, or another grader or other prompts made it."""
    return not row.failed and row.grader == grader and row.prompts == prompts


def make_row(cell: Cell, outcome: Outcome, card: EngineCard, *, prompts: str, sampling: Sampling = GREEDY) -> Row:
    steps = steps_of(outcome)
    graded = outcome if isinstance(outcome, Graded) else None
    declared = facts(cell.spec)
    stages, claims, origins, ended = [], {}, set(), False
    charged = generated = thought = reread = read = 0
    for step in steps:
        asked, got = step.request, step.completion
        cost = got.tokens + got.forced
        stages.append(
            StageRow(
                asked.stage,
                asked.budget,
                cost,
                got.generated,
                got.reread,
                got.prompt_tokens,
                got.ended,
                got.origin,
            )
        )
        charged, generated, thought = charged + cost, generated + got.generated, thought + got.think_tokens
        reread, read = reread + got.reread, read + got.prompt_tokens - got.reread
        origins.add("online" if got.origin == "fresh" else "derived")
        if got.claim:
            claims[got.claim[0]] = got.claim[1]
        if _in_chain(asked, declared):
            # An extraction ends for its own reasons; what a cap cuts is the chain before it.
            ended = got.ended
    return Row(
        task=cell.task.name,
        question=cell.question.id,
        group=cell.question.group,
        model=card.model,
        policy=cell.spec.label,
        budget=cell.budget,
        seed=cell.seed,
        verdict=graded.verdict if graded else None,
        failed=graded is None,
        error=f"{type(outcome.error).__name__}: {outcome.error}" if isinstance(outcome, Failed) else None,
        gold_hash=cell.task.gold_hash(cell.question.id),
        answer=graded.answer if graded else None,
        level=graded.level if graded else 0,
        text=_kept(graded.run.answer.text) if graded else None,
        guess=graded.run.answer.guess if graded else False,
        ended=ended,
        tokens_charged=charged,
        tokens_generated=generated,
        tokens_think=thought,
        tokens_reread=reread,
        tokens_prompt=read,
        calls=len(stages),
        stage=graded.run.answer.stage if graded else "",
        stages=tuple(stages),
        source=_source(origins, declared),
        grader=Grader.version,
        prompts=prompts,
        notes=dict(graded.run.answer.notes) if graded and graded.run.answer.notes else {},
        claims=claims,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        dialect=card.dialect_shown,
        dialect_by=card.dialect_by,
    )


def steps_of(outcome: Outcome) -> Sequence[Step]:
    """The calls of a flow, those before a failure included."""
    return outcome.run.steps if isinstance(outcome, Graded) else outcome.steps


def _kept(text: str | None) -> str | None:
    return text if text is not None and len(text) <= KEPT_CHARACTERS else None


def _in_chain(request: Request, declared: Facts) -> bool:
    if declared.chain:
        return request.stage in declared.chain or request.stage.rstrip("0123456789") in declared.chain
    return not request.inserts and not request.prefill


def _source(origins: set[str], declared: Facts) -> str:
    if "derived" not in origins:
        return "online"
    return "mixed" if declared.adaptive or len(origins) > 1 else "derived"
