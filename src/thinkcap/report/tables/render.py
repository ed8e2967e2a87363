"""A table as Markdown, CSV or LaTeX (booktabs)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping

from thinkcap.report.tables.table import Table, plain

_LEFT = ("text",)
_MARK = "\N{DAGGER}"
_FORMULA = ("=", "+", "-", "@")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d+)?(e[+-]?\d+)?|inf|nan)?")
_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    _MARK: r"\textsuperscript{\dag}",
}


def _marked(table: Table) -> list[list[str]]:
    rows = table.texts()
    for at in table.flagged:
        rows[at][0] += f" {_MARK}"
    return rows


def _notes(table: Table) -> list[str]:
    flag = [f"{_MARK} measured on other hardware than the rest of the table"] if table.flagged else []
    return [*flag, *table.notes]


def markdown(table: Table) -> str:
    heads = [_cell(_head(c.name, c.kind)) for c in table.columns]
    rule = ["---" if c.kind in _LEFT else "---:" for c in table.columns]
    lines = [heads, rule, *([_cell(v) for v in row] for row in _marked(table))]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "".join(f"\n- {_cell(note)}" for note in _notes(table))
    title = _cell(table.title)
    return f"### {title}\n\n{body}\n{notes}\n" if notes else f"### {title}\n\n{body}\n"


def _cell(text: str) -> str:
    # A name may come from somebody's log: no escape of it reaches a terminal.
    return "".join(c if c.isprintable() else " " for c in text).replace("|", "\\|")


def _spreadsheet(text: str) -> str:
    """A spreadsheet runs what begins as a formula, unless a quote says it is text."""
    quiet = "".join(c if c.isprintable() else " " for c in text)
    return f"'{quiet}" if quiet.lstrip()[:1] in _FORMULA and not _NUMBER.fullmatch(quiet) else quiet


def _head(name: str, kind: str) -> str:
    units = {"percent": " (%)", "points": " (points)", "interval": " (%)"}
    return name + units.get(kind, "")


def as_csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads: list[str] = []
    for column in table.columns:
        heads += [f"{column.name} low", f"{column.name} high"] if column.kind == "interval" else [column.name]
    marks = ["other hardware"] if table.flagged else []
    writer.writerow([_spreadsheet(head) for head in heads + marks])
    for at, row in enumerate(table.rows):
        values: list[str] = []
        for value, column in zip(row.cells, table.columns, strict=True):
            values += plain(value, column.kind)
        values = [_spreadsheet(value) for value in values]
        writer.writerow(values + (["yes" if at in table.flagged else ""] if marks else []))
    return out.getvalue()


def latex(table: Table) -> str:
    def tex(text: str) -> str:
        return "".join(_TEX.get(c, c if c.isprintable() else " ") for c in text)

    spec = "".join("l" if c.kind in _LEFT else "r" for c in table.columns)
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{tex(table.title)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{spec}}}",
        r"\toprule",
        " & ".join(tex(_head(c.name, c.kind)) for c in table.columns) + r" \\",
        r"\midrule",
        *(" & ".join(tex(v) for v in row) + r" \\" for row in _marked(table)),
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\footnotesize {tex(note)}" for note in _notes(table)),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, tuple[Callable[[Table], str], str]] = {
    "markdown": (markdown, ".md"),
    "csv": (as_csv, ".csv"),
    "latex": (latex, ".tex"),
}
