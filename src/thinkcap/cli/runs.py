"""`thinkcap runs`: the studies made here, their progress and their best result."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from thinkcap.cli.terminal import one_line, say


@click.command(name="runs", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(folder: Path | None, as_json: bool) -> None:
    """List the studies below FOLDER (`runs` by default), the latest first."""
    from dataclasses import asdict

    from thinkcap.study.folders import RUNS
    from thinkcap.study.listing import list_runs

    runs = list_runs(folder or RUNS) if folder or RUNS.is_dir() else []
    if as_json:
        say(json.dumps([asdict(run) for run in runs], indent=1))
        return
    if not runs:
        say(f"no runs in '{folder or RUNS}'; start one with: thinkcap study")
        return
    lines = [("run", "model", "task", "rows", "state", "most accurate", "written (UTC)")]
    for run in runs:
        best = run.best and f"{100 * run.best['accuracy']:.1f} % {run.best['policy']}@{run.best['budget']}"
        failed = f", {run.failed:,} failed" if run.failed else ""
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.written_s))
        lines.append(
            (run.name, run.model, ",".join(run.tasks), f"{run.rows:,}", run.state + failed, best or "-", when)
        )
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    for line in lines:
        say("  ".join(one_line(word).ljust(width) for word, width in zip(line, widths, strict=True)).rstrip())
