"""From a run's rows to its summary: per task, policy and budget what was right and what it cost, and comparisons.

summary = conclude(result)          # written beside the rows
load_summary(folder)                # refuses a summary that its rows do not bear out
"""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from thinkcap.core.errors import DataError
from thinkcap.core.files import read_file, replace_text
from thinkcap.core.marks import PLAIN
from thinkcap.diagnose.pairs import compare
from thinkcap.diagnose.runs import configurations
from thinkcap.logs import read
from thinkcap.statistics.arrays import Bools, Ints, distinct
from thinkcap.statistics.clusters import repeated
from thinkcap.statistics.precision import Proportion, accuracy, proportion
from thinkcap.study.columns import MOST_BYTES, read_columns
from thinkcap.study.rows import RENAMED
from thinkcap.study.values import FREE, Price

if TYPE_CHECKING:
    from thinkcap.study.run import Result

_AVERAGED = (
    "tokens_charged",
    "tokens_generated",
    "tokens_think",
    "tokens_reread",
    "tokens_prompt",
    "calls",
)


def conclude(result: Result) -> dict[str, Any]:
    """The summary of a finished run: its cells, and the same comparisons that a diagnosis of it makes."""
    summary = summarise(result.folder / "rows.parquet", result.provenance, price=result.price)
    graded = summary["failed"] < summary["rows"]
    arms = read([result.folder], memory=MOST_BYTES).arms if graded else ()
    summary["comparisons"] = compare(configurations(arms)).to_list()
    if result.prefix_checks is not None:
        summary["verify_prefix"] = dict(result.prefix_checks)
    return summary


def summarise(rows: Path, provenance: Mapping[str, Any], price: Price = FREE) -> dict[str, Any]:
    """`cells`, tokens generated against tokens each cell alone would have cost, and where it all came from."""
    found = _Cells(rows)
    generated, alone = (int(found.number[name].sum()) for name in ("tokens_generated", "tokens_charged"))
    return {
        "cells": found.described(price),
        "tokens_generated": generated,
        "tokens_alone": alone,
        "tokens_ratio": alone / generated if generated else None,
        "rows": len(found.failed),
        "failed": int(found.failed.sum()),
        "failures": found.failures(),
        "provenance": dict(provenance),
    }


