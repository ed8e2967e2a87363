"""Every table by its name in the paper: a shape, and the subject the paper filled it with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.report.material import Material
from thinkcap.report.tables import checks, effort, methods, models, modes, routes
from thinkcap.report.tables.select import Group, Want, groups, joined
from thinkcap.report.tables.table import NOT_RUN, Column, Row, Table

PerGroup = Callable[[Group, Want], list[Row]]
Overall = Callable[[Sequence[Group], Want], list[Row]]

_ANY = Want()


@dataclass(frozen=True)
class Spec:
    title: str
    columns: tuple[Column, ...]
    shape: PerGroup | None = None
    overall: Overall | None = None
    """For tables over all groups at once."""
    want: Want = _ANY
    measure: str = "acc"
    pool: str = ""
    """A prefix of task names that are also shown as one."""
    warm: bool = False
    """Needs sampling above temperature 0."""


_8B = r"qwen3-8b"
_27B = r"27b"
_GSM, _MATH = "gsm8k", "math500"


def _want(model: str, task: str, *budgets: int, first: int = 0) -> Want:
    size = {
        _8B: "Qwen3-8B",
        _27B: "Qwen3.5-27B",
        r"qwen3-32b": "Qwen3-32B",
        r"deepseek": "DeepSeek-R1-Distill-Llama-8B",
    }
    return Want(model, task, budgets, first, f"{size.get(model, 'any model')} on {task or 'any task'}")


TABLES: Mapping[str, Spec] = {
    "thinking-tax": Spec(
        "Both modes under the same cap", modes.SWEEP, modes.sweep, want=_want(_8B, _GSM, 256, 512)
    ),
    "gsm8k-mrsd-full": Spec(
        "Refinement in rounds against what it refines", methods.AGAINST, methods.against, want=_want(_8B, _GSM)
    ),
    "compute-matched": Spec(
        "All methods by what they cost", methods.METHODS, methods.listed, want=_want("", _MATH)
    ),
    "full-8b-200": Spec(
        "Both modes, pilot of the first 200 questions",
        modes.SWEEP,
        modes.sweep,
        want=_want(_8B, _GSM, 32, 64, 128, 256, 512, first=200),
    ),
    "full-8b-1319": Spec("Both modes, full set", modes.SWEEP, modes.sweep, want=_want(_8B, _GSM, 128, 256, 512)),
    "27b-full": Spec(
        "Thinking with a forced answer",
        modes.PROJECTED,
        modes.projected,
        want=_want(_27B, _GSM, 128, 256, 512),
    ),
    "bthink-ablation": Spec(
        "The thinking budget of IRIS: where answers come from",
        methods.STAGES,
        methods.by_stage,
        want=_want("", _MATH),
    ),
    "escalated-ablation": Spec(
        "Only the questions the first try did not settle", methods.HARD, methods.hard, want=_want(_8B, _MATH)
    ),
    "qwen3-32b-a800": Spec(
        "Both modes on hold-out questions, paired",
        modes.GAPS,
        modes.gaps,
        want=_want(r"qwen3-32b", _GSM, 512, 1024, 2048),
        measure="gap",
    ),
    "deepseek-gsm8k": Spec(
        "Thinking with a forced answer",
        modes.PROJECTED,
        modes.projected,
        want=_want(r"deepseek", _GSM, 256, 512, 1024),
    ),
    "deepseek-math500": Spec(
        "Thinking with a forced answer",
        modes.PROJECTED,
        modes.projected,
        want=_want(r"deepseek", _MATH, 1024, 2048, 4096),
    ),
    "sampling-pilot": Spec(
        "Both modes when sampled", modes.SWEEP, modes.sweep, want=_want(_8B, _GSM, 256), warm=True
    ),
    "town-ablation": Spec(
        "The first budget of a cascade", routes.GRID, routes.first_budget, want=_want(_8B, _GSM, 128, 256, 512)
    ),
    "town-grid": Spec(
        "Cascades: first and second budget",
        routes.GRID,
        routes.grid,
        want=_want(_8B, _GSM, 128, 256, 512, 1024, 2048),
    ),
    "math500-level": Spec("Accuracy by difficulty", effort.LEVELS, effort.levels, want=_want(_8B, _MATH)),
    "math500-full": Spec(
        "Both modes by budget", modes.SWEEP, modes.sweep, want=_want(_8B, _MATH, 256, 512, 1024, 2048)
    ),
    "math500-tax-full": Spec(
        "The tax by budget, paired",
        modes.GAPS,
        modes.gaps,
        want=_want(_8B, _MATH, 128, 256, 512, 1024, 2048),
        measure="gap",
    ),
    "fairness": Spec("Is the loss an artefact of the cap?", checks.FAIR, checks.fair, want=_want(_8B, _GSM, 256)),
    "routing_baselines": Spec(
        "Who should think: baselines of a router", routes.ROUTERS, routes.routers, want=_want(_8B, _GSM, 256, 512)
    ),
    "theory-verification": Spec(
        "Accuracy from its parts, and the loss by cause", modes.CAUSES, modes.causes, measure="observed"
    ),
    "27b-both-modes": Spec(
        "Both modes by budget", modes.SWEEP, modes.sweep, want=_want(_27B, _GSM, 128, 256, 512)
    ),
    "27b-multiseed": Spec(
        "IRIS and TOWN over seeds", checks.SEEDS, checks.by_seed, want=_want(_27B, _MATH), measure="iris"
    ),
    "bbh-full": Spec(
        "The tax over all tasks and for each",
        modes.GAPS,
        modes.gaps,
        want=_want("", "bbh", 256, 512, 1024, 2048),
        pool="bbh",
        measure="gap",
    ),
    "experiment-accounting": Spec("What was run", models.RUN, overall=models.accounted, measure="n"),
    "failure-modes": Spec(
        "Wrong answers by cause", checks.FAILED, checks.failed, want=_want(_8B, _MATH, first=100), measure="count"
    ),
    "improved-iris": Spec(
        "IRIS with the stronger answer pass", methods.IMPROVED, methods.improved, measure="improved"
    ),
    "main-results": Spec("Main results", methods.METHODS, methods.main),
    "token-utilization": Spec("How much of the cap is used", effort.USED, effort.used, measure="used"),
    "efficiency-frontier": Spec(
        "The least budget at which thinking is right",
        effort.TIERS,
        effort.tiers,
        want=_want(_8B, _GSM, 128, 256, 512),
        measure="count",
    ),
    "model-size-scaling": Spec("The tax by model", models.SIZES, overall=models.sizes, measure="tax"),
    "natural-stop-oracle": Spec(
        "Ending by itself as a sign of a right answer", models.ORACLE, overall=models.stopping, measure="rate"
    ),
}


def make(name: str, material: Material) -> Table:
    """One table of these records; what they do not hold says 'not run'."""
    if name not in TABLES:
        raise ConfigError(f"unknown table '{name}'{nearest(name, TABLES)}")
    spec = TABLES[name]
    if spec.warm:
        material = _sampled(material)
    found, meant = groups(material, spec.want)
    want = spec.want if meant else _ANY
    notes = list(_criteria(found))
    if spec.want.said and not meant and found:
        notes.append(f"the paper's subject, {spec.want.said}, is not in these records; this is what is")
    if not found:
        wanted = spec.want.said or "any run"
        rows = [
            Row((f"{wanted}, temperature above 0" if spec.warm else wanted, *[NOT_RUN] * (len(spec.columns) - 1)))
        ]
        return Table(name, spec.title, spec.columns, tuple(rows), tuple(notes), measure=spec.measure)
    if spec.overall is not None:
        return _finished(name, spec, spec.title, spec.columns, spec.overall(found, want), notes, material)
    assert spec.shape is not None
    pool = joined(found, spec.pool) if spec.pool else None
    parts = [(g, spec.shape(g, want)) for g in ([pool, *found] if pool else found)]
    if len(parts) == 1:
        group, made = parts[0]
        rows = [replace(row, key={"model": group.model, **row.key}) for row in made]
        return _finished(name, spec, f"{spec.title}: {_subject(group)}", spec.columns, rows, notes, material)
    rows = [
        replace(
            row,
            cells=(g.model or "not stored", g.task or "not stored", *row.cells),
            key={**row.key, "model": g.model},
        )
        for g, made in parts
        for row in made
    ]
    columns = (Column("model"), Column("benchmark"), *spec.columns)
    return _finished(name, spec, spec.title, columns, rows, notes, material)


def make_all(material: Material) -> list[Table]:
    return [make(name, material) for name in TABLES]


def _subject(group: Group) -> str:
    return f"{group.model or 'unnamed model'}, {group.task or 'unnamed task'}"


def _sampled(material: Material) -> Material:
    arms = tuple(a for a in material.records.arms if (material.temperature(a) or 0) > 0)
    return replace(material, records=replace(material.records, arms=arms))


def _criteria(found: Sequence[Group]) -> list[str]:
    """What 'ended' means here: printed with every table, since two meanings are in use."""
    seen = {a.criterion for g in found for a in g.single if a.ended is not None}
    return [f"ended: {' / '.join(sorted(seen))}"] if seen else []


def _finished(
    name: str,
    spec: Spec,
    title: str,
    columns: tuple[Column, ...],
    rows: Sequence[Row],
    notes: list[str],
    material: Material,
) -> Table:
    homes = [{material.hardware(a) for a in row.arms} - {""} for row in rows]
    counted: dict[str, int] = {}
    for home in homes:
        for hardware in home:
            counted[hardware] = counted.get(hardware, 0) + 1
    flagged: frozenset[int] = frozenset()
    if len(counted) > 1:
        main = max(counted, key=lambda h: counted[h])
        flagged = frozenset(i for i, home in enumerate(homes) if home and home != {main})
        notes.append(f"unmarked rows: {main}; marked: {', '.join(sorted(set(counted) - {main}))}")
    return Table(name, title, columns, tuple(rows), tuple(notes), flagged, spec.measure)
