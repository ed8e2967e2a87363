"""What `thinkcap report` writes: tables, figures and the explorer of a run, or tables of anybody's logs.

write_all([Path("runs/study")], Path("runs/study/report"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thinkcap.core.errors import ConfigError
from thinkcap.core.files import replace_text
from thinkcap.core.names import nearest
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.report.figures import NAMES, Drawn, subjects, write
from thinkcap.report.material import Material
from thinkcap.report.tables import Table, make_all
from thinkcap.report.tables.render import FORMATS


@dataclass(frozen=True)
class Written:
    """What was written, and what these records do not allow."""

    files: tuple[Path, ...]
    missing: Mapping[str, str]


def table_text(table: Table, form: str) -> str:
    if form not in FORMATS:
        raise ConfigError(f"unknown format '{form}'{nearest(form, FORMATS)}")
    return FORMATS[form][0](table)


def write_tables(made: Sequence[Table], folder: Path) -> list[Path]:
    """Every table in every format."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in made:
        for write_as, suffix in FORMATS.values():
            path = folder / f"{table.name}{suffix}"
            replace_text(path, write_as(table))
            paths.append(path)
    return paths


def write_figures(names: Sequence[str], material: Material, folder: Path) -> list[Drawn]:
    drawn_of = subjects(material, diagnose(material.records))
    return [drawn for name in names for drawn in write(name, drawn_of, folder)]


def write_all(material: Material, folder: Path) -> Written:
    """`tables/` and `figures/` in the folder."""
    return write_these(make_all(material), NAMES, material, folder)


def write_these(made: Sequence[Table], figures: Sequence[str], material: Material, folder: Path) -> Written:
    paths = write_tables(made, folder / "tables")
    missing = {f"table {t.name}": "not run" for t in made if t.empty}
    for drawn in write_figures(figures, material, folder / "figures"):
        paths += drawn.files
        if drawn.missing:
            missing[f"figure {drawn.name}" + (f" ({drawn.subject})" if drawn.subject else "")] = drawn.missing
    return Written(tuple(paths), missing)
