"""The one way to the terminal: it obeys what it is sent, and much of what we print was written by strangers.

say(f"run {name}")                    # a name with an escape sequence in it shows as a mark, and does nothing
say(text, err=True, before=REWRITE)   # control sequences of our own stand apart from the text
"""

from __future__ import annotations

import re

import click

REWRITE = "\r\x1b[K"
"""Back to the start of the line, and clear it."""
LOUDNESS = "thinkcap.loudness"
# Control characters but for tab and line feed, marks that turn the direction of text, and halves of characters.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def quiet(text: str) -> str:
    """The text with nothing left in it that a terminal would obey."""
    return _COMMANDS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """A name, which may not begin a line of its own."""
    return text.replace("\n", "\N{REPLACEMENT CHARACTER}")


def loudness() -> int:
    """-1 with `--quiet`, 1 with `--verbose`, else 0."""
    context = click.get_current_context(silent=True)
    return int(context.meta.get(LOUDNESS, 0)) if context else 0


def say(text: str = "", *, err: bool = False, nl: bool = True, dim: bool = False, before: str = "") -> None:
    """A result, or (`err`) what is said beside it, which `--quiet` leaves out."""
    if err and loudness() < 0:
        return
    shown = quiet(text)
    click.echo(before + (click.style(shown, dim=True) if dim else shown), err=err, nl=nl)
