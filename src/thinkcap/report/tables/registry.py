"""Every table by a name that says what it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.report.material import Material
from thinkcap.report.tables import effort, methods, modes, records, routes
from thinkcap.report.tables.modes import ShownBudgets
from thinkcap.report.tables.select import ModelTask, groups
from thinkcap.report.tables.table import Column, Table, TableRow, not_run

PerGroup = Callable[[ModelTask, ShownBudgets], list[TableRow]]
Overall = Callable[[Sequence[ModelTask], ShownBudgets], list[TableRow]]


@dataclass(frozen=True)
class TableShape:
    """What a table shows, and how its rows are made: for each group, or over all of them at once."""

    title: str
    columns: tuple[Column, ...]
    each: PerGroup | None = None
    overall: Overall | None = None


TABLES: Mapping[str, TableShape] = {
    "both-modes": TableShape("Both modes by budget", modes.SWEEP, modes.sweep),
    "loss-by-budget": TableShape("Thinking against no thinking, paired", modes.GAPS, modes.gaps),
    "loss-by-cause": TableShape("Accuracy from its parts, and the loss by cause", modes.CAUSES, modes.causes),
    "methods": TableShape("All methods by cost", methods.METHODS, methods.listed),
    "comparisons": TableShape("Methods compared on the same questions", methods.COMPARED, methods.compared),
    "by-level": TableShape("Accuracy by difficulty or group", effort.LEVELS, effort.levels),
    "wall-time": TableShape("How long answers take", effort.TIME, effort.times),
    "least-budget": TableShape("The smallest budget at which thinking is right", effort.TIERS, effort.tiers),
    "chain-ends": TableShape(
        "A chain that ended as a sign of a right answer", records.ORACLE, overall=records.stopping
    ),
    "cascade-stages": TableShape("IRIS: where answers come from", methods.STAGES, methods.by_stage),
    "cascade-budgets": TableShape("Cascades: first and second budget", routes.GRID, routes.grid),
    "unsettled-questions": TableShape(
        "Only the questions the first try did not settle", methods.HARD, methods.hard
    ),
    "wrong-answers": TableShape("Wrong answers by cause", methods.FAILED, methods.failed),
    "runs": TableShape("What was run", records.RUN, overall=records.accounted),
}


def make(name: str, material: Material) -> Table:
    """One table of these records; what they do not hold says 'not run'."""
    if name not in TABLES:
        raise ConfigError(f"unknown table '{name}'{nearest(name, TABLES)}")
    return fill(name, TABLES[name], groups(material), material)


def make_all(material: Material) -> list[Table]:
    return [make(name, material) for name in TABLES]


def fill(
    name: str,
    shape: TableShape,
    found: Sequence[ModelTask],
    material: Material,
    *,
    chosen: ShownBudgets = (),
    wanted: str = "any run",
    notes: Sequence[str] = (),
) -> Table:
    """A shape filled with groups: their names in columns of their own where they are several."""
    notes = [*_criteria(found), *notes]
    if not found:
        return Table(name, shape.title, shape.columns, (not_run(shape.columns, wanted),), tuple(notes))
    if shape.overall is not None:
        return _finished(
            Table(name, shape.title, shape.columns, tuple(shape.overall(found, chosen))), notes, material
        )
    assert shape.each is not None
    parts = [(g, shape.each(g, chosen)) for g in found]
    if len(parts) == 1:
        group, made = parts[0]
        title = f"{shape.title}: {group.model or 'unnamed model'}, {group.task or 'unnamed task'}"
        return _finished(Table(name, title, shape.columns, tuple(_named(made, group))), notes, material)
    rows = [
        replace(row, cells=(g.model or "not stored", g.task or "not stored", *row.cells))
        for g, made in parts
        for row in _named(made, g)
    ]
    columns = (Column("model"), Column("benchmark"), *shape.columns)
    return _finished(Table(name, shape.title, columns, tuple(rows)), notes, material)


def _named(rows: Sequence[TableRow], group: ModelTask) -> list[TableRow]:
    return [replace(row, key={"model": group.model, "task": group.task, **row.key}) for row in rows]


def _criteria(found: Sequence[ModelTask]) -> list[str]:
    """What 'ended' means here: printed with every table, since two meanings are in use."""
    seen = {a.criterion for g in found for a in g.single if a.ended is not None}
    return [f"ended: {' / '.join(sorted(seen))}"] if seen else []


def _finished(table: Table, notes: Sequence[str], material: Material) -> Table:
    """With its notes, and rows from other hardware than most marked."""
    homes = [{material.hardware(a) for a in row.arms} - {""} for row in table.rows]
    counted: dict[str, int] = {}
    for home in homes:
        for hardware in home:
            counted[hardware] = counted.get(hardware, 0) + 1
    if len(counted) < 2:
        return replace(table, notes=tuple(notes))
    main = max(counted, key=lambda h: counted[h])
    flagged = frozenset(i for i, home in enumerate(homes) if home and home != {main})
    said = f"unmarked rows: {main}; marked: {', '.join(sorted(set(counted) - {main}))}"
    return replace(table, notes=(*notes, said), flagged=flagged)
