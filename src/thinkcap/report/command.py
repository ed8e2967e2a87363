"""The report command without its command line: options in, lines to print out."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkcap.core.errors import ConfigError
from thinkcap.report.explorer.page import write_page
from thinkcap.report.figures import NAMES
from thinkcap.report.files import table_text, write_all, write_figures
from thinkcap.report.material import is_run, load
from thinkcap.report.tables import TABLES, make


def report(
    paths: Sequence[Path],
    *,
    tables: Sequence[str] = (),
    figures: Sequence[str] = (),
    everything: bool = False,
    listed: bool = False,
    form: str = "markdown",
    out: Path | None = None,
    compare: Path | None = None,
    picture: Path | None = None,
    show: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    if listed:
        yield from ("tables:", *(f"  {name}: {spec.title}" for name, spec in TABLES.items()))
        yield from ("figures:", *(f"  {name}" for name in NAMES))
        return
    if compare is not None and not is_run(compare):
        raise ConfigError(f"'{compare}' does not hold a finished study; --compare takes the folder of one")
    print_only = tables or figures or picture
    if not (print_only or everything) and all(map(is_run, paths)):
        # The page reads its run itself, and nothing else is asked for.
        yield from _explorer(paths, compare, show, everything)
        return
    material = load([*paths, *([compare] if compare else [])], **(reading or {}))
    folder = out or (paths[0] if is_run(paths[0]) else Path("report"))
    for name in tables:
        yield table_text(make(name, material), form)
    if figures:
        for drawn in write_figures(figures, material, folder / "figures"):
            yield from (str(file) for file in drawn.files)
            if drawn.missing:
                yield f"{drawn.name}: not run ({drawn.missing})"
    if picture:
        from thinkcap.report.picture import write_picture

        yield str(write_picture(material, picture))
    if everything:
        written = write_all(material, folder)
        yield f"{len(written.files)} files in {folder / 'tables'} and {folder / 'figures'}"
        yield from (f"{what}: {why}" for what, why in written.missing.items())
    if print_only and not show and compare is None:
        return
    yield from _explorer(paths, compare, show, everything)


def _explorer(paths: Sequence[Path], compare: Path | None, show: bool, everything: bool) -> Iterator[str]:
    runs = [p for p in paths if is_run(p)]
    if not runs:
        if show or compare is not None or not everything:
            raise ConfigError(
                f"'{paths[0]}' is not the folder of a study, and the explorer shows studies; "
                f"for other logs choose --table NAME, --figure NAME or --all (names: --list)"
            )
        return
    for run in runs:
        page = write_page(run, compare=compare)
        yield str(page)
        if show:
            webbrowser.open(page.resolve().as_uri())
