"""`thinkcap study`: plan, run with progress, and say what came out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from thinkcap.cli import completing
from thinkcap.cli.served import server_options
from thinkcap.cli.terminal import loudness, say


class _Explained(click.Command):
    """Its help ends with the methods, each in the words of its own docstring."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from thinkcap.policies.methods import summary
        from thinkcap.policies.registry import POLICIES

        with formatter.section("Policies"):
            formatter.write_dl([(name, summary(name)) for name in POLICIES])


@click.command(name="study", cls=_Explained, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--model",
    help="`bundled`, a GGUF file, a transformers folder, or http://host/v1#name; with --serve-with also a name on "
    "the hub.",
)
@server_options
@click.option(
    "--task",
    "tasks",
    shell_complete=completing.tasks,
    help="gsm8k, math500, aime24, aime25, amc23, bbh:NAME, families, family:NAME, or a file of questions; a,b for "
    "several.",
)
@click.option("--map", "map", help="Columns of your file: question=prompt,gold=answer; found by name by default.")
@click.option(
    "--kind",
    shell_complete=completing.kinds,
    help="How answers are compared with your golds: number, math, label, truth, yesno, text.",
)
@click.option("--data", help="Folder with the benchmarks' files (or set THINKCAP_DATA).")
@click.option(
    "--policy",
    "policies",
    shell_complete=completing.policies,
    help="Policies: a,b(option=value), all (those below but the rivals) or rivals (from native to estimate).",
)
@click.option("--budgets", help="Token budgets: 64,128,256, or 64:1024:64 for from:to:step.")
@click.option(
    "--preset",
    shell_complete=completing.presets,
    help="Policies and budgets by name: cascades, methods, rivals, gsm8k, math500, ...",
)
@click.option("--limit", type=int, help="Use this many questions.")
@click.option("--offset", type=int, help="Skip this many questions first, for hold-outs.")
@click.option("--seed", "seed", type=int, help="Seed for the order of the questions and for sampling.")
@click.option("--seeds", help="Several seeds, such as 1,2,3; the report gives mean and spread.")
@click.option("--temperature", type=float, help="Sampling temperature; 0 is greedy decoding.")
@click.option("--sampling", help="`recommended`: sample as the model's makers advise; greedy by default.")
@click.option("--concurrency", type=int, help="Questions in progress at a time; the engine chooses by default.")
@click.option("--out", help="Folder of the run; by default one named for the study, linked as runs/study.")
@click.option(
    "--online",
    is_flag=True,
    default=None,
    help="Generate every budget separately instead of cutting longer answers.",
)
@click.option(
    "--verify-prefix", type=int, help="Run N questions again at a smaller budget and report how many agree."
)
@click.option("--nothink-by", help="How a model without a switch is kept from thinking: block or prompt.")
@click.option("--dialect", help="How the model thinks: a known name or a TOML file; detected by default.")
@click.option("--timeout", "timeout_s", type=float, help="Seconds for one request to a server, retries included.")
@click.option("--cluster", help="Run the engines on a Ray cluster: auto, local or HOST:PORT.")
@click.option("--actors", type=int, help="Number of engines on the cluster; by default as many as fit.")
@click.option("--cpus", type=float, help="CPUs for each engine on the cluster.")
@click.option("--gpus", type=float, help="GPUs for each engine on the cluster; 0.5 shares one.")
@click.option("--prompts", type=click.Path(path_type=Path), help="TOML file with prompts of your own.")
@click.option("--price", help="Price per million tokens: INPUT,CACHED,OUTPUT.")
@click.option("--max-cost", type=float, help="Do not start a study that may cost more than this.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def command(file: Path | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Measure what a cap costs: accuracy against budget, from one stored run.

    Without arguments it runs the bundled model on its own problems in both modes, at sixteen budgets.
    """
    from dataclasses import asdict

    import tomli_w

    from thinkcap.api import run_study
    from thinkcap.cli import show
    from thinkcap.core.sync import wait
    from thinkcap.report.explorer.page import write_page
    from thinkcap.study.config import StudyConfig
    from thinkcap.study.estimate import estimate
    from thinkcap.study.options import from_options

    base = StudyConfig.from_file(file) if file else StudyConfig()
    config = from_options(base, {k: v for k, v in options.items() if v is not None})
    if loudness() > 0:
        say(tomli_w.dumps(config.to_mapping()), err=True)
    found = estimate(config)
    if dry_run:
        say(json.dumps(asdict(found), indent=1) if as_json else show.estimate_text(found))
        return
    if not as_json:
        say(show.estimate_text(found), err=True)
    with show.progress(quiet=as_json) as (watch, tell):
        result = wait(run_study(config, watch=watch, tell=tell))
    write_page(result.folder)
    say(json.dumps(result.summary, indent=1) if as_json else str(result))
    if result.failed:
        say(show.errors_text(result), err=True)
        raise click.exceptions.Exit(1)
