"""A study of a model whose chains are known, to an allocation, to a profile, to answers."""

import asyncio
import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from thinkcap.allocate.envelope import fit
from thinkcap.allocate.split import Plan
from thinkcap.api import run_study as run
from thinkcap.calibrate.allocation import grid, load
from thinkcap.calibrate.profile import Profile
from thinkcap.cli.calibrate import command
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.flow import drive
from thinkcap.engines.scripted import QUIET, ScriptedEngine
from thinkcap.policies.registry import PolicySpec, policy
from thinkcap.study.config import StudyConfig
from thinkcap.tasks import load as load_task

CAPS = (48, 96, 160)


def reply(prompt: str) -> str:
    """Long questions need thought; the rest is decided by a hash of the question."""
    asked = prompt.partition("\nSolve it")[0]
    dice = hashlib.sha256(asked.encode()).digest()
    if QUIET in prompt[-40:]:
        return "#### 1" if dice[0] < 120 else "#### 0"
    if not prompt.endswith("[assistant]"):
        return "#### 1" if len(prompt) > 180 + dice[1] // 4 else "#### 0"
    return "<think>" + f"{asked[-9:]} and {dice[2]} so. " * (1 + dice[3] // 32) + "</think>#### 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("allocation")
    lines = [f'{{"question": "Number {i} of many?", "answer": "1", "kind": "number"}}' for i in range(60)]
    task = base / "ones.jsonl"
    task.write_text("\n".join(lines))
    config = StudyConfig.from_mapping(
        {
            "tasks": [str(task)],
            "out": str(base / "run"),
            "policy": grid(CAPS, answers=(16, 32), rivals=["close", "iris"]),
        }
    )
    asyncio.run(run(config, engine=ScriptedEngine(reply)))
    return base / "run"


def test_replayed_plans_are_what_the_policies_do(folder: Path) -> None:
    """Passes put together question by question against the very policy driven on the very questions."""
    measured = load([folder])
    found = fit(measured, kinds=("logistic", "constant"))
    task = load_task(str(folder.parent / "ones.jsonl"), seed=0)
    plans = [p for p in measured.passes.plans(160) if p.think][::5]
    plans += [Plan(16, t, a, how) for how, t, a in list(measured.passes.thought)[:4]]

    async def charged(word: str, cap: int) -> list[int]:
        engine = ScriptedEngine(reply)
        runs = [await drive(policy(word)(q, cap), engine, cap=cap) for q in task.questions]
        return [r.charged for r in runs]

    for plan in plans:
        assert asyncio.run(charged(plan.label, plan.total)) == measured.passes.outcome(plan).tokens.tolist()
    table = folder.parent / "stops.json"
    table.write_text(found.allocation({}).to_json())
    for choice in found.choices:
        for candidate in choice.candidates:
            if candidate.kind != "stop" or candidate.plan is None:
                continue
            word = candidate.policy.replace("stop(", f"stop(table={table},")
            told = found.outcome(measured, choice.cap, candidate).tokens.tolist()
            assert asyncio.run(charged(word, choice.cap)) == told


def test_calibrate_writes_what_a_gateway_runs(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "profile.toml"
    done = CliRunner().invoke(command, [str(folder), "--allocate", "-o", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "profile.allocation.json").read_text())["about"]["allocator"]
    assert told["saved"] <= told["saved_oracle"]
    assert told["of_oracle"] is None or told["of_oracle"] <= 1
    assert f"saves {100 * told['saved']:.0f} % of the tokens without losing an answer" in done.output
    profile = Profile.from_file(out)
    assert [rule.at_least for rule in profile.rules] == list(CAPS)
    rule = profile.rule(100)
    assert rule is not None
    assert rule.policy.name == "auto"
    assert Path(rule.policy.options["table"]) == tmp_path / "profile.allocation.json"
    question = load_task(str(folder.parent / "ones.jsonl")).questions[0]
    ran = asyncio.run(drive(rule.policy.bind()(question, 100), ScriptedEngine(reply), cap=100))
    assert ran.charged <= 100
    assert ran.answer.notes["auto"] == rule.evidence["does"]
    (tmp_path / "profile.allocation.json").unlink()
    with pytest.raises(ConfigError, match="calibrate --allocate"):
        Profile.from_file(out)


def test_a_study_without_the_grid_is_refused(folder: Path, tmp_path: Path) -> None:
    config = StudyConfig.from_mapping(
        {"tasks": [str(folder.parent / "ones.jsonl")], "limit": 3, "out": str(tmp_path), "policy": ["nothink"]}
    )
    asyncio.run(run(config, engine=ScriptedEngine(reply)))
    with pytest.raises(DataError, match=r"close\(reserve=\.\.\.\)"):
        load([tmp_path])
    with pytest.raises(DataError, match="no rows"):
        load([tmp_path / "none"])


def test_of_several_seeds_the_first_of_a_question_counts(tmp_path: Path) -> None:
    """What is learnt on one half and tested on the other must not share a question."""
    task = tmp_path / "ones.jsonl"
    task.write_text("\n".join(f'{{"question": "Number {i}?", "answer": "1"}}' for i in range(4)))
    policy = grid(CAPS, answers=(16, 32), rivals=[])
    table = {"tasks": [str(task)], "out": str(tmp_path / "run"), "policy": policy, "seeds": [1, 2]}
    asyncio.run(run(StudyConfig.from_mapping(table), engine=ScriptedEngine(reply)))
    assert load([tmp_path / "run"]).n == 4


def test_auto_is_a_policy_of_studies_too(folder: Path) -> None:
    assert PolicySpec("auto").bind()
