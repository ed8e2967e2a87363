"""The paper's studies by name: valid, with caps that are the sum of their parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thinkcap.cli import main
from thinkcap.core.errors import ConfigError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.logs import Records, read
from thinkcap.paper.presets import PRESETS
from thinkcap.policies.registry import wants_other
from thinkcap.study.config import StudyConfig
from thinkcap.study.options import from_options, known_presets
from thinkcap.study.run import run


def cells(name: str) -> set[tuple[str, int]]:
    return {(spec.label, budget) for spec, budget in from_options(StudyConfig(), {"preset": name}).cells}


@pytest.mark.parametrize("name", PRESETS)
def test_stages_fit_their_caps(name: str) -> None:
    config = from_options(StudyConfig(), {"preset": name})
    parts = ("first", "second", "think", "answer", "retry", "budget", "project")
    for plan in config.policies:
        stages = {k: v for k, v in plan.spec.options.items() if k in parts}
        rounds = plan.spec.options.get("rounds", 1)
        if stages:
            first = stages.pop("first", 0)
            assert plan.budgets == (first + rounds * sum(stages.values()),)


def test_what_the_paper_ran_is_there() -> None:
    math = cells("math500")
    assert ("town(first=512,second=2048)", 2560) in math
    assert {("vote(samples=3,each=512)", 1536), ("vote(samples=5,each=512)", 2560)} <= math
    inside = "iris_plus(first=512,think=4096,answer=512,retry=512)"
    assert (f"gate(samples=5,each=1024,otherwise={inside})", 5120 + 5632) in math
    # A forced answer's tokens come on top of the chain's budget.
    assert {("think", 512), ("think[projection](budget=512,project=32)", 544)} <= cells("gsm8k")
    assert from_options(StudyConfig(), {"preset": "27b-seeds"}).seeds == (42, 123, 456)
    assert from_options(StudyConfig(), {"preset": "gsm8k"}).seeds == (42,)


def test_the_nearest_name_is_told() -> None:
    with pytest.raises(ConfigError, match="did you mean '27b-seeds'"):
        from_options(StudyConfig(), {"preset": "27b-seed"})


def test_a_preset_runs_through_to_its_tables(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pilot's five methods on one question, answered by the bundled model."""
    run = str(tmp_path / "run")
    preset = ["--preset", "math500-pilot", "--limit", "1", "--data", str(shared / "data")]
    assert main(["study", *preset, "--out", run]) == 0
    capsys.readouterr()
    assert main(["paper", run, "--table", "escalated-ablation", "--table", "failure-modes"]) == 0
    tables = capsys.readouterr().out
    assert "mrsd(first=512,think=1024,answer=256,rounds=3)" in tables
    assert main(["diagnose", run]) == 0
    assert main(["report", run, "--table", "methods"]) == 0
    assert "iris(first=512,think=1024,answer=256)" in capsys.readouterr().out


@pytest.mark.parametrize("name", known_presets())
async def test_every_preset_runs_one_question(name: str, shared: Path, tmp_path: Path) -> None:
    """Tries and thoughts of some hundred tokens, so that cascades go beyond their first stage."""
    words = {"preset": name, "limit": 1, "data": str(shared / "data"), "out": str(tmp_path / "run")}
    config = from_options(StudyConfig(), words)
    if any(wants_other(plan.spec) for plan in config.policies):
        # A placebo is another question's chain.
        config = replace(config, limit=2)
    model = ScriptedEngine(lambda prompt: f"<think>{'so ' * 200}</think>\\boxed{{4}}" + " ." * 300)
    result = await run(config, engine=model)
    assert not result.failed
    arms = read([tmp_path / "run"]).arms
    assert {arm.name for arm in arms} == {f"{spec.label}@{budget}" for spec, budget in config.cells}
    assert {arm.seed for arm in arms} == set(config.seeds)
    assert {arm.n for arm in arms} == {config.limit}
    assert diagnose(Records(arms)).rows == len(arms) * (config.limit or 0)


async def test_cascades_meet_though_their_first_try_settled_everything(shared: Path, tmp_path: Path) -> None:
    """No pass of thinking was seen, and yet both were to think with the same tokens."""
    words = {"preset": "27b-seeds", "limit": 2, "data": str(shared / "data"), "out": str(tmp_path / "run")}
    await run(from_options(StudyConfig(), words), engine=ScriptedEngine(lambda prompt: "\\boxed{4}"))
    (made,) = diagnose(read([tmp_path / "run"])).comparisons.made
    assert (made.matched_by, made.n) == ("stages", 6)
    assert (made.first, made.second) == (
        "iris(first=512,think=4096,answer=512)@5120",
        "town(first=512,second=4096)@4608",
    )
