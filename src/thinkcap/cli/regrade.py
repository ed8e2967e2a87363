"""`thinkcap regrade`: stored answers through today's grader, without the model."""

from __future__ import annotations

from pathlib import Path

import click

from thinkcap.cli import completing
from thinkcap.cli.terminal import say


@click.command(name="regrade", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="MODULE:NAME",
    help="Allow importing this Python task of the run; a run's own folder cannot allow it.",
)
def command(run: Path, tasks: tuple[str, ...]) -> None:
    """Grade the answers of RUN again from its stored traces, without calling the model."""
    from thinkcap.api import regrade_study
    from thinkcap.core.sync import wait
    from thinkcap.report.explorer.page import write_page

    changed = wait(regrade_study(run, modules=tasks))
    write_page(run)
    say(f"{changed.rows:,} rows graded by {changed.grader}; {len(changed.flips):,} verdicts changed")
    for key, before, after in changed.flips[:20]:
        say(f"  {' '.join(str(part) for part in key)}: {before} -> {after}")
