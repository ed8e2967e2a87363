"""`thinkcap doctor`: what a server obeys."""

from __future__ import annotations

import json
from pathlib import Path

import click

from thinkcap.cli.terminal import say
from thinkcap.core.files import SHARED, replace_text


@click.command(name="doctor", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("url")
@click.option(
    "--tokens",
    type=int,
    default=256,
    show_default=True,
    help="Length of the longest answer to ask for, in tokens.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0.001, max=1e6),
    default=120.0,
    show_default=True,
    help="Seconds for one question.",
)
@click.option("--dialect", default="", help="How the model thinks: a known name or a TOML file; else found out.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--card", type=click.Path(path_type=Path), help="Also write the capability card to this file.")
def command(url: str, tokens: int, timeout_s: float, dialect: str, as_json: bool, card: Path | None) -> None:
    """Probe the server at URL (http://host/v1#model) and say what it obeys; about sixty short requests.

    A key is taken from THINKCAP_API_KEY or OPENAI_API_KEY.
    """
    from thinkcap.gateway.doctor import examined

    report = examined(url, tokens, timeout_s, dialect)
    if card:
        replace_text(card, json.dumps(report.to_dict(), indent=1) + "\n", SHARED)
    say(json.dumps(report.to_dict(), indent=1) if as_json else report.table())
