"""`thinkcap paper`: the tables, figures and audit of the coupling-tax paper, where its room is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from thinkcap.cli.logs import reads_logs
from thinkcap.cli.terminal import say
from thinkcap.core.errors import ConfigError


@click.command("paper")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--table", "tables", multiple=True, metavar="NAME", help="Print a table; repeatable.")
@click.option("--figure", "figures", multiple=True, metavar="NAME", help="Write a figure; repeatable.")
@click.option("--list", "listed", is_flag=True, help="List all tables, figures and presets, and exit.")
@click.option(
    "--format", "form", default="markdown", show_default=True, metavar="KIND", help="markdown, csv or latex."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for files; by default `paper` inside the run's folder, or here for several runs.",
)
@click.option(
    "--published", type=click.Path(path_type=Path), help="JSON file of published figures to print beside yours."
)
@click.option("--audit", is_flag=True, help="Recompute the figures of --published and list what disagrees.")
@click.option("--json", "as_json", is_flag=True, help="With --audit: print every figure as JSON.")
@reads_logs
def command(paths: tuple[Path, ...], **options: Any) -> None:
    """Fill the paper's 31 tables and 6 figures with your runs or with any tool's logs.

    Without --table and --figure it writes all of them into the folder `paper` of the run.

    \b
    thinkcap paper runs/study --table thinking-tax
    thinkcap paper results/*.json --published published.json
    thinkcap paper --audit --published published.json [FOLDER OF THE AUTHORS' RECORDS]
    """
    try:
        paper = import_module("thinkcap.paper.command").paper
    except ModuleNotFoundError as err:
        if not (err.name or "").startswith("thinkcap.paper"):
            raise
        raise ConfigError("thinkcap.paper is not installed here; use `thinkcap report` instead") from None
    if not paths and not options["listed"] and not options["audit"]:
        raise ConfigError("nothing to show; name a study's folder or a log, or see all names with --list")
    for line in paper(paths, **options):
        say(line)
