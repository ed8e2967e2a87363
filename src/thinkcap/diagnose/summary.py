"""From a run's rows to its summary: per task, policy and budget what was right and what it cost, and comparisons.

summary = conclude(result)          # written beside the rows
load_summary(folder)                # refuses a summary that its rows do not bear out
"""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkcap.core.errors import DataError
from thinkcap.core.files import replace_text
from thinkcap.diagnose.pairs import compare
from thinkcap.diagnose.runs import configurations
from thinkcap.logs import read
from thinkcap.statistics.precision import proportion
from thinkcap.study.rows import Row, read_parquet
from thinkcap.study.values import FREE, Price

if TYPE_CHECKING:
    from thinkcap.study.run import Result

_AVERAGED = (
    "tokens_charged",
    "tokens_generated",
    "tokens_think",
    "tokens_prefill_trace",
    "tokens_prompt",
    "calls",
)


def conclude(result: Result) -> dict[str, Any]:
    """The summary of a finished run: its cells, and the same comparisons that a diagnosis of it makes."""
    summary = summarise(result.rows, result.provenance, price=result.price)
    graded = any(not row.failed for row in result.rows)
    arms = read([result.folder]).arms if graded else ()
    summary["comparisons"] = compare(configurations(arms)).to_list()
    if result.prefix_checks is not None:
        summary["verify_prefix"] = dict(result.prefix_checks)
    return summary


def summarise(rows: Sequence[Row], provenance: Mapping[str, Any], price: Price = FREE) -> dict[str, Any]:
    """`cells`, tokens generated against tokens each cell alone would have cost, and where it all came from."""
    groups: dict[tuple[str, str, str, int], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.task, row.model, row.policy, row.budget].append(row)
    generated = sum(row.tokens_generated for row in rows)
    alone = sum(row.tokens_charged for row in rows)
    return {
        "cells": [_cell(*name, cell, price) for name, cell in groups.items()],
        "tokens_generated": generated,
        "tokens_alone": alone,
        "tokens_ratio": alone / generated if generated else None,
        "rows": len(rows),
        "failed": sum(row.failed for row in rows),
        "provenance": dict(provenance),
    }


def _cell(task: str, model: str, policy: str, budget: int, rows: list[Row], price: Price) -> dict[str, Any]:
    graded = [row for row in rows if not row.failed]
    n = len(graded)
    right = sum(row.verdict == "right" for row in graded)
    interval = proportion(right, n)
    sources = {row.source for row in graded}
    cell: dict[str, Any] = {
        "task": task,
        "model": model,
        "policy": policy,
        "budget": budget,
        "n": len(rows),
        "graded": n,
        "failed": len(rows) - n,
        "unreadable": sum(row.verdict == "unreadable" for row in graded),
        "right": right,
        "accuracy": interval.value,
        "ci": [interval.low, interval.high],
        **{f"{name}_mean": _mean(getattr(row, name) for row in graded) for name in _AVERAGED},
        "ended_rate": _mean(row.ended for row in graded),
        "stops": {
            "ended": sum(row.ended for row in graded),
            "lt_95": sum(row.tokens_charged < int(0.95 * budget) for row in graded),
        },
        "stages": dict(sorted(Counter(row.stage for row in graded).items())),
        "source": sources.pop() if len(sources) == 1 else "mixed",
    }
    if price != FREE:
        spent = ((r.tokens_prompt, r.tokens_prefill_trace, r.tokens_charged) for r in graded)
        cell["cost_mean"] = _mean(price.of(fresh_input=f, cached_input=c, output=o) for f, c, o in spent)
    seeds = sorted({row.seed for row in rows})
    if len(seeds) > 1:
        cell["seeds"] = _spread(graded, seeds)
    return cell


def _spread(rows: list[Row], seeds: Sequence[int]) -> dict[str, Any]:
    """Accuracy by seed, with mean and standard deviation over seeds of equal n only."""
    by_seed = {}
    for seed in seeds:
        mine = [row for row in rows if row.seed == seed]
        by_seed[str(seed)] = {"n": len(mine), "accuracy": _mean(row.verdict == "right" for row in mine)}
    values = [s["accuracy"] for s in by_seed.values() if s["accuracy"] is not None]
    even = len({s["n"] for s in by_seed.values()}) == 1 and len(values) > 1
    return {
        "by_seed": by_seed,
        "mean": statistics.fmean(values) if even else None,
        "sd": statistics.stdev(values) if even else None,
    }


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


def write_summary(summary: Mapping[str, Any], path: Path) -> None:
    replace_text(path, json.dumps(summary, indent=1))


def load_summary(folder: Path) -> dict[str, Any]:
    """A run's summary, after checking that its rows give the same counts."""
    path = folder / "summary.json"
    try:
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        cells = {(c["task"], c["policy"], c["budget"]): (c["right"], c["graded"]) for c in summary["cells"]}
    except FileNotFoundError:
        raise DataError(f"no summary at '{path}'; wanted the folder of a finished study") from None
    except (ValueError, KeyError, TypeError) as err:
        raise DataError(f"'{path}' is not a summary of a study: {err}") from err
    columns = read_parquet(folder / "rows.parquet")
    names = zip(columns["task"], columns["policy"], columns["budget"], columns["verdict"], strict=True)
    counts: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for task, policy, budget, verdict in names:
        count = counts[task, policy, int(budget)]
        count[0] += verdict == "right"
        count[1] += verdict is not None
    for name, seen in cells.items():
        if tuple(counts[name]) != seen:
            raise DataError(
                f"'{path}' says {seen[0]} of {seen[1]} right for {name}, its rows say "
                f"{counts[name][0]} of {counts[name][1]}; run the study again to rebuild it"
            )
    return summary
