"""`thinkcap init`: a commented study file that fits a file of questions."""

from __future__ import annotations

from pathlib import Path

import click

from thinkcap.cli.terminal import say
from thinkcap.core.files import SHARED, replace_text


@click.command(name="init", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("study.toml"), help="Where to write it.")
@click.option(
    "--map", "columns", help="Columns of the file: question=prompt,gold=answer; found by name by default."
)
@click.option("--kind", help="How answers are compared with its golds: number, math, label, truth, yesno, text.")
def command(file: Path, out: Path, columns: str | None, kind: str | None) -> None:
    """Write a commented study.toml for FILE (.jsonl, .json, .csv, .tsv or .parquet)."""
    from thinkcap.core.errors import ConfigError
    from thinkcap.study.options import parse_map
    from thinkcap.study.starter import starter

    if out.exists():
        raise ConfigError(f"'{out}' already exists; remove it, or name another with --out")
    text, note = starter(file, out, columns=parse_map(columns) if columns else {}, kind=kind)
    replace_text(out, text, SHARED)
    say(f"{note}\nwrote {out}; run it with: thinkcap study {out}")
