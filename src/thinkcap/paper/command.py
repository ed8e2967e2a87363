"""The paper command without its command line: options in, lines to print out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.core.names import nearest
from thinkcap.paper.presets import PRESETS
from thinkcap.paper.published import beside
from thinkcap.paper.published import read as read_published
from thinkcap.paper.tables.catalogue import FIGURES, TABLES, make
from thinkcap.report.files import table_text, write_figures, write_these
from thinkcap.report.material import is_run, load


def paper(
    paths: Sequence[Path],
    *,
    tables: Sequence[str] = (),
    figures: Sequence[str] = (),
    listed: bool = False,
    form: str = "markdown",
    out: Path | None = None,
    published: Path | None = None,
    audit: bool = False,
    as_json: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    if listed:
        yield from ("tables:", *(f"  {name}: {entry.shape.title}" for name, entry in TABLES.items()))
        yield from ("figures:", *(f"  {name}" for name in FIGURES))
        yield from ("presets of `thinkcap study`:", *(f"  {name}" for name in PRESETS))
        return
    if audit:
        yield _audit(paths, published, as_json)
        return
    for name in figures:
        if name not in FIGURES:
            raise ConfigError(f"unknown figure '{name}'{nearest(name, FIGURES)}")
    printed = None if published is None else read_published(published)
    material = load(paths, **(reading or {}))
    out = out or _folder(paths)
    made = [make(name, material) for name in tables or (() if figures else TABLES)]
    if printed is not None:
        made = [beside(table, printed) for table in made]
    if not tables and not figures:
        written = write_these(made, list(FIGURES.values()), material, out)
        yield f"{len(written.files)} files in {out / 'tables'} and {out / 'figures'}"
        yield from (f"{what}: {why}" for what, why in written.missing.items())
        return
    yield from (table_text(table, form) for table in made)
    for drawn in write_figures([FIGURES[name] for name in figures], material, out / "figures"):
        yield from (str(file) for file in drawn.files)
        if drawn.missing:
            yield f"{drawn.name}: not run ({drawn.missing})"


def _folder(paths: Sequence[Path]) -> Path:
    """Inside a run's own folder; here where there are several runs, or files of other tools."""
    return paths[0] / "paper" if len(paths) == 1 and is_run(paths[0]) else Path("paper")


def _audit(paths: Sequence[Path], published: Path | None, as_json: bool) -> str:
    from thinkcap.paper.audit.page import audited

    if published is None or len(paths) > 1:
        raise ConfigError("--audit needs --published FILE, and takes at most one folder of the authors' records")
    return audited(published, paths[0] if paths else None, as_json)
