"""`thinkcap calibrate`: from a study to a profile for the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from thinkcap.cli import completing
from thinkcap.cli.terminal import say
from thinkcap.core.files import SHARED, replace_text


@click.command(name="calibrate", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="File to write; without it the profile is printed."
)
@click.option("--task", "tasks", multiple=True, help="Use only this task of the study; repeatable.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence of the lower bounds.")
@click.option(
    "--allocate",
    is_flag=True,
    help="Also fit splits, stops and an allocator, and write them to a file beside OUT.",
)
@click.option(
    "--margin",
    type=float,
    default=0.01,
    show_default=True,
    help="How much accuracy `auto` may lose to the best fixed policy.",
)
@click.option(
    "--risk",
    type=float,
    default=0.1,
    show_default=True,
    help="Largest accepted chance that it loses more than the margin.",
)
@click.option(
    "--price",
    type=float,
    default=0.0001,
    show_default=True,
    help="Accuracy that one more token must gain to be worth spending.",
)
def command(
    run: Path,
    out: Path | None,
    tasks: tuple[str, ...],
    level: float,
    allocate: bool,
    margin: float,
    risk: float,
    price: float,
) -> None:
    """Turn the study in folder RUN into a profile that names a policy for every cap.

    For each cap it takes the policy whose accuracy has the highest lower bound, among all that were measured on
    the same questions at this cap or a smaller one.
    """
    from thinkcap.calibrate.calibrate import calibrate, calibrate_auto
    from thinkcap.core.errors import ConfigError

    if allocate:
        if out is None or tasks:
            raise ConfigError(
                "--allocate writes two files and uses the whole study: give --out, and leave out --task"
            )
        beside = out.with_name(f"{out.stem}.allocation.json")
        profile, allocation = calibrate_auto(run, beside.name, price=price, margin=margin, risk=risk, level=level)
        replace_text(beside, allocation.to_json(), SHARED)
        say(f"allocation: {beside}")
        say(_allocator(allocation.about["allocator"]))
    else:
        found = calibrate(run, tasks=tasks, level=level)
        profile = found.profile
        for one in found.excluded:
            say(f"not considered: {one.name} {one.reason}", err=True)
        for doubt in profile.doubts():
            say(f"warning: {doubt}", err=True)
    if out is None:
        say(profile.to_toml())
        return
    replace_text(out, profile.to_toml(), SHARED)
    for rule in profile.rules:
        why = rule.evidence
        does = why.get("does", rule.policy.label) + (f" with {rule.budget} tokens" if rule.budget else "")
        say(
            f"{rule.at_least:>8}  {does:<32} {100 * why['accuracy']:5.1f} % right, "
            f"at least {100 * why['lower_bound']:5.1f} %, n = {why['n']}"
        )
    say(f"profile: {out}")


def _allocator(found: Mapping[str, Any]) -> str:
    """How the allocator did on learning questions that its fit did not see."""

    def percent(name: str) -> str:
        return "all" if found[name] is None else f"{100 * found[name]:.0f} %"

    return (
        f"allocator: {found['kind']}, tested on {found['n']} questions it was not fitted on\n"
        f"  it names the smallest sufficient budget for {percent('class_accuracy')} of questions (naming the "
        f"commonest one every time: {percent('majority')})\n"
        f"  it saves {percent('saved')} of the tokens without losing an answer, {percent('of_oracle')} of what an "
        f"oracle saves\n"
        f"  it loses {percent('lost')} of answers; accuracy changes by {100 * found['kept']:+.1f} points against "
        f"giving every question the largest budget"
    )
