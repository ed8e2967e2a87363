"""Options of the commands that read other tools' logs: what a log does not say by itself.

@reads_logs
def command(paths, reading): ...      # `reading` goes to thinkcap.logs.read as it is
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--map",
        "columns",
        metavar="FIELD=COLUMN,...",
        help="Columns to use instead of the guessed ones: id=idx,correct=acc.",
    ),
    click.option(
        "--as",
        "policies",
        multiple=True,
        metavar="POLICY",
        help="Policy of a log that does not name it: think, nothink ... Give it once, or once per file.",
    ),
    click.option(
        "--budget",
        "budgets",
        multiple=True,
        type=click.IntRange(min=1),
        help="Cap of a log that does not store it. Give it once, or once per file.",
    ),
    click.option(
        "--set",
        "named",
        multiple=True,
        metavar="NAME=VALUE,...",
        help="Model, task or mode of a log that does not name them. Give it once, or once per file.",
    ),
    click.option(
        "--stop",
        type=click.Choice(["event", "flag"]),
        default="event",
        show_default=True,
        help="How the end of a chain is known: from the observed end, or from a flag in the log.",
    ),
    click.option(
        "--dialect",
        default="",
        metavar="NAME",
        help="How thoughts are marked: a known dialect or a TOML file; detected in the log by default.",
    ),
    click.option(
        "--memory",
        metavar="SIZE",
        default="1GB",
        show_default=True,
        help="Limit on the memory that reading logs may take.",
    ),
    click.option(
        "--accept-grades",
        is_flag=True,
        help="Continue with our grades even if they contradict most of a log's own verdicts.",
    ),
)


def reads_logs(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options above, handed to the command as one `reading`."""

    @wraps(command)
    def reading(
        *args: Any,
        columns: str | None,
        policies: tuple[str, ...],
        budgets: tuple[int, ...],
        named: tuple[str, ...],
        stop: str,
        memory: str,
        dialect: str,
        accept_grades: bool,
        **options: Any,
    ) -> Any:
        from thinkcap.logs.columns import parse_map, parse_set
        from thinkcap.logs.memory import parse_size

        said = {
            "columns": None if columns is None else parse_map(columns),
            "policies": policies,
            "budgets": budgets,
            "named": tuple(parse_set(text) for text in named),
            "stop": stop,
            "memory": parse_size(memory),
            "dialect": dialect,
            "accept_grades": accept_grades,
        }
        return command(*args, reading=said, **options)

    found: Callable[..., Any] = reading
    for option in reversed(_OPTIONS):
        found = option(found)
    return found
