"""On the real bundled model: every cell of a dense study equals a run made at that budget alone, one at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thinkcap.allocate.file import Allocation
from thinkcap.allocate.stop import StopCheck, Stopping, StopRule
from thinkcap.api import run_study as run
from thinkcap.engines import open_engine
from thinkcap.policies.registry import PolicySpec
from thinkcap.study.config import StudyConfig
from thinkcap.study.values import PolicyPlan

DENSE = tuple(range(12, 193, 12))
ALONE = (24, 60, 96, 144)
SAME = ("verdict", "answer", "ended", "tokens_charged", "tokens_think", "stage", "text", "level")


@pytest.mark.parametrize("questions", [2, pytest.param(60, marks=pytest.mark.campaign)])
async def test_dense_study_equals_lone_runs_and_costs_one_run_per_mode(
    tmp_path: Path, questions: int, campaign: Any
) -> None:
    few = questions == 2
    questions = max(2, campaign.of(questions))
    config = StudyConfig(
        policies=tuple(PolicyPlan(PolicySpec(name)) for name in ("nothink", "think", "think[heuristic]")),
        budgets=DENSE,
        limit=questions,
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
        for budget in ALONE[::2] if few else ALONE:
            alone = replace(config, budgets=(budget,), out=tmp_path / str(budget), concurrency=1, online=True)
            for row in (await run(alone, engine=lone)).rows:
                ours = by_key[row.key]
                assert row.source == "online"
                assert [getattr(row, name) for name in SAME] == [getattr(ours, name) for name in SAME]
    finally:
        await lone.aclose()
    assert (tmp_path / "dense" / "rows.jsonl").read_bytes().count(b"\n") == questions * len(DENSE) * 3
    campaign.says(
        f"bundled model, {questions} questions, 3 policies: cells of {len(DENSE)} budgets cut from one run "
        f"equal lone runs at {len(ALONE)} of them"
    )


async def test_a_stopped_chain_from_a_stored_thought_is_the_one_stopped_online(tmp_path: Path) -> None:
    # Go on at 40 and 80 tokens unless the chain checks itself; end every chain that still runs at 120.
    go, end = StopCheck(9, 0.5, 0.0, 1.0), StopCheck(9, 0.1, 1.0, 0.0)
    stops = Stopping((40, 80, 120), (StopRule(160, ((go, end, end), (go, end, end), (end, end, end))),))
    (tmp_path / "table.json").write_text(Allocation(stop=stops).to_json())
    stop = PolicySpec("stop", {"table": str(tmp_path / "table.json"), "answer": 48})
    think = PolicyPlan(PolicySpec("think"), budgets=(768,))
    config = StudyConfig(policies=(think, PolicyPlan(stop, budgets=(256,))), limit=8, seeds=(3,))
    engine = await open_engine("bundled")
    try:
        stored = await run(replace(config, out=tmp_path / "stored"), engine=engine)
        online = await run(
            replace(config, policies=config.policies[1:], out=tmp_path / "online", online=True), engine=engine
        )
    finally:
        await engine.aclose()
    by_key = {row.key: row for row in stored.rows}
    for row in online.rows:
        assert [getattr(row, name) for name in SAME] == [getattr(by_key[row.key], name) for name in SAME]
    # What was charged is what was generated and what was put into its mouth: nothing was thrown away after a stop.
    assert {row.stage for row in online.rows} == {"think", "close"}
    thought = sum(s.generated for row in online.rows for s in row.stages if s.stage == "think")
    assert thought < sum(r.tokens_charged for r in stored.rows if r.policy == "think")
    forced = sum(row.tokens_charged - row.tokens_generated for row in online.rows)
    assert 0 <= forced <= 4 * len(online.rows)