class _Cells:
    """Rows by task, model, policy and budget, in order of appearance; every count is over whole columns."""

    def __init__(self, rows: Path) -> None:
        names = ("task", "model", "policy", "verdict", "stage", "source")
        columns = read_columns(rows, (*names, "budget", "seed", "failed", "ended", *_AVERAGED))
        self.text = {name: columns.text(name) for name in names}
        self.number = {name: columns.number(name).astype(np.int64) for name in ("budget", "seed", *_AVERAGED)}
        self._rows = rows
        self.failed = columns.number("failed").astype(np.bool_)
        self.ended = columns.number("ended").astype(np.bool_) & ~self.failed
        keys = [*(self.text[name].codes for name in ("task", "model", "policy")), self.number["budget"]]
        self.first, self.cell = distinct(keys)

    def failures(self) -> list[dict[str, Any]]:
        """Why rows failed, the commonest first: the kind of error, how many rows, and the words of the first."""
        at = np.flatnonzero(self.failed)
        if not at.size:
            return []
        words = [text or "" for text in read_columns(self._rows, ("error",)).text("error").at(at)]
        kinds = [text.partition(":")[0] for text in words]
        return [
            {"error": kind, "rows": rows, "first": words[kinds.index(kind)].partition(": ")[2]}
            for kind, rows in Counter(kinds).most_common()
        ]

    def described(self, price: Price) -> list[dict[str, Any]]:
        graded = ~self.failed
        n, right = self._count(graded), self._count(graded & self.text["verdict"].are("right"))
        rows, unreadable = self._count(None), self._count(graded & self.text["verdict"].are("unreadable"))
        sums = {name: self._sum(name, graded) for name in _AVERAGED}
        ended = self._count(self.ended)
        caps = self.number["budget"][self.first]
        bar = np.array([int(0.95 * budget) for budget in caps.tolist()], dtype=np.int64)
        early = self._count(graded & (self.number["tokens_charged"] < bar[self.cell]))
        stages, sources = self._named("stage", graded), self._named("source", graded)
        spread = self._spread(graded)
        cells = []
        for at, row in enumerate(self.first.tolist()):
            interval = self._accuracy(at, graded) if at in spread else proportion(right[at], n[at])
            cell: dict[str, Any] = {
                **{name: self.text[name].of(row) for name in ("task", "model", "policy")},
                "budget": int(caps[at]),
                "n": rows[at],
                "graded": n[at],
                "failed": rows[at] - n[at],
                "unreadable": unreadable[at],
                "right": right[at],
                "accuracy": interval.value,
                "ci": [interval.low, interval.high],
                **{f"{name}_mean": _ratio(total[at], n[at]) for name, total in sums.items()},
                "ended_rate": _ratio(ended[at], n[at]),
                "stops": {"ended": ended[at], "lt_95": early[at]},
                "stages": dict(sorted(stages[at].items())),
                "source": next(iter(sources[at])) if len(sources[at]) == 1 else "mixed",
            }
            if price != FREE:
                spent = (sums[name][at] for name in ("tokens_prompt", "tokens_reread", "tokens_charged"))
                fresh, cached, output = spent
                total = price.of(fresh_input=fresh, cached_input=cached, output=output)
                cell["cost_mean"] = _ratio(total, n[at])
            if at in spread:
                cell["seeds"] = _over_seeds(spread[at])
            cells.append(cell)
        return cells

    def _count(self, which: Bools | None) -> list[int]:
        chosen = self.cell if which is None else self.cell[which]
        return list(np.bincount(chosen, minlength=len(self.first)).tolist())

    def _sum(self, name: str, which: Bools) -> list[int]:
        # Counts of tokens stay far below 2^53, so sums in floating point are exact.
        sums = np.bincount(self.cell[which], self.number[name][which], minlength=len(self.first))
        return list(sums.astype(np.int64).tolist())

    @cached_property
    def _question(self) -> Ints:
        """Only wanted where a cell has several seeds."""
        return read_columns(self._rows, ("question",)).text("question").codes.astype(np.int64)

    def _accuracy(self, cell: int, graded: Bools) -> Proportion:
        """Of several seeds: their answers to one question belong together."""
        mine = np.flatnonzero(graded & (self.cell == cell))
        return accuracy(self.text["verdict"].are("right")[mine], repeated(self._question[mine]))

    def _named(self, name: str, which: Bools) -> list[dict[str, int]]:
        """How often each word of a column stands in each cell."""
        column = self.text[name]
        counts = np.zeros((len(self.first), len(column.texts)), dtype=np.int64)
        np.add.at(counts, (self.cell[which], column.codes[which]), 1)
        return [{column.texts[at]: int(row[at]) for at in np.flatnonzero(row).tolist()} for row in counts]

    def _spread(self, graded: Bools) -> dict[int, dict[int, tuple[int, int]]]:
        """By seed what is right of how many, for the cells that have several seeds."""
        first, group = distinct([self.cell, self.number["seed"]])
        n = np.bincount(group[graded], minlength=len(first))
        right = np.bincount(group[graded & self.text["verdict"].are("right")], minlength=len(first))
        found: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
        for at, row in enumerate(first.tolist()):
            found[int(self.cell[row])][int(self.number["seed"][row])] = (int(right[at]), int(n[at]))
        return {cell: seeds for cell, seeds in found.items() if len(seeds) > 1}


