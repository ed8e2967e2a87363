"""Who reads a run never writes; who writes holds its lock; nothing is written through a link."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import slow_engine

from thinkcap.api import regrade_study as regrade
from thinkcap.api import run_study as run
from thinkcap.core.errors import DataError, StoreError
from thinkcap.core.files import replace_text, replacing
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.diagnose.summary import load_summary
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.logs import read
from thinkcap.policies.registry import parse_list
from thinkcap.report.explorer.page import write_page
from thinkcap.study.config import StudyConfig
from thinkcap.study.estimate import estimate
from thinkcap.study.journal import Journal, standing
from thinkcap.study.plan import plan
from thinkcap.study.values import PolicyPlan
from thinkcap.traces.exchange import open_run

HALF = b'{"task":"questions","question":"q0","gro'


@pytest.fixture
async def config(questions: Path, tmp_path: Path) -> StudyConfig:
    """A finished study of 48 rows."""
    config = StudyConfig(
        model="slow_engine:factory",
        tasks=(str(questions),),
        policies=tuple(PolicyPlan(spec) for spec in parse_list("nothink,think")),
        budgets=(16, 64),
        out=tmp_path / "run",
    )
    await run(config, engine=ScriptedEngine(slow_engine.reply))
    return config


def opened(config: StudyConfig) -> Journal:
    return Journal(config.out / "rows.jsonl", plan(config), config.prompts.hash)


READERS: dict[str, Callable[[StudyConfig], object]] = {
    "dry run": estimate,
    "journal": lambda c: standing(c.out / "rows.jsonl", plan(c), c.prompts.hash),
    "summary": lambda c: load_summary(c.out),
    "diagnose": lambda c: diagnose(read([c.out])),
    "report": lambda c: write_page(c.out),
    "traces": lambda c: open_run(c.out, readonly=True).close(),
}


@pytest.mark.parametrize("reader", READERS)
async def test_a_reader_leaves_a_row_that_is_being_written_alone(reader: str, config: StudyConfig) -> None:
    journal = config.out / "rows.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + HALF)
    kept = ("study.toml", "summary.json", "rows.parquet", "chains.jsonl", "traces.sqlite")
    before = {name: (config.out / name).read_bytes() for name in kept}
    READERS[reader](config)
    assert journal.read_bytes() == whole + HALF
    assert {name: (config.out / name).read_bytes() for name in kept} == before
    assert estimate(config).rows_done == 48


async def test_the_writer_drops_the_half_line_of_a_crash(config: StudyConfig) -> None:
    journal = config.out / "rows.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + HALF)
    with opened(config) as rows:
        assert len(rows.rows) == 48
    assert journal.read_bytes() == whole


@pytest.mark.parametrize("line", [b"{}", b'{"task": "\xff"}', b"[" * 5000])
async def test_a_line_that_is_no_row_is_named(line: bytes, config: StudyConfig) -> None:
    journal = config.out / "rows.jsonl"
    journal.write_bytes(journal.read_bytes() + line + b"\n")
    with pytest.raises(DataError, match="line 49"):
        opened(config)


async def test_a_run_under_earlier_names_is_read_and_goes_on(config: StudyConfig) -> None:
    journal, columns, summary = (config.out / name for name in ("rows.jsonl", "rows.parquet", "summary.json"))
    before = load_summary(config.out)
    journal.write_bytes(journal.read_bytes().replace(b'"tokens_reread"', b'"tokens_prefill_trace"'))
    table = pq.read_table(columns)
    names = ["tokens_prefill_trace" if name == "tokens_reread" else name for name in table.column_names]
    pq.write_table(table.rename_columns(names), columns)
    summary.write_text(summary.read_text().replace("tokens_reread_mean", "tokens_prefill_trace_mean"))
    assert load_summary(config.out) == before
    wider = replace(config, budgets=(16, 32, 64))
    await run(wider, engine=ScriptedEngine(slow_engine.reply))
    again = load_summary(config.out)
    assert [c for c in again["cells"] if c["budget"] != 32] == before["cells"]
    assert "tokens_prefill_trace" not in pq.read_schema(columns).names


async def test_a_second_writer_is_refused_and_changes_nothing(config: StudyConfig) -> None:
    journal = config.out / "rows.jsonl"
    with opened(config):
        with journal.open("ab") as file:
            file.write(HALF)
        before = journal.read_bytes()
        with pytest.raises(StoreError, match="in use by another run"):
            opened(config)
        with pytest.raises(StoreError, match="in use by another run"):
            await regrade(config.out)
        with pytest.raises(StoreError, match="in use by another run"):
            await run(replace(config, model="no_such_module:factory"))
        assert journal.read_bytes() == before
    await regrade(config.out)


async def test_files_of_a_run_are_for_their_owner(config: StudyConfig) -> None:
    write_page(config.out)
    seen = {path.name: stat.S_IMODE(path.stat().st_mode) for path in config.out.iterdir()}
    assert {"rows.jsonl", "rows.parquet", "summary.json", "study.toml", "chains.jsonl"} <= set(seen)
    assert {"traces.sqlite", "report.html", "rows.jsonl.lock"} <= set(seen)
    assert set(seen.values()) == {0o600}
    assert stat.S_IMODE(config.out.stat().st_mode) == 0o700


async def test_nothing_is_written_through_a_link(config: StudyConfig, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    replaced = [config.out / name for name in ("report.html", "rows.parquet", "chains.jsonl")]
    foreseen = [
        (config.out / name).with_suffix(".tmp") for name in ("report", "rows", "summary", "chains", "study")
    ]
    for link in (*replaced, *foreseen):
        link.unlink(missing_ok=True)
        link.symlink_to(victim)
    await run(config, engine=ScriptedEngine(slow_engine.reply))
    write_page(config.out)
    assert victim.read_text() == "precious"
    assert not any(path.is_symlink() for path in replaced)


async def test_a_journal_that_is_a_link_is_refused(config: StudyConfig, tmp_path: Path) -> None:
    journal = config.out / "rows.jsonl"
    journal.rename(tmp_path / "elsewhere.jsonl")
    journal.symlink_to(tmp_path / "elsewhere.jsonl")
    before = journal.read_bytes()
    with pytest.raises(StoreError, match="cannot write to"):
        opened(config)
    assert journal.read_bytes() == before


def test_a_replacement_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    replace_text(path, "old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]
