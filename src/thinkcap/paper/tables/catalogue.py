"""The paper's 31 tables and 6 figures by their names there: a shape, and the subject the paper filled it with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.paper.tables import checks, forced, refinement, routing, scale
from thinkcap.paper.tables.subject import ANY, PaperSubject, joined, of_subject
from thinkcap.report.material import Material
from thinkcap.report.tables import effort, methods, modes, records, routes
from thinkcap.report.tables.registry import TableShape, fill
from thinkcap.report.tables.table import Table

FIGURES: Mapping[str, str] = {
    "accuracy-budget": "accuracy",
    "four-tiers": "tiers",
    "tax-by-size": "tax-by-model",
    "chain-lengths": "survival",
    "pareto": "pareto",
    "cascade-flow": "cascade",
}
"""The paper's figures and what `thinkcap report` calls them."""


@dataclass(frozen=True)
class PaperTable:
    shape: TableShape
    subject: PaperSubject = ANY
    pool: str = ""
    """A prefix of task names that are also shown as one."""


_8B, _27B, _32B, _DEEPSEEK = "qwen3-8b", "27b", "qwen3-32b", "deepseek"
_GSM, _MATH = "gsm8k", "math500"


def _on(model: str, task: str, *budgets: int, first: int = 0, sampled: bool = False) -> PaperSubject:
    return PaperSubject(model, task, budgets, first, sampled)


def _modes(title: str = "Both modes by budget") -> TableShape:
    return TableShape(title, modes.SWEEP, modes.sweep)


def _gaps(title: str) -> TableShape:
    return TableShape(title, modes.GAPS, modes.gaps)


def _grid(title: str, first_only: bool = False) -> TableShape:
    return TableShape(title, routes.GRID, routing.first_budget if first_only else routes.grid)


_FORCED = TableShape("Thinking with a forced answer", forced.PROJECTED, forced.projected)

TABLES: Mapping[str, PaperTable] = {
    "thinking-tax": PaperTable(_modes("Both modes under the same cap"), _on(_8B, _GSM, 256, 512)),
    "gsm8k-mrsd-full": PaperTable(
        TableShape("Refinement in rounds against what it refines", refinement.AGAINST, refinement.against),
        _on(_8B, _GSM),
    ),
    "compute-matched": PaperTable(
        TableShape("All methods by cost", methods.METHODS, refinement.by_cost), _on("", _MATH)
    ),
    "full-8b-200": PaperTable(
        _modes("Both modes, pilot of the first 200 questions"), _on(_8B, _GSM, 32, 64, 128, 256, 512, first=200)
    ),
    "full-8b-1319": PaperTable(_modes("Both modes, full set"), _on(_8B, _GSM, 128, 256, 512)),
    "27b-full": PaperTable(_FORCED, _on(_27B, _GSM, 128, 256, 512)),
    "bthink-ablation": PaperTable(
        TableShape("The thinking budget of IRIS: where answers come from", methods.STAGES, methods.by_stage),
        _on("", _MATH),
    ),
    "escalated-ablation": PaperTable(
        TableShape("Only the questions the first try did not settle", methods.HARD, methods.hard), _on(_8B, _MATH)
    ),
    "qwen3-32b-a800": PaperTable(
        _gaps("Both modes on hold-out questions, paired"), _on(_32B, _GSM, 512, 1024, 2048)
    ),
    "deepseek-gsm8k": PaperTable(_FORCED, _on(_DEEPSEEK, _GSM, 256, 512, 1024)),
    "deepseek-math500": PaperTable(_FORCED, _on(_DEEPSEEK, _MATH, 1024, 2048, 4096)),
    "sampling-pilot": PaperTable(_modes("Both modes when sampled"), _on(_8B, _GSM, 256, sampled=True)),
    "town-ablation": PaperTable(_grid("The first budget of a cascade", True), _on(_8B, _GSM, 128, 256, 512)),
    "town-grid": PaperTable(_grid("Cascades: first and second budget"), _on(_8B, _GSM, 128, 256, 512, 1024, 2048)),
    "math500-level": PaperTable(
        TableShape("Accuracy by difficulty", effort.LEVELS, effort.levels), _on(_8B, _MATH)
    ),
    "math500-full": PaperTable(_modes(), _on(_8B, _MATH, 256, 512, 1024, 2048)),
    "math500-tax-full": PaperTable(_gaps("The tax by budget, paired"), _on(_8B, _MATH, 128, 256, 512, 1024, 2048)),
    "fairness": PaperTable(
        TableShape("Is the loss an artefact of the cap?", checks.FAIR, checks.fair), _on(_8B, _GSM, 256)
    ),
    "routing_baselines": PaperTable(
        TableShape("Who should think: baselines of a router", routing.ROUTERS, routing.routers),
        _on(_8B, _GSM, 256, 512),
    ),
    "theory-verification": PaperTable(
        TableShape("Accuracy from its parts, and the loss by cause", modes.CAUSES, modes.causes)
    ),
    "27b-both-modes": PaperTable(_modes(), _on(_27B, _GSM, 128, 256, 512)),
    "27b-multiseed": PaperTable(
        TableShape("IRIS and TOWN over seeds", checks.SEEDS, checks.by_seed), _on(_27B, _MATH)
    ),
    "bbh-full": PaperTable(
        _gaps("The tax over all tasks and for each"), _on("", "bbh", 256, 512, 1024, 2048), pool="bbh"
    ),
    "experiment-accounting": PaperTable(TableShape("What was run", records.RUN, overall=records.accounted)),
    "failure-modes": PaperTable(
        TableShape("Wrong answers by cause", methods.FAILED, methods.failed), _on(_8B, _MATH, first=100)
    ),
    "improved-iris": PaperTable(
        TableShape("IRIS with the stronger answer pass", refinement.IMPROVED, refinement.improved)
    ),
    "main-results": PaperTable(TableShape("Main results", methods.METHODS, refinement.main)),
    "token-utilization": PaperTable(TableShape("How much of the cap is used", scale.USED, scale.used)),
    "efficiency-frontier": PaperTable(
        TableShape("The smallest budget at which thinking is right", effort.TIERS, effort.tiers),
        _on(_8B, _GSM, 128, 256, 512),
    ),
    "model-size-scaling": PaperTable(TableShape("The tax by model", scale.SIZES, overall=scale.sizes)),
    "natural-stop-oracle": PaperTable(
        TableShape("Ending by itself as a sign of a right answer", records.ORACLE, overall=records.stopping)
    ),
}


def make(name: str, material: Material) -> Table:
    """One table of these records; what they do not hold says 'not run'."""
    if name not in TABLES:
        raise ConfigError(f"unknown table '{name}'{nearest(name, TABLES)}")
    entry = TABLES[name]
    found, meant = of_subject(material, entry.subject)
    said = entry.subject.said
    pool = joined(found, entry.pool) if entry.pool else None
    notes = (
        [f"these records hold nothing for {said}; the table shows what they hold"] if said and not meant else []
    )
    return fill(
        name,
        entry.shape,
        [pool, *found] if pool else found,
        material,
        chosen=entry.subject.budgets if meant else (),
        wanted=said or "any run",
        notes=notes if found else (),
    )


def make_all(material: Material) -> list[Table]:
    return [make(name, material) for name in TABLES]
