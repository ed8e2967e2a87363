"""`thinkcap simulate`: what a cap would have done to traffic that was watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thinkcap.cli.logs import reads_logs
from thinkcap.cli.terminal import say
from thinkcap.core.errors import ConfigError


@click.command("simulate")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--cap", type=click.IntRange(min=1), help="Apply this cap to every request.")
@click.option(
    "--profile", type=click.Path(path_type=Path), help="Or apply the policies of this profile, each at its cap."
)
@click.option("--price", help="Price per million tokens: INPUT,CACHED,OUTPUT.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@reads_logs
@click.option("--model", help="Read only this model's rows from a log that holds several.")
def command(
    paths: tuple[Path, ...],
    cap: int | None,
    profile: Path | None,
    price: str | None,
    as_json: bool,
    reading: dict[str, Any],
    model: str | None,
) -> None:
    """Say what one cap for every request, or a profile's policies, would have done to watched traffic.

    \b
    thinkcap simulate thinkcap-journal --cap 2048 --price 0.4,0.1,1.6
    thinkcap simulate thinkcap-journal --profile profile.toml
    """
    if (cap is None) == (profile is None):
        raise ConfigError("nothing to simulate; give either --cap N or --profile FILE")
    import json

    from thinkcap.calibrate.foresee import foreseen
    from thinkcap.calibrate.profile import Profile
    from thinkcap.diagnose.document import plain
    from thinkcap.diagnose.simulating import simulate
    from thinkcap.logs import read
    from thinkcap.study.options import parse_price
    from thinkcap.study.values import FREE, Price
    from thinkcap.verdict.traffic import simulated

    money = Price(**parse_price(price)) if price else FREE
    arms = read(paths, model=model, **reading).arms
    if cap is not None:
        capped = simulate(arms, cap, money)
        words = [[sentence.text for sentence in simulated(one)] for one in capped]
        numbers = plain(capped)
    else:
        assert profile is not None
        ahead = foreseen(arms, Profile.from_file(profile), money)
        words, numbers = [one.sentences() for one in ahead], plain(ahead)
    if as_json:
        say(json.dumps(numbers, indent=1, allow_nan=False))
        return
    for lines in words:
        say("\n".join(lines))
