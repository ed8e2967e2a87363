"""`thinkcap calibrate`: from a study to a profile for the gateway."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="calibrate", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File to write; printed where none is named.")
@click.option("--task", "tasks", multiple=True, help="Only these tasks of the study; may be repeated.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence of the lower bounds.")
def command(run: Path, out: Path | None, tasks: tuple[str, ...], level: float) -> None:
    """Turn the study in folder RUN into a profile: for every cap the policy we can be surest of."""
    from thinkcap.study.calibrate import calibrate

    profile = calibrate(run, tasks=tasks, level=level)
    if out is None:
        click.echo(profile.to_toml())
        return
    out.write_text(profile.to_toml(), encoding="utf-8")
    for rule in profile.rules:
        found = rule.evidence
        click.echo(
            f"{rule.at_least:>8}  {rule.policy.label:<32} {100 * found['accuracy']:5.1f} % right, "
            f"surely {100 * found['lower_bound']:5.1f} %, n = {found['n']}"
        )
    click.echo(f"profile: {out}")
