"""`thinkcap diagnose`: why thinking pays or not, from records of a study or of any other tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thinkcap.cli import completing
from thinkcap.cli.logs import reads_logs
from thinkcap.cli.terminal import say
from thinkcap.core.errors import ConfigError

if TYPE_CHECKING:
    from thinkcap.logs import Records


@click.command("diagnose")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), shell_complete=completing.runs)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, under stable names.")
@click.option("--details", is_flag=True, help="Print every sentence, not only the most important ones.")
@reads_logs
@click.option("--model", help="Read only this model's rows from a log that holds several.")
@click.option(
    "--draws",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Number of bootstrap draws; 0 skips them.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed for the bootstrap.")
@click.option("--price", help="Price per million tokens, for logs without golds: INPUT,CACHED,OUTPUT.")
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    help="The file that `thinkcap sample` wrote for this journal, with labels filled in.",
)
def command(
    paths: tuple[Path, ...],
    as_json: bool,
    details: bool,
    reading: dict[str, Any],
    model: str | None,
    draws: int,
    seed: int,
    price: str | None,
    labels: Path | None,
) -> None:
    """Explain why thinking pays or not, from a study or from any tool's logs.

    PATHS are study folders, lm-evaluation-harness samples, inspect_ai logs, rows of any tool as JSONL, JSON, CSV
    or Parquet, or folders of them. Several are diagnosed together: two modes, two runs, two models. Answers with
    a gold beside them are graded here.

    \b
    thinkcap diagnose runs/study
    thinkcap diagnose logs/*.eval
    thinkcap diagnose samples_gsm8k_*.jsonl --as think --budget 512
    thinkcap diagnose batch_output.jsonl --price 0.4,0.1,1.6
    thinkcap diagnose a.csv --map id=nr,tokens=n_out --set model=Qwen3-8B,task=gsm8k
    """
    if not paths:
        raise ConfigError(
            "nothing to diagnose; name a study's folder or a log, such as: thinkcap diagnose runs/study"
        )
    from thinkcap.diagnose.diagnosis import diagnose
    from thinkcap.logs import read
    from thinkcap.logs.labels import read_labels
    from thinkcap.study.options import parse_price
    from thinkcap.study.values import FREE, Price
    from thinkcap.verdict.page import as_json as json_page
    from thinkcap.verdict.page import as_text

    records = read(paths, model=model, **reading)
    money = Price(**parse_price(price)) if price else FREE
    told = read_labels(labels) if labels else ()
    found = diagnose(records, draws=draws, seed=seed, price=money, labels=told)
    say(json_page(found, _published_names(records)) if as_json else as_text(found, details=details))


def _published_names(records: Records) -> dict[str, Any]:
    """The flat table of the paper's statistics, where the paper's room is installed."""
    try:
        from thinkcap.paper.statistics import statistics
    except ModuleNotFoundError:
        return {}
    return {"statistics": statistics(records)}
