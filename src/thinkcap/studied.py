"""What `thinkcap.study` gives back: the summary to read, tables to work with, figures, and a view for notebooks.

    result = thinkcap.study(limit=20)
    result["cells"]; result.frame(); result.plot(); print(result)

Heavy packages are asked for only when they are used.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from thinkcap.core.errors import ConfigError
from thinkcap.core.extras import extra
from thinkcap.core.names import nearest
from thinkcap.notebook import show_figures
from thinkcap.shown import heading, percent, result_text, tasks

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.figure import Figure

    from thinkcap.study.rows import Row

Library = Literal["pandas", "polars"]


@dataclass(frozen=True, eq=False, repr=False)
class Studied(Mapping[str, Any]):
    """A finished study: its folder and the summary beside its rows, whose keys it has itself."""

    folder: Path
    summary: dict[str, Any]
    given: Sequence[Row] | None = field(default=None, repr=False)

    def __getitem__(self, key: str) -> Any:
        return self.summary[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.summary)

    def __len__(self) -> int:
        return len(self.summary)

    def __str__(self) -> str:
        return result_text(self.summary, self.folder)

    def __repr__(self) -> str:
        return f"<study '{self.folder}': {self.summary['rows']:,} rows, {self.failed:,} failed>"

    @property
    def failed(self) -> int:
        """Rows without an answer to grade: they count as nothing, not as wrong."""
        return int(self.summary["failed"])

    @property
    def report(self) -> Path:
        """The page to look at and to send."""
        return self.folder / "report.html"

    @cached_property
    def rows(self) -> Sequence[Row]:
        """Every row, each read when it is asked for; `frame("rows")` has them as a table."""
        if self.given is not None:
            return self.given
        from thinkcap.study.config import StudyConfig
        from thinkcap.study.journal import Rows, standing
        from thinkcap.study.plan import plan

        config = StudyConfig.from_file(self.folder / "study.toml")
        cells, journal = plan(config), self.folder / "rows.jsonl"
        return Rows(journal, cells, standing(journal, cells, config.prompts.hash), config.prompts.hash)

    @cached_property
    def headline(self) -> str:
        """What a diagnosis of this run says first."""
        from thinkcap.diagnose.diagnosis import diagnose
        from thinkcap.logs import read
        from thinkcap.study.columns import MOST_BYTES
        from thinkcap.verdict.say import say

        if self.failed == self.summary["rows"]:
            return ""
        return say(diagnose(read([self.folder], memory=MOST_BYTES))).headline

    @overload
    def frame(self, of: Literal["cells", "rows"] = ..., library: None = ...) -> Any: ...
    @overload
    def frame(self, of: Literal["cells", "rows"] = ..., *, library: Literal["pandas"]) -> pandas.DataFrame: ...
    @overload
    def frame(self, of: Literal["cells", "rows"] = ..., *, library: Literal["polars"]) -> polars.DataFrame: ...
    def frame(self, of: Literal["cells", "rows"] = "cells", library: Library | None = None) -> Any:
        """A line for each task, policy and cap, or (`"rows"`) for each answer, in pandas or polars.

        Whichever is installed; pandas where both are and none is named.
        """
        if of not in ("cells", "rows"):
            raise ConfigError(f"unknown frame '{of}'{nearest(of, ('cells', 'rows'))}")
        library = library or _installed()
        if of == "cells":
            lines = [_flat(cell) for cell in self.summary["cells"]]
            # Prices and seeds are in some cells only where runs differ; every line has every column.
            names = dict.fromkeys(name for line in lines for name in line)
            columns = {name: [line.get(name) for line in lines] for name in names}
            return _made(library, columns)
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.folder / "rows.parquet") as file:
            return _made(library, file.read())

    def plot(self, name: str = "accuracy", *, task: str | None = None) -> Figure:
        """A figure of `thinkcap report --list`, of the first task where none is named."""
        from thinkcap.diagnose.diagnosis import diagnose
        from thinkcap.report.figures import FIGURES, subjects
        from thinkcap.report.material import load

        if name not in FIGURES:
            raise ConfigError(f"unknown figure '{name}'{nearest(name, FIGURES)}")
        with extra("figures", "drawing a figure"):
            import matplotlib  # noqa: F401
        show_figures()
        material = load([self.folder])
        drawn = {subject.found.task: subject for subject in subjects(material, diagnose(material.records))}
        if task is not None and task not in drawn:
            raise ConfigError(f"no task '{task}' in this study{nearest(task, drawn)}")
        if not drawn:
            raise ConfigError(f"nothing to draw: no row of '{self.folder}' was graded")
        figure: Figure = FIGURES[name](drawn[task] if task is not None else next(iter(drawn.values())))
        return figure

    def _repr_html_(self) -> str:
        """For notebooks: the headline, one table per task, the path of the report."""
        parts = [f"<p><strong>{html.escape(self.headline)}</strong></p>"]
        for task in tasks(self.summary):
            cells = [cell for cell in self.summary["cells"] if cell["task"] == task]
            parts.append(f"<p>{html.escape(heading(cells))}</p>{_html_table(cells)}")
        failed = f"; {self.failed:,} rows failed and are not counted" if self.failed else ""
        parts.append(f"<p>report: <code>{html.escape(str(self.report))}</code>{failed}</p>")
        return "".join(parts)


def _installed() -> Library:
    for library in ("pandas", "polars"):
        if find_spec(library):
            return library
    raise ConfigError("a frame needs pandas or polars, but neither is installed; run: pip install pandas")


def _made(library: Library, table: Any) -> Any:
    """A frame from a dictionary of columns or from a table of Arrow."""
    try:
        if library == "pandas":
            import pandas

            return pandas.DataFrame(table) if isinstance(table, dict) else table.to_pandas()
        import polars

        return polars.DataFrame(table, strict=False) if isinstance(table, dict) else polars.from_arrow(table)
    except ModuleNotFoundError as err:
        raise ConfigError(f"'{library}' is not installed; run: pip install {library}") from err


def _flat(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell without anything nested: intervals as two columns, counts by stage as one text."""
    line: dict[str, Any] = {}
    for key, value in cell.items():
        if key == "ci":
            line["ci_low"], line["ci_high"] = value
        elif key == "stages":
            line[key] = ", ".join(f"{stage} {count}" for stage, count in value.items())
        elif key == "stops":
            line |= {f"stops_{name}": count for name, count in value.items()}
        else:
            line[key] = json.dumps(value) if isinstance(value, dict) else value
    return line


def _html_table(cells: Sequence[Mapping[str, Any]]) -> str:
    policies = list(dict.fromkeys(cell["policy"] for cell in cells))
    by = {(cell["policy"], cell["budget"]): percent(cell) for cell in cells}
    head = "".join(f"<th>{html.escape(policy)}</th>" for policy in policies)
    lines = "".join(
        f"<tr><th>{cap}</th>" + "".join(f"<td>{by.get((policy, cap), '-')}</td>" for policy in policies) + "</tr>"
        for cap in sorted({cell["budget"] for cell in cells})
    )
    return f"<table><thead><tr><th>cap, tokens</th>{head}</tr></thead><tbody>{lines}</tbody></table>"
