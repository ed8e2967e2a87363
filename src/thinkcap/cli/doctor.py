"""`thinkcap doctor`: what a server obeys."""

from __future__ import annotations

import json
from pathlib import Path

import click

from thinkcap.cli.served import StartLine, server_options
from thinkcap.cli.terminal import say
from thinkcap.core.files import SHARED, replace_text
from thinkcap.engines.served import BackendName, ServeWith


@click.command(name="doctor", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("url")
@server_options
@click.option(
    "--tokens",
    type=int,
    default=256,
    show_default=True,
    help="Longest answer to ask for, in tokens.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0.001, max=1e6),
    default=120.0,
    show_default=True,
    help="Seconds to wait for one answer.",
)
@click.option(
    "--dialect", default="", help="How the model thinks: a known name or a TOML file; detected by default."
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--card", type=click.Path(path_type=Path), help="Also write the capability card to this file.")
def command(
    url: str,
    serve_with: BackendName | None,
    serve_args: str | None,
    tokens: int,
    timeout_s: float,
    dialect: str,
    as_json: bool,
    card: Path | None,
) -> None:
    """Probe the server at URL (http://host/v1#model) with about sixty short requests, and say what it obeys.

    The key comes from THINKCAP_API_KEY or OPENAI_API_KEY. With --serve-with, URL names a model, and its server is
    started for the examination.
    """
    from thinkcap.doctor.examine import examined

    how = ServeWith.wished(serve_with, serve_args)
    start = StartLine(quiet=as_json)
    try:
        report = examined(url, tokens, timeout_s, dialect, how, start)
    finally:
        start.end()
    if card:
        replace_text(card, json.dumps(report.to_dict(), indent=1) + "\n", SHARED)
    say(json.dumps(report.to_dict(), indent=1) if as_json else report.table())
