"""How long answers took is kept beside the rows, through reruns and breaks, and never changes a row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import slow_engine

from thinkcap.api import run_study as run
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.logs import Arm, read
from thinkcap.policies.registry import parse_list
from thinkcap.report.material import load
from thinkcap.report.tables.registry import make
from thinkcap.study.config import StudyConfig
from thinkcap.study.progress import Progress
from thinkcap.study.rows import Row
from thinkcap.study.values import PolicyPlan


@pytest.fixture
def config(questions: Path, tmp_path: Path) -> StudyConfig:
    return StudyConfig(
        model="slow_engine:factory",
        tasks=(str(questions),),
        policies=tuple(PolicyPlan(spec) for spec in parse_list("nothink,think")),
        budgets=(16, 64),
        out=tmp_path / "run",
    )


def arms(config: StudyConfig) -> dict[str, Arm]:
    return {arm.name: arm for arm in read([config.folder]).arms}


async def test_a_cut_takes_its_share_of_the_chain_and_the_report_shows_it(config: StudyConfig) -> None:
    await run(config, engine=ScriptedEngine(slow_engine.reply))
    found = arms(config)
    for name in ("nothink", "think"):
        small, large = found[f"{name}@16"], found[f"{name}@64"]
        expected = large.extra["wall_s"] * small.lengths / large.lengths
        assert np.allclose(small.extra["wall_s"], expected)
        assert (large.extra["wall_s"] > 0).all()
    rows = make("wall-time", load([config.folder])).rows
    assert {row.cells[0] for row in rows} == set(found)
    assert all(row.cells[2] == row.cells[3] for row in rows)


async def test_times_outlive_a_break_and_a_rerun(config: StudyConfig) -> None:
    class Stop(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.done == progress.total // 2:
            raise Stop

    with pytest.raises(Stop):
        await run(config, engine=ScriptedEngine(slow_engine.reply), watch=stop)
    await run(config, engine=ScriptedEngine(slow_engine.reply))
    before = {name: arm.extra["wall_s"].tolist() for name, arm in arms(config).items()}
    assert all(np.isfinite(times).all() for times in before.values())
    await run(config, engine=ScriptedEngine(slow_engine.reply))
    assert {name: arm.extra["wall_s"].tolist() for name, arm in arms(config).items()} == before


async def test_without_its_file_or_with_anothers_a_run_is_read_all_the_same(config: StudyConfig) -> None:
    await run(config, engine=ScriptedEngine(slow_engine.reply))
    times = config.folder / "times.parquet"
    kept = times.read_bytes()
    other = StudyConfig.from_mapping(config.to_mapping() | {"limit": 5, "out": str(config.folder / "other")})
    await run(other, engine=ScriptedEngine(slow_engine.reply))
    for content in (b"nonsense", (other.folder / "times.parquet").read_bytes(), kept):
        times.write_bytes(content)
        assert all(("wall_s" in arm.extra) == (content == kept) for arm in arms(config).values())
    times.unlink()
    assert not any("wall_s" in arm.extra for arm in arms(config).values())
    assert "wall_s" not in Row.__struct_fields__
