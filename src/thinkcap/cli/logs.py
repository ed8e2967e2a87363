"""Options of the commands that read other tools' logs: what a log does not say by itself.

@reads_logs
def command(paths, columns, policies, budgets, stop): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--map", "columns", metavar="FIELD=COLUMN,...", help="Columns of a plain JSONL or CSV: id=idx,correct=acc."
    ),
    click.option(
        "--as",
        "policies",
        multiple=True,
        metavar="POLICY",
        help="What a log does not say: think, nothink, ... Once, or once per file.",
    ),
    click.option(
        "--budget",
        "budgets",
        multiple=True,
        type=click.IntRange(min=1),
        help="The cap of a log that does not store it. Once, or once per file.",
    ),
    click.option(
        "--stop",
        type=click.Choice(["event", "flag"]),
        default="event",
        show_default=True,
        help="The end of a chain as observed, or a flag the log stores.",
    ),
)


def reads_logs(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
