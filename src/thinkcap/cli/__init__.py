"""The command line: one file per verb, no logic. Verbs are imported only when called, so `--help` is quick.

`main` runs a command and turns every error of ours into one line and an exit code. No other room imports from
here.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

import click

from thinkcap.cli.terminal import LOUDNESS, loudness, say

VERBS: Mapping[str, tuple[str, str]] = {
    "study": ("thinkcap.cli.study:command", "Measure accuracy against budget, for modes and methods."),
    "init": ("thinkcap.cli.init:command", "Write a commented study file that fits your file of questions."),
    "policies": ("thinkcap.cli.policies:command", "Explain the methods: where their tokens go, when to use them."),
    "ask": ("thinkcap.cli.ask:command", "Answer one question under a cap and show the stages."),
    "diagnose": ("thinkcap.cli.diagnose:command", "Explain why thinking pays or not, from any tool's logs."),
    "simulate": ("thinkcap.cli.simulate:command", "Say what another cap would have done to watched traffic."),
    "sample": ("thinkcap.cli.sample:command", "Draw answers worth labelling from watched traffic."),
    "report": ("thinkcap.cli.report:command", "Write a study's explorer, tables and figures."),
    "calibrate": ("thinkcap.cli.calibrate:command", "Turn a study into a profile for the gateway."),
    "serve": ("thinkcap.cli.serve:command", "Serve models through a gateway that keeps max_tokens."),
    "doctor": ("thinkcap.cli.doctor:command", "Probe a server: what it obeys and what it only claims."),
    "runs": ("thinkcap.cli.runs:command", "List the studies made here, with progress and results."),
    "view": ("thinkcap.cli.view:command", "Look at all studies in a browser, even while they run."),
    "traces": ("thinkcap.cli.traces:command", "Look at, export, import and prune stored generations."),
    "paper": ("thinkcap.cli.paper:command", "Fill the paper's tables and figures with your records."),
    "completion": (
        "thinkcap.cli.completion:command",
        "Let the shell complete commands, policies, tasks and runs.",
    ),
    "regrade": ("thinkcap.cli.regrade:command", "Grade stored answers again, without the model."),
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module, _, attribute = VERBS[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return _with_loudness(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            from thinkcap.core.names import nearest

            raise click.UsageError(f"unknown command '{args[0]}'{nearest(args[0], VERBS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # click's own would import every verb to read its docstring.
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in VERBS.items()])


def _loud(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[LOUDNESS] = -1 if param.name == "quiet" else 1


def _with_loudness(command: click.Command) -> click.Command:
    """`-q` and `-v` may stand before a verb and after it."""
    if not any(param.name == "quiet" for param in command.params):
        command.params += [
            click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, callback=_loud, help=_QUIET),
            click.Option(["-v", "--verbose"], is_flag=True, expose_value=False, callback=_loud, help=_VERBOSE),
        ]
    return command


_QUIET = "Print results and errors only."
_VERBOSE = "Print more: settings, time taken, where an error occurred."


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"thinkcap {version('thinkcap')}")
        ctx.exit()


# Without a word both groups would raise their help as an error, which ends in one line: they print it themselves.
@click.group(
    cls=_Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
@click.pass_context
def group(ctx: click.Context) -> None:
    """Get the best answer a thinking model can give under a token cap.

    Start with `thinkcap study`: it runs the bundled model on its own problems in both modes, at sixteen budgets.
    """
    started = time.perf_counter()
    ctx.call_on_close(lambda: _tell_more(started))
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())


_with_loudness(group)


def _tell_more(started: float) -> None:
    """With `-v`, at the end: where an error came from, and how long it took."""
    from thinkcap.core.errors import ThinkcapError

    if loudness() > 0:
        error = sys.exception()
        if isinstance(error, ThinkcapError | OSError):
            say("".join(traceback.format_exception(error)), err=True)
        say(f"took {time.perf_counter() - started:.1f} s", err=True)


def main(args: list[str] | None = None) -> Any:
    """Our own errors end in one line and a code: 2 for a wrong request, 1 for a failure."""
    from thinkcap.core.errors import ConfigError, ServerFailed, ThinkcapError

    # Arrow's own allocator keeps what it once took: a fifth more memory on a run of millions of rows.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        return group.main(args=args, prog_name="thinkcap", standalone_mode=False) or 0
    except click.exceptions.Exit as err:
        sys.exit(err.exit_code)
    except click.ClickException as err:
        _say(err.format_message())
        sys.exit(err.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except ThinkcapError as err:
        for line in err.said if isinstance(err, ServerFailed) else ():
            say(f"  {line}", err=True)
        _say(str(err))
        for note in getattr(err, "__notes__", ()):
            say(note, err=True)
        sys.exit(2 if isinstance(err, ConfigError) else 1)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as err:
        # A full disk, a folder that may not be written, a file that is a folder: the system's own words say it.
        where = f"'{err.filename}': " if err.filename else ""
        advice = "; free some space, then run the same command again" if err.errno == errno.ENOSPC else ""
        _say(f"{where}{err.strerror or err}{advice}")
        sys.exit(2)


def _say(message: str) -> None:
    say(f"thinkcap: {' '.join(message.split())}", err=True)


def run() -> None:
    """The console script."""
    sys.exit(main())
