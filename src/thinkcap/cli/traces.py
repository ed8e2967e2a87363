"""`thinkcap traces`: shows, exports, imports and prunes what a store holds."""

from __future__ import annotations

from pathlib import Path

import click

from thinkcap.cli import completing
from thinkcap.cli.terminal import one_line, say

_HELP = {"help_option_names": ["-h", "--help"]}


@click.group(name="traces", invoke_without_command=True, context_settings=_HELP)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Look at, export, import and prune stored generations."""
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())


@command.command(context_settings=_HELP)
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completing.runs)
def show(run: Path) -> None:
    """Show what RUN's store holds."""
    from thinkcap.traces.exchange import open_run

    with open_run(run, readonly=True) as store:
        found = store.contents()
    say(f"model      {one_line(found.fingerprint)}")
    say(f"traces     {found.traces:,} ({found.ended:,} ended), chat answers {found.outputs:,}")
    say(f"tokens     {found.tokens:,} stored, {found.generated:,} generated")
    say(f"size       {found.bytes:,} bytes, {found.bytes / max(1, found.traces + found.outputs):,.0f} per trace")
    say(f"waited     {found.wall_s:,.1f} s, summed over all flows")


@command.command(name="export", context_settings=_HELP)
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.argument("file", type=click.Path(path_type=Path))
def export_(run: Path, file: Path) -> None:
    """Write all traces of RUN to FILE, one JSON object per line."""
    from thinkcap.traces.exchange import export_jsonl

    say(f"{export_jsonl(run, file):,} traces written to {file}")


@command.command(name="import", context_settings=_HELP)
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.argument("file", type=click.Path(path_type=Path))
def import_(run: Path, file: Path) -> None:
    """Add the traces in FILE to RUN's store; those of another model are refused."""
    from thinkcap.core.sync import wait
    from thinkcap.traces.exchange import import_jsonl

    say(f"{wait(import_jsonl(run, file)):,} traces added to {run}")


@command.command(context_settings=_HELP)
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.option("--unended", is_flag=True, help="Remove traces in which the model did not end its turn.")
@click.option("--longer-than", type=click.IntRange(min=0), help="Remove traces of more than this many tokens.")
def prune(run: Path, unended: bool, longer_than: int | None) -> None:
    """Remove traces from RUN's store. Rows already written stay."""
    from thinkcap.core.sync import wait
    from thinkcap.traces.exchange import open_run

    if not unended and longer_than is None:
        raise click.UsageError("nothing to remove; give --unended or --longer-than N")
    with open_run(run, readonly=False) as store:
        gone = wait(store.prune(unended=unended, longer_than=longer_than))
    say(f"{gone:,} traces removed")
