"""Stored answers through the grader of today: rules change, generations do not."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.files import read_file, replacing
from thinkcap.core.types import Verdict
from thinkcap.grading import Grader
from thinkcap.policies import stages
from thinkcap.policies.registry import PolicySpec
from thinkcap.settings import inside
from thinkcap.study.columns import Stored, write_columns
from thinkcap.study.config import StudyConfig
from thinkcap.study.journal import COLUMNS, Journal
from thinkcap.study.plan import Cell, Key, plan
from thinkcap.study.rows import Row
from thinkcap.study.run import Conclude, Result
from thinkcap.study.values import PolicyPlan
from thinkcap.tasks.load import is_module


@dataclass(frozen=True)
class Regraded:
    rows: int
    grader: str
    flips: tuple[tuple[Key, str | None, Verdict], ...]


async def regrade(folder: Path, *, modules: Collection[str] = (), conclude: Conclude | None = None) -> Regraded:
    """New verdicts for every finished row of a run, appended to its journal; the old lines stay.

    `modules` are the Python tasks that may be imported: a run came from anywhere, so its own file names none.
    `conclude` gets the result while the run is still locked, as after a run.
    """
    if not (folder / "rows.jsonl").exists():
        raise DataError(f"no rows at '{folder}'; wanted the folder of a study")
    config = _planned(folder / "study.toml", modules)
    cells = plan(config)
    provenance = {**_provenance(folder), "grader": Grader.version}
    flips: list[tuple[Key, str | None, Verdict]] = []
    # Held to the end: a study that starts meanwhile would write the same columns and summary.
    with Journal(folder / "rows.jsonl", cells, config.prompts.hash) as journal:
        async with Grader() as grader:
            again = _Again(grader)
            places = np.flatnonzero(journal.standing.present).tolist()
            for place, row in zip(places, journal.rows, strict=True):
                if row.failed:
                    continue
                new = await again.graded(row, cells[place])
                if new.verdict != row.verdict and new.verdict is not None:
                    flips.append((row.key, row.verdict, cast(Verdict, new.verdict)))
                if new != row:
                    journal.append(new, place)
        if not journal.current:
            with replacing(folder / COLUMNS) as file:
                write_columns(journal.rows.read(Stored), file, journal.size)
        if conclude is not None:
            conclude(Result(folder, journal.rows, provenance, config.price))
    return Regraded(len(journal.rows), Grader.version, tuple(flips))


def _planned(path: Path, modules: Collection[str]) -> StudyConfig:
    """The run's own plan, read without importing what it names: a row's key needs a policy's name alone."""
    try:
        values = tomllib.loads(read_file(path).decode())
        plans = tuple(
            PolicyPlan(
                PolicySpec(entry["name"], {k: v for k, v in entry.items() if k not in ("name", "budgets")}),
                tuple(entry.get("budgets", ())),
            )
            for entry in values.pop("policy")
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as err:
        raise DataError(f"cannot read '{path}' as the plan of a run: {err!r}; run the study again") from err
    with inside(f"the study '{path}'"):
        config = replace(StudyConfig.from_mapping(values), policies=plans)
    for name in config.tasks:
        if is_module(name) and name not in modules:
            raise ConfigError(
                f"the run in '{path.parent}' takes its questions from the Python task '{name}', and a run's "
                f"folder may not say what to import; if you trust it, add --task {name}"
            )
    return config


def _provenance(folder: Path) -> dict[str, Any]:
    """Read without the usual check: the counts beside it are the old grader's."""
    path = folder / "summary.json"
    try:
        return dict(msgspec.json.decode(read_file(path))["provenance"])
    except FileNotFoundError:
        raise DataError(f"no summary at '{path}'; wanted the folder of a finished study") from None
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as err:
        raise DataError(f"'{path}' is not a summary of a study: {err}; run the study again to rebuild it") from err


class _Again:
    """Rows through the grader. A chain that ended says the same at every larger budget, and rows lie budget by
    budget: so of each question what was read last is kept."""

    def __init__(self, grader: Grader) -> None:
        self._grader = grader
        self._last: dict[tuple[str, str], tuple[tuple[str, bool], tuple[Verdict, str | None, int]]] = {}

    async def graded(self, row: Row, cell: Cell) -> Row:
        if row.text is None:
            verdict, answer, level = await self._judged(row, cell, row.answer, row.level)
        else:
            case, asked = (row.text, row.guess), (row.task, row.question)
            known = self._last.get(asked)
            if known is None or known[0] != case:
                read = stages.read(cell.question, row.text, guess=row.guess)
                known = self._last[asked] = case, await self._judged(row, cell, *read)
            verdict, answer, level = known[1]
        return msgspec.structs.replace(row, verdict=verdict, answer=answer, level=level, grader=Grader.version)

    async def _judged(
        self, row: Row, cell: Cell, answer: str | None, level: int
    ) -> tuple[Verdict, str | None, int]:
        gold, kind = cell.task.golds[row.question], cell.question.kind or "math"
        return await self._grader.grade(gold, answer, kind), answer, level
