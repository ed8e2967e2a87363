"""`thinkcap report`: the explorer of a run, and tables and figures to cite, of runs and of anybody's logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thinkcap.cli import completing
from thinkcap.cli.logs import reads_logs
from thinkcap.cli.terminal import say
from thinkcap.core.errors import ConfigError


@click.command("report")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Print a table; repeatable.")
@click.option(
    "--figure", "figures", multiple=True, metavar="NAME", help="Write a figure as SVG and PNG; repeatable."
)
@click.option("--all", "everything", is_flag=True, help="Write the explorer and every table and figure.")
@click.option("--list", "listed", is_flag=True, help="List all tables and figures, and exit.")
@click.option(
    "--format", "form", default="markdown", show_default=True, metavar="KIND", help="markdown, csv or latex."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for files; by default the run's own, or `report` for logs.",
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    help="A second run to compare with, paired where questions match.",
)
@click.option("--picture", type=click.Path(path_type=Path), help="Write one picture for a README (.svg or .png).")
@click.option("--open", "show", is_flag=True, help="Open the explorer in a browser.")
@reads_logs
def command(paths: tuple[Path, ...], **options: Any) -> None:
    """Write the explorer, and tables and figures to cite, for studies or for any tool's logs.

    Without options it writes RUN/report.html, one file to look at and to share.

    \b
    thinkcap report runs/study --open
    thinkcap report runs/study --compare runs/other --open
    thinkcap report runs/study --table both-modes --format latex
    thinkcap report log1.json log2.csv --all --out report
    """
    from thinkcap.report.command import report

    if not paths and not options["listed"]:
        raise ConfigError("nothing to report on; name a study's folder or a log, or see all names with --list")
    for line in report(paths, **options):
        say(line)