def _over_seeds(seeds: Mapping[int, tuple[int, int]]) -> dict[str, Any]:
    """Accuracy by seed, with mean and standard deviation over seeds of equal n only."""
    by_seed = {str(s): {"n": n, "accuracy": _ratio(right, n)} for s, (right, n) in sorted(seeds.items())}
    values = [s["accuracy"] for s in by_seed.values() if s["accuracy"] is not None]
    even = len({s["n"] for s in by_seed.values()}) == 1 and len(values) > 1
    return {
        "by_seed": by_seed,
        "mean": statistics.fmean(values) if even else None,
        "sd": statistics.stdev(values) if even else None,
    }


def _ratio(total: float, n: int) -> float | None:
    return total / n if n else None


def write_summary(summary: Mapping[str, Any], path: Path) -> None:
    replace_text(path, json.dumps(summary, indent=1))


class _ConcludedCell(msgspec.Struct):
    task: str
    model: str
    policy: str
    budget: int
    n: int
    right: int
    graded: int
    accuracy: float | None
    ci: tuple[float | None, float | None]
    stages: dict[str, int]
    tokens_charged_mean: float | None
    tokens_reread_mean: float | None
    cost_mean: float | None = None


class _ConcludedPair(msgspec.Struct):
    task: str
    first: str
    second: str
    matched_by: str
    only_first: int
    only_second: int
    p_holm: float


class _ConcludedEngine(msgspec.Struct):
    model: str
    open_tag: str
    close_tag: str


class _ConcludedFrom(msgspec.Struct):
    engine: _ConcludedEngine
    hardware: str = ""
    temperature: float | None = None


class _Concluded(msgspec.Struct):
    """What readers take from a summary; whatever else stands in one is theirs to doubt."""

    cells: list[_ConcludedCell]
    comparisons: list[_ConcludedPair]
    provenance: _ConcludedFrom
    rows: int
    failed: int
    tokens_generated: int
    tokens_alone: int


def load_summary(folder: Path) -> dict[str, Any]:
    """A run's summary, after checking that its rows give the same counts."""
    path = folder / "summary.json"
    try:
        summary: dict[str, Any] = json.loads(read_file(path))
        for old in summary["cells"]:
            old |= {f"{now}_mean": old.pop(f"{was}_mean") for now, was in RENAMED.items() if f"{was}_mean" in old}
        # Earlier runs do not say how thoughts were marked, or have no comparisons yet.
        summary.setdefault("comparisons", [])
        engine = summary.setdefault("provenance", {}).setdefault("engine", {})
        for field, value in (("model", ""), ("open_tag", PLAIN.open_tag), ("close_tag", PLAIN.close_tag)):
            engine.setdefault(field, value)
        msgspec.convert(summary, _Concluded)
        cells = {(c["task"], c["policy"], c["budget"]): (c["right"], c["graded"]) for c in summary["cells"]}
    except FileNotFoundError:
        raise DataError(f"no summary at '{path}'; wanted the folder of a finished study") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as err:
        raise DataError(f"'{path}' is not a summary of a study: {err}") from err
    columns = read_columns(folder / "rows.parquet", ("task", "policy", "budget", "verdict"))
    tasks, policies, verdicts = (columns.text(name) for name in ("task", "policy", "verdict"))
    budgets = columns.number("budget").astype(np.int64)
    first, cell = distinct([tasks.codes, policies.codes, budgets])
    right = np.bincount(cell[verdicts.are("right")], minlength=len(first)).tolist()
    graded = np.bincount(cell[verdicts.codes >= 0], minlength=len(first)).tolist()
    counts = {
        (tasks.of(row), policies.of(row), int(budgets[row])): (right[at], graded[at])
        for at, row in enumerate(first.tolist())
    }
    for name, seen in cells.items():
        ours = counts.get(name, (0, 0))
        if ours != seen:
            raise DataError(
                f"'{path}' says {seen[0]} of {seen[1]} right for {name}, its rows say "
                f"{ours[0]} of {ours[1]}; run the study again to rebuild it"
            )
    return summary
