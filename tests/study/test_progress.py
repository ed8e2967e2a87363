"""How far a study is stands beside its rows while it is unfinished, and not longer."""

from __future__ import annotations

from pathlib import Path

import pytest
import slow_engine

from thinkcap.api import run_study
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.study.config import StudyConfig
from thinkcap.study.listing import list_runs
from thinkcap.study.progress import FILE, Noting, Progress, noted


async def test_a_broken_run_says_how_far_it_came_and_a_finished_one_has_no_such_file(tmp_path: Path) -> None:
    words = {"tasks": "family:arithmetic", "budgets": "16,64", "policies": "nothink,think", "limit": 4}
    config = StudyConfig.from_mapping({**words, "concurrency": 1, "out": str(tmp_path / "runs" / "a")})

    class Stop(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.done == 6:
            raise Stop

    with pytest.raises(Stop):
        await run_study(config, engine=ScriptedEngine(slow_engine.reply), watch=stop)
    told = noted(config.folder)
    assert told is not None
    assert (told.done, told.total) == (6, 16)
    (listed,) = list_runs(tmp_path / "runs")
    assert (listed.state, listed.rows, listed.total, listed.seconds_left) == ("stopped", 6, 16, None)
    await run_study(config, engine=ScriptedEngine(slow_engine.reply))
    assert not (config.folder / FILE).exists()
    (listed,) = list_runs(tmp_path / "runs")
    assert (listed.state, listed.rows, listed.total, listed.questions) == ("finished", 16, 16, 4)
    assert listed.methods == ("nothink", "think")


def test_it_is_written_once_a_second_and_a_full_disk_costs_nothing(tmp_path: Path) -> None:
    now = [0.0]
    note = Noting(tmp_path, clock=lambda: now[0])
    seen = []
    for at, done in ((0.0, 1), (0.5, 2), (1.1, 3), (1.2, 4)):
        now[0] = at
        note(Progress(10, done))
        told = noted(tmp_path)
        seen.append(told and told.done)
    assert seen == [1, 1, 3, 3]
    Noting(tmp_path / "missing")(Progress(1), now=True)
    (tmp_path / FILE).write_text("{")
    assert noted(tmp_path) is None
