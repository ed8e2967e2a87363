"""What a study will take at most, before a token is generated: tokens, what the store has, money."""

from __future__ import annotations

from dataclasses import dataclass

from thinkcap.core.errors import ConfigError
from thinkcap.study.config import StudyConfig
from thinkcap.study.folders import refuse_other
from thinkcap.study.journal import standing
from thinkcap.study.pace import cut_of
from thinkcap.study.plan import StudyPlan, plan
from thinkcap.study.values import FREE
from thinkcap.traces.store import TraceStore


@dataclass(frozen=True)
class Estimate:
    """`tokens_at_most` is a bound, not a guess: every chain runs to its cap."""

    questions: int
    rows: int
    rows_done: int
    tokens_at_most: int
    tokens_one_run_per_cell: int
    tokens_stored: int
    cost_at_most: float | None
    notes: tuple[str, ...] = ()
    """How files of questions were read, a line each."""


def estimate(config: StudyConfig) -> Estimate:
    cells = plan(config)
    folder = config.folder
    refuse_other(folder, config.to_mapping())
    finished = standing(folder / "rows.jsonl", cells, config.prompts.hash).done
    stored = 0
    if (folder / "traces.sqlite").exists():
        with TraceStore.open(folder / "traces.sqlite", None, readonly=True) as store:
            stored = store.contents().tokens
    tokens = _at_most(cells, shared=not config.online)
    cost = None
    if config.price != FREE:
        # Only output is bounded beforehand; prompts are small beside it and are in the final account.
        cost = config.price.of(fresh_input=0, cached_input=0, output=max(0, tokens - stored))
        if config.max_cost is not None and cost > config.max_cost:
            raise ConfigError(
                f"this study may cost up to {cost:.2f}, more than --max-cost {config.max_cost:g}; "
                f"lower --limit or --budgets, or raise --max-cost"
            )
    elif config.max_cost is not None:
        raise ConfigError("--max-cost needs a price; give --price INPUT,CACHED,OUTPUT per million tokens")
    return Estimate(
        questions=len(cells.asked),
        rows=len(cells),
        rows_done=int(finished.sum()),
        tokens_at_most=tokens,
        tokens_one_run_per_cell=_at_most(cells, shared=False),
        tokens_stored=stored,
        cost_at_most=cost,
        notes=tuple(dict.fromkeys(a.task.note for a in cells.asked if a.task.note)),
    )


def _at_most(cells: StudyPlan, *, shared: bool) -> int:
    """Tokens for one question under every policy and budget, times the questions."""
    longest: dict[str, int] = {}
    each = 0
    for spec, budget in cells.ways:
        mode = cut_of(spec)
        if shared and mode is not None:
            longest[mode] = max(longest.get(mode, 0), budget)
        else:
            each += budget
    return (each + sum(longest.values())) * len(cells.asked)
