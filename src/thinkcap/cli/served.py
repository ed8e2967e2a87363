"""`--serve-with`, shared by the verbs that can start a server, and the line that shows how it comes up."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, get_args

import click

from thinkcap.cli.terminal import REWRITE, say
from thinkcap.engines.served import BackendName


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Both options, the first above the second in the help."""
    words = click.option(
        "--serve-args", metavar="WORDS", help="Further options for that server, such as '--max-model-len 8192'."
    )
    server = click.option(
        "--serve-with",
        type=click.Choice(get_args(BackendName)),
        help="Start this server with the model, use it, and stop it at the end. (sglang is untested.)",
    )
    return server(words(command))


class StartLine:
    """How a server comes up, in one line: rewritten on a terminal, printed now and then elsewhere."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._last = float("-inf")
        self._open = False

    def __call__(self, text: str, lasting: bool = False) -> None:
        now = time.monotonic()
        if self._quiet or not (lasting or now - self._last >= (0.2 if self._live else 10.0)):
            return
        if lasting:
            self._clear()
            say(text, err=True)
            return
        self._last = now
        if self._live:
            say(text, nl=False, err=True, before=REWRITE)
            self._open = True
        else:
            say(text, err=True)

    def _clear(self) -> None:
        if self._open:
            say(nl=False, err=True, before=REWRITE)
            self._open = False

    end = _clear
