"""Runs a study: one flow per question, policy, budget and seed that is not yet done, many at a time.

Everything finished is on disk at once, so a killed run goes on where it stopped, and a rerun does only what is
missing or failed.

    result = await run(StudyConfig(limit=50, out=Path("runs/try")))
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from thinkcap.core.engine import Engine, EngineCard
from thinkcap.core.errors import ConfigError
from thinkcap.core.files import replace_text, replacing
from thinkcap.core.racing import together
from thinkcap.core.types import Sampling
from thinkcap.engines import engine_for
from thinkcap.engines.served import Tell, silent
from thinkcap.engines.served.running import opened
from thinkcap.grading import Grader
from thinkcap.policies.registry import facts
from thinkcap.study.columns import Stored, write_columns
from thinkcap.study.config import StudyConfig
from thinkcap.study.feed import Feed
from thinkcap.study.folders import link_latest, refuse_other
from thinkcap.study.journal import COLUMNS, Journal, Rows, standing
from thinkcap.study.pace import Pace
from thinkcap.study.plan import StudyPlan, plan
from thinkcap.study.progress import Noting, Progress, Watcher
from thinkcap.study.provenance import provenance
from thinkcap.study.questions import FILE as CHAINS
from thinkcap.study.questions import Cuts, write_questions
from thinkcap.study.times import FILE as TIMES
from thinkcap.study.times import read_times, write_times
from thinkcap.study.values import FREE, Price
from thinkcap.study.work import CellRunner
from thinkcap.traces.lock import FileLock
from thinkcap.traces.remember import Remembering
from thinkcap.traces.store import TraceStore


@dataclass(frozen=True)
class Result:
    """What a finished run left behind."""

    folder: Path
    rows: Rows
    provenance: Mapping[str, Any]
    price: Price = FREE
    prefix_checks: Mapping[str, Any] | None = None

    @property
    def failed(self) -> int:
        return self.rows.failed


Conclude = Callable[[Result], None]


async def run(
    config: StudyConfig,
    *,
    engine: Engine | None = None,
    watch: Watcher | None = None,
    conclude: Conclude | None = None,
    tell: Tell = silent,
) -> Result:
    """Run to the end; raises only for what stops the whole study. Single failures are rows.

    `conclude` gets the result while the run is still locked, so that what it writes beside the rows fits them.
    `tell` gets lines of how a server comes up that is started for this study.
    """
    folder = config.folder
    async with _opened(config, engine, tell) as (cells, bare, store, journal):
        started, drawn = time.time(), sampled(config, bare.card)
        remembering = Remembering(bare, store, claimed=journal.standing.claimed, online=config.online)
        todo = len(cells) - int(journal.standing.done.sum())
        width = config.concurrency or bare.card.concurrency
        checks = None
        async with Grader() as grader:
            if todo or not (folder / TIMES).is_file():
                worker = _worker(drawn, cells, remembering, grader, journal, min(width, todo), watch)
                worker.progress.where = getattr(bare, "status", None)
                feed = Feed(cells, journal.standing.done, width, online=config.online)
                try:
                    await together(worker.work(feed) for _ in range(min(width, todo)))
                finally:
                    worker.note(worker.progress, now=True)
                    write_times(folder, cells, worker.seconds)
            if config.verify_prefix:
                from thinkcap.study.verify import verify_prefix

                checks = await verify_prefix(bare, remembering, cells, config.verify_prefix)
        if not journal.current or not _own_file(folder / CHAINS):
            await _write_columns(drawn, cells, journal, remembering)
        Noting(folder).over()
        about = provenance(drawn, bare.card, cells, started=started, concurrency=width)
        result = Result(folder, journal.rows, about, config.price, checks)
        if conclude is not None:
            conclude(result)
        if config.out is None:
            link_latest(folder)
        return result


def finished(config: StudyConfig) -> bool:
    """Whether all that a run leaves is there, made under these very settings, so that no model need be opened.

    A server is asked in any case: it may have another model by now.
    """
    folder = config.folder
    if config.verify_prefix or not isinstance(config.model, str) or engine_for(config.model) == "openai":
        return False
    settings = folder / "study.toml"
    if not all(_own_file(folder / name) for name in (CHAINS, TIMES, "summary.json", settings.name)):
        return False
    if settings.read_text(encoding="utf-8") != tomli_w.dumps(config.to_mapping()):
        return False
    found = standing(folder / "rows.jsonl", plan(config), config.prompts.hash)
    return found.places is None and bool(found.done.all())


@asynccontextmanager
async def _opened(
    config: StudyConfig, engine: Engine | None, tell: Tell
) -> AsyncIterator[tuple[StudyPlan, Engine, TraceStore, Journal]]:
    """The plan, the model, the store and the journal, which holds the lock on the folder."""
    cells = plan(config)
    folder = config.folder
    rows = folder / "rows.jsonl"
    # Before the model is opened, which may take minutes and all of a GPU.
    FileLock.refuse_held(rows)
    refuse_other(folder, config.to_mapping())
    async with _engine(config, engine, tell) as bare:
        with (
            Journal(rows, cells, config.prompts.hash) as journal,
            TraceStore.open(folder / "traces.sqlite", bare.card.fingerprint) as store,
        ):
            replace_text(folder / "study.toml", tomli_w.dumps(config.to_mapping()))
            answerable(cells, bare.card)
            yield cells, bare, store, journal


@asynccontextmanager
async def _engine(config: StudyConfig, given: Engine | None, tell: Tell) -> AsyncIterator[Engine]:
    """Whoever brings an engine closes it; ours is closed here, and the server behind it after it."""
    if given is not None:
        yield given
        return
    async with opened(config.model, config.engine_options(), config.server(), tell) as engine:
        yield engine


def answerable(cells: StudyPlan, card: EngineCard) -> None:
    """Refuses, by name, what needs a mode the model does not have; the least effort is no such mode by itself."""
    if "nothink" in card.modes:
        return
    specs = {spec.label: spec for spec, _ in cells.ways}
    needing = [
        label for label, s in specs.items() if facts(s).needs_nothink and (not card.least or s.name == "nothink")
    ]
    if needing:
        instead = f"think(effort={card.least})" if card.least else "think,close"
        raise ConfigError(
            f"model '{card.model}' always thinks, and {', '.join(needing)} cannot be run: "
            f"they need answers without thinking; run others (--policy {instead}), or allow an empty think block "
            f"(--nothink-by block)"
        )


def sampled(config: StudyConfig, card: EngineCard) -> StudyConfig:
    """The study with the sampling of the model's makers where it asks for that; its folder stays the same."""
    if not config.sampling:
        return config
    if card.recommended is None:
        raise ConfigError(
            f"it is unknown how the makers of '{card.model}' want it sampled "
            f"(dialect '{card.dialect or 'without a name'}'); give --temperature instead"
        )
    said = card.recommended
    return replace(config, temperature=said.temperature, top_p=said.top_p, out=config.folder)


def _worker(
    config: StudyConfig,
    cells: StudyPlan,
    engine: Engine,
    grader: Grader,
    journal: Journal,
    lanes: int,
    watch: Watcher | None,
) -> CellRunner:
    """What all lanes share, with what is done already and what is left."""
    done = journal.standing.done
    progress = Progress(total=len(cells), done=int(done.sum()), resumed=int(done.sum()))
    missing = (~done).reshape(len(cells.ways), len(cells.asked)).sum(axis=1)
    pace = Pace(cells.ways, missing, lanes, online=config.online)
    progress.left = pace.seconds_left
    note = Noting(config.folder)
    note(progress, now=True)
    seconds = read_times(config.folder, cells)
    return CellRunner(config, cells, engine, grader, journal, progress, pace, seconds, note, watch)


async def _write_columns(config: StudyConfig, cells: StudyPlan, journal: Journal, engine: Remembering) -> None:
    cuts = Cuts(cells)
    # The columns say that they are made from all of the journal, so they take their place last.
    with replacing(config.folder / COLUMNS) as file:
        write_columns(cuts.noted(journal.rows.read(Stored)), file, journal.size)
        await write_questions(config.folder, cuts, engine, Sampling(config.temperature, config.top_p))


def _own_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
