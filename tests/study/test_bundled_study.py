"""On the real bundled model: every cell of a dense study equals a run made at that budget alone, one at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from thinkcap.engines import open_engine
from thinkcap.policies.registry import PolicySpec
from thinkcap.study.config import StudyConfig
from thinkcap.study.rows import Journal
from thinkcap.study.run import run
from thinkcap.study.values import PolicyPlan

QUESTIONS = 20
DENSE = tuple(range(12, 193, 12))
ALONE = (24, 60, 96, 144)
SAME = ("verdict", "answer", "ended", "tokens_charged", "tokens_think", "stage", "text", "level")


async def test_dense_study_equals_lone_runs_and_costs_one_run_per_mode(tmp_path: Path) -> None:
    config = StudyConfig(
        policies=tuple(PolicyPlan(PolicySpec(name)) for name in ("nothink", "think", "think[heuristic]")),
        budgets=DENSE,
        limit=QUESTIONS,
        seeds=(11,),
        out=tmp_path / "dense",
    )
    engine = await open_engine("bundled")
    try:
        dense = await run(config, engine=engine)
    finally:
        await engine.aclose()
    by_key = {row.key: row for row in dense.rows}
    largest = sum(
        r.tokens_charged for r in dense.rows if r.budget == DENSE[-1] and r.policy in ("nothink", "think")
    )
    assert dense.summary["tokens_generated"] == largest

    lone = await open_engine("bundled", concurrency=1)
    try:
        for budget in ALONE:
            alone = replace(config, budgets=(budget,), out=tmp_path / str(budget), concurrency=1, online=True)
            for row in (await run(alone, engine=lone)).rows:
                ours = by_key[row.key]
                assert row.source == "online"
                assert [getattr(row, name) for name in SAME] == [getattr(ours, name) for name in SAME]
    finally:
        await lone.aclose()
    assert len(Journal(tmp_path / "dense" / "rows.jsonl").rows) == QUESTIONS * len(DENSE) * 3
