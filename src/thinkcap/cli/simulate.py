"""`thinkcap simulate`: what a cap would have done to traffic that was watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thinkcap.cli.logs import reads_logs
from thinkcap.cli.terminal import say


@click.command("simulate")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--cap", type=click.IntRange(min=1), required=True, help="One cap for every request.")
@click.option("--price", help="Price per million tokens: INPUT,CACHED,OUTPUT.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@reads_logs
@click.option("--model", help="Read only this model's rows from a log that holds several.")
def command(
    paths: tuple[Path, ...],
    cap: int,
    price: str | None,
    as_json: bool,
    reading: dict[str, Any],
    model: str | None,
) -> None:
    """Say what one cap for every request would have done to the traffic in a journal or a batch's output.

    \b
    thinkcap simulate thinkcap-journal --cap 2048 --price 0.4,0.1,1.6
    """
    import json

    from thinkcap.diagnose.document import plain
    from thinkcap.diagnose.simulating import simulate
    from thinkcap.logs import read
    from thinkcap.study.options import parse_price
    from thinkcap.study.values import FREE, Price
    from thinkcap.verdict.traffic import simulated

    money = Price(**parse_price(price)) if price else FREE
    found = simulate(read(paths, model=model, **reading).arms, cap, money)
    if as_json:
        say(json.dumps(plain(found), indent=1, allow_nan=False))
        return
    for one in found:
        say("\n".join(sentence.text for sentence in simulated(one)))
