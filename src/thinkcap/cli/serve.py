"""`thinkcap serve`: the gateway."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import click

from thinkcap.cli.served import StartLine, server_options
from thinkcap.cli.terminal import say
from thinkcap.core.errors import ConfigError
from thinkcap.core.extras import extra


@click.command(name="serve", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("model", nargs=-1)
@server_options
@click.option(
    "--config", "file", type=click.Path(path_type=Path), help="TOML file with the settings below and more."
)
@click.option("--host", help="Address to listen on; the loopback by default.")
@click.option("--port", type=int, help="Port to listen on; 8080 by default, 0 for any free one.")
@click.option("--profile", help="The profile that `thinkcap calibrate` wrote for this model.")
@click.option("--dialect", help="How the model thinks: a known name or a TOML file; detected by default.")
@click.option(
    "--default-max-tokens",
    type=int,
    help="Most tokens for requests without max_tokens, which get the rest of the context; 16384 by default.",
)
@click.option("--threshold", type=int, help="Without a profile: answer without thinking under caps below this.")
@click.option(
    "--reasoning-field", help="Field that carries thoughts: upstream, reasoning_content, reasoning or both."
)
@click.option("--concurrency", type=int, help="Requests answered at a time.")
@click.option("--queue", type=int, help="Requests that may wait; further ones get a 429.")
@click.option("--page/--no-page", default=None, help="Serve the page at / and the API description at /docs.")
@click.option("--anyone", is_flag=True, default=None, help="Allow listening beyond the loopback without keys.")
@click.option("--log-requests", is_flag=True, default=None, help="Write requests to the log.")
@click.option(
    "--access-log", metavar="FORMAT", help="One line per request on standard output: json, plain or off."
)
@click.option(
    "--cluster", metavar="WHERE", help="Run gateways as replicas on a Ray cluster: auto, local or HOST:PORT."
)
@click.option("--min-replicas", type=int, help="With --cluster: run at least this many gateways.")
@click.option("--max-replicas", type=int, help="With --cluster: run at most this many gateways.")
@click.option("--otlp", metavar="URL", help="OpenTelemetry collector for spans; `env` reads OTEL_EXPORTER_OTLP_*.")
@click.option("--watch", is_flag=True, default=None, help="Change nothing, pass everything on, keep a journal.")
@click.option("--watch-journal", help="Folder of the journal; thinkcap-journal by default.")
@click.option("--watch-texts", is_flag=True, default=None, help="Keep questions and answers in the journal too.")
@click.option(
    "--watch-redact", metavar="MODULE:FUNCTION", help="Function that redacts these texts before they are kept."
)
@click.option(
    "--shadow", metavar="1%", help="With --watch: a policy also answers this share; its answers are not sent."
)
@click.option(
    "--hold",
    metavar="10%",
    help="With --watch: a policy answers this share itself; a guard stops it if it does worse.",
)
@click.option(
    "--new-key", metavar="NAME", help="Make a key, print it with its line for the configuration file, and exit."
)
def command(model: tuple[str, ...], file: Path | None, new_key: str | None, **options: Any) -> None:
    """Serve models through an OpenAI-compatible API that keeps max_tokens and leaves room for the answer.

    MODEL is `bundled` (the default), a .gguf file, or http://host/v1#name; several are served side by side,
    and addresses with the same name after # are servers of one model.
    With --serve-with, MODEL is a name on the hub, a folder or a file; its server is started and stopped with the
    gateway.
    """
    if new_key:
        from thinkcap.gateway.admission.auth import new_key as make

        key, line = make(new_key)
        say(f"key (shown once): {key}\nfor the configuration file:\n[keys]\n{line}")
        return
    from thinkcap.calibrate.profile import profile_of

    with extra("serve", "serving"):
        from thinkcap.gateway.config import ServeConfig
        from thinkcap.gateway.server import run

    given = {name: value for name, value in options.items() if value is not None}

    def read() -> ServeConfig:
        found = ServeConfig.from_file(file) if file else ServeConfig()
        return found.changed({**given, **({"model": list(model)} if model else {})})

    config = read()
    if not config.cluster:
        _check_address(config.host, config.port)
    for one in config.models:
        # The profile that comes with the bundled model is for the embedded engine.
        profile = profile_of("" if one.serve_with else one.address, one.profile)
        for doubt in profile.doubts() if profile else ():
            say(f"warning: profile of '{one.model}': {doubt}", err=True)
    start = StartLine()
    try:
        served = run(config, lambda line: say(line, err=True), start, read)
    finally:
        start.end()
    if not served:
        raise click.exceptions.Exit(1)


def _check_address(host: str, port: int) -> None:
    """Tries to listen before a model is opened, which may take minutes."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except (OSError, OverflowError) as err:
        said = getattr(err, "strerror", None) or err
        raise ConfigError(
            f"cannot listen on {host} port {port}: {said}; choose another --port (0 is any free one)"
        ) from err
