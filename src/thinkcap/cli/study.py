"""`thinkcap study`: plan, run with progress, and say what came out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command(name="study", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--model", help="`bundled`, a GGUF file, a transformers folder, or http://host/v1#name.")
@click.option(
    "--task", "tasks", help="gsm8k, math500, bbh:NAME, families, family:NAME, a .jsonl or .csv; a,b for several."
)
@click.option("--data", help="Folder with the benchmarks' files (or set THINKCAP_DATA).")
@click.option(
    "--policy", "policies", help="Policies a,b(option=value), or all; `thinkcap policies` explains them."
)
@click.option("--budgets", help="64,128,256 or 64:1024:64.")
@click.option("--preset", help="Policies and budgets by name: cascades, methods, gsm8k, math500, ...")
@click.option("--limit", type=int, help="How many questions.")
@click.option("--offset", type=int, help="Skip so many questions first (hold-outs).")
@click.option("--seed", "seed", type=int, help="Order of the questions and random state.")
@click.option("--seeds", help="Several seeds: mean and spread.")
@click.option("--temperature", type=float, help="0 is greedy.")
@click.option("--concurrency", type=int, help="Flows at a time; the engine's advice by default.")
@click.option("--out", help="Folder of the run; by default one named for the study, linked as runs/study.")
@click.option("--online", is_flag=True, default=None, help="Generate every cell at its own budget.")
@click.option("--verify-prefix", type=int, help="Re-run N questions at a smaller budget, report agreement.")
@click.option("--nothink-by", help="How a model without a switch is kept from thinking: block or prompt.")
@click.option("--dialect", help="How the model thinks: a known name or a TOML file; by default it is found out.")
@click.option("--timeout", "timeout_s", type=float, help="Seconds for one request to a server, all tries.")
@click.option("--cluster", help="Run the engines on a Ray cluster: auto, local or HOST:PORT.")
@click.option("--actors", type=int, help="Engines on the cluster; by default it is filled.")
@click.option("--cpus", type=float, help="CPUs of one engine on the cluster.")
@click.option("--gpus", type=float, help="GPUs of one engine on the cluster; a part of one is fine.")
@click.option("--prompts", type=click.Path(path_type=Path), help="TOML file with prompts of your own.")
@click.option("--price", help="Money per million tokens: INPUT,CACHED,OUTPUT.")
@click.option("--max-cost", type=float, help="Refuse to start what may cost more.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(file: Path | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Measure what a cap costs: accuracy against budget from one stored run.

    With no argument: the bundled model, its problem families, both modes, sixteen budgets.
    """
    from dataclasses import asdict

    from thinkcap.cli import show
    from thinkcap.report.explorer.page import write_page
    from thinkcap.study.config import StudyConfig
    from thinkcap.study.estimate import estimate
    from thinkcap.study.options import from_options

    base = StudyConfig.from_file(file) if file else StudyConfig()
    config = from_options(base, {k: v for k, v in options.items() if v is not None})
    found = estimate(config)
    if dry_run:
        click.echo(json.dumps(asdict(found), indent=1) if as_json else show.estimate_text(found))
        return
    if not as_json:
        click.echo(show.estimate_text(found), err=True)
    result = show.run_shown(config, quiet=as_json)
    write_page(result.folder)
    click.echo(json.dumps(result.summary, indent=1) if as_json else show.result_text(result))
    if result.failed:
        raise click.exceptions.Exit(1)
