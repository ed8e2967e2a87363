"""`thinkcap sample`: answers from watched traffic that are worth labelling."""

from __future__ import annotations

from pathlib import Path

import click

from thinkcap.cli.terminal import say


@click.command("sample")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-n", "--count", type=click.IntRange(min=1), default=100, show_default=True, help="Answers to draw.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed for the draw.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("to-label.jsonl"),
    show_default=True,
    help="File to fill in; it is not overwritten.",
)
def command(paths: tuple[Path, ...], count: int, seed: int, out: Path) -> None:
    """Draw answers worth labelling from a journal with texts: cut, empty, near their cap, and ordinary ones.

    Put true or false into `right`, or the right answer into `gold`, then diagnose with --labels.

    \b
    thinkcap sample thinkcap-journal -n 100
    thinkcap diagnose thinkcap-journal --labels to-label.jsonl
    """
    import json
    import os

    from thinkcap.core.errors import ConfigError
    from thinkcap.core.files import private_file
    from thinkcap.logs.sampling import draw

    if out.exists():
        raise ConfigError(f"'{out}' already exists and may hold labels; choose another --out")
    drawn = draw(paths, count, seed)
    # It holds what people asked, so nobody else may read it.
    with os.fdopen(private_file(out, os.O_WRONLY | os.O_EXCL), "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in drawn.rows)
    sizes = ", ".join(f"{size} {name}" for name, size in drawn.sizes.items() if size)
    say(f"{len(drawn.rows)} of {sum(drawn.sizes.values())} answers ({sizes}) are in '{out}'.")
    if drawn.without_texts:
        say(f"{drawn.without_texts} answers have no texts in the journal; labels will say nothing about them.")
    say(f"Fill in `right` or `gold`, then: thinkcap diagnose {' '.join(map(str, paths))} --labels {out}")
