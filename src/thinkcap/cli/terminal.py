"""The one way to the terminal: it obeys what it is sent, and much of what we print was written by strangers.

say(f"run {name}")                    # a name with an escape sequence in it shows as a mark, and does nothing
say(text, err=True, before=REWRITE)   # control sequences of our own stand apart from the text
"""

from __future__ import annotations

import re

import click

REWRITE = "\r\x1b[K"
"""Back to the start of the line, and clear it."""
# Control characters but for tab and line feed, marks that turn the direction of text, and halves of characters.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def quiet(text: str) -> str:
    """The text with nothing left in it that a terminal would obey."""
    return _COMMANDS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """A name, which may not begin a line of its own."""
    return text.replace("\n", "\N{REPLACEMENT CHARACTER}")


def say(text: str = "", *, err: bool = False, nl: bool = True, dim: bool = False, before: str = "") -> None:
    shown = quiet(text)
    click.echo(before + (click.style(shown, dim=True) if dim else shown), err=err, nl=nl)
