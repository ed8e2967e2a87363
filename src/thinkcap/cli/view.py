"""`thinkcap view`: a local page over all runs, even while they are made."""

from __future__ import annotations

import asyncio
import webbrowser
from pathlib import Path

import click

from thinkcap.cli.terminal import say


@click.command(name="view", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 for any free one. [8378 if free]"
)
@click.option("--no-open", is_flag=True, help="Only print the address.")
def command(folder: Path | None, port: int | None, no_open: bool) -> None:
    """Look at the studies below FOLDER (`runs` by default) in a browser: list, open, compare, search, follow.

    FOLDER may also be a single run, which opens at once. The page is for this machine only; nothing is written.
    """
    from thinkcap.study.folders import RUNS
    from thinkcap.view.server import serve

    def opened(address: str) -> None:
        say(f"{address}  (Ctrl-C to stop)")
        if not no_open:
            webbrowser.open(address)

    asyncio.run(serve(folder or RUNS, port=port, opened=opened))
