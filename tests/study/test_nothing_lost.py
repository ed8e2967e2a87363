"""A study at work while others look at its folder, grade it again and start it again: no row is ever lost."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import slow_engine

from patience import PATIENCE_S
from thinkcap.api import regrade_study as regrade
from thinkcap.api import run_study as run
from thinkcap.core.errors import ConfigError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.diagnose.summary import load_summary
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.logs import read
from thinkcap.policies.registry import parse_list
from thinkcap.report.explorer.page import write_page
from thinkcap.study.config import StudyConfig
from thinkcap.study.estimate import estimate
from thinkcap.study.plan import plan
from thinkcap.study.values import PolicyPlan

Start = Callable[..., "subprocess.Popen[str]"]
POLICIES = "nothink,think,close,think[heuristic]"
BUDGETS = tuple(range(8, 68, 10))


def disturbances(config: StudyConfig) -> list[tuple[int, Callable[[], object]]]:
    """What anybody may do to a folder at any moment, with how often it is done."""
    again = replace(config, model="slow_engine:factory")
    return [
        (40, lambda: estimate(config)),
        (5, lambda: load_summary(config.out)),
        (2, lambda: asyncio.run(regrade(config.out))),
        (2, lambda: asyncio.run(run(again))),
        (1, lambda: diagnose(read([config.out]))),
        (1, lambda: write_page(config.out)),
    ]


def doors(questions: Path, folder: Path) -> list[list[str | Path]]:
    return [
        study_words(questions, folder, "--dry-run"),
        study_words(questions, folder),
        ["regrade", folder],
        ["report", folder],
        ["diagnose", folder],
        ["calibrate", folder],
    ]


def study_words(questions: Path, folder: Path, *more: str) -> list[str | Path]:
    budgets = ",".join(map(str, BUDGETS))
    return [
        *("study", "--task", questions, "--model", "slow_engine:factory", "--out", folder),
        *("--policy", POLICIES, "--budgets", budgets, "--concurrency", "2", *more),
    ]


def disturbed(thinkcap: Start, questions: Path, folder: Path, rng: random.Random, at_once: int) -> None:
    config = StudyConfig(
        model="slow_engine:factory",
        tasks=(str(questions),),
        policies=tuple(PolicyPlan(spec) for spec in parse_list(POLICIES)),
        budgets=BUDGETS,
        concurrency=2,
        out=folder,
    )
    # A finished part, so that there is something to grade again and to look at.
    asyncio.run(run(replace(config, budgets=(8,)), engine=ScriptedEngine(slow_engine.reply)))
    before = (folder / "rows.jsonl").stat().st_size
    study = thinkcap(*study_words(questions, folder))
    while (folder / "rows.jsonl").stat().st_size == before:
        assert study.poll() is None, study.communicate()
        time.sleep(0.005)
    weights, doings = zip(*disturbances(config), strict=True)
    others = [thinkcap(*words) for words in rng.sample(doors(questions, folder), at_once)]
    while study.poll() is None:
        # Refused, or told that the summary is older than its rows: both are right while a study runs.
        with suppress(ConfigError):
            rng.choices(doings, weights)[0]()
    _, said = study.communicate()
    assert study.returncode == 0, said
    for other in others:
        _, said = other.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in said
        assert other.returncode in (0, 2), said

    rows = [msgspec.json.decode(line) for line in (folder / "rows.jsonl").read_bytes().splitlines()]
    kept = Counter((r["task"], r["question"], r["policy"], r["budget"], r["seed"]) for r in rows)
    assert kept == Counter(cell.key for cell in plan(config))
    assert load_summary(folder)["rows"] == len(rows)


def test_nothing_is_lost(thinkcap: Start, asked_of: Any, tmp_path: Path) -> None:
    disturbed(thinkcap, asked_of(24), tmp_path / "run", random.Random(1), at_once=1)


@pytest.mark.campaign
def test_nothing_is_lost_in_many_tries(
    thinkcap: Start, many_questions: Path, tmp_path: Path, campaign: Any
) -> None:
    tries = campaign.of(20)
    for at in range(tries):
        disturbed(thinkcap, many_questions, tmp_path / str(at), random.Random(at), at_once=2)
    campaign.says(f"{tries} studies disturbed by others that read, report and resume meanwhile: every row once")
