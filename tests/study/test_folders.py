"""Runs that do not eat each other: a folder for each study, found again by the same one, the latest linked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import slow_engine
import tomli_w

from thinkcap.api import Studied, run_study
from thinkcap.cli import main
from thinkcap.core.errors import ConfigError
from thinkcap.core.prompts import Prompts
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.policies.registry import parse_list
from thinkcap.study.config import StudyConfig
from thinkcap.study.estimate import estimate
from thinkcap.study.folders import refuse_other, run_name, said_of
from thinkcap.study.journal import Journal
from thinkcap.study.plan import plan
from thinkcap.study.values import PolicyPlan


@pytest.fixture
def config(questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyConfig:
    monkeypatch.chdir(tmp_path)
    policies = tuple(PolicyPlan(spec) for spec in parse_list("nothink,think"))
    return StudyConfig(
        model="slow_engine:factory", tasks=("questions.jsonl",), policies=policies, budgets=(16, 64), limit=8
    )


async def done(config: StudyConfig) -> tuple[Studied, ScriptedEngine]:
    engine = ScriptedEngine(slow_engine.reply)
    return await run_study(config, engine=engine), engine


def test_a_name_says_model_and_task() -> None:
    def name(model: str, *tasks: str) -> str:
        return run_name({"model": model, "tasks": list(tasks)})[:-9]

    assert name("bundled", "families") == "bundled-families"
    assert name("/models/Qwen3-8B-Q4.gguf", "gsm8k") == "Qwen3-8B-Q4-gsm8k"
    assert name("http://localhost:8000/v1#Qwen/Qwen3-8B", "my data/mine.jsonl") == "Qwen3-8B-mine"
    assert name("http://localhost:8000/v1", "bbh:word_sorting", "gsm8k") == "localhost-8000-bbh-word_sorting+1"
    assert name("..", "///") == "run-run"


def test_what_only_changes_the_pace_keeps_the_name(config: StudyConfig) -> None:
    assert replace(config, concurrency=3, timeout_s=5.0).folder == config.folder
    others = [
        replace(config, limit=2),
        replace(config, budgets=(16,)),
        replace(config, seeds=(1,)),
        replace(config, temperature=0.5),
        replace(config, online=True),
        replace(config, policies=config.policies[:1]),
    ]
    assert len({c.folder for c in [config, *others]}) == 1 + len(others)


async def test_a_small_try_leaves_a_big_study_as_it_is(config: StudyConfig) -> None:
    big, _ = await done(config)
    before = {path.name: path.read_bytes() for path in big.folder.iterdir()}
    assert Path("runs/study").resolve() == big.folder.resolve()
    small, _ = await done(replace(config, limit=2))
    assert small.folder != big.folder
    assert {path.name: path.read_bytes() for path in big.folder.iterdir()} == before
    assert Path("runs/study").resolve() == small.folder.resolve()
    assert said_of(small.folder) == " (also as runs/study)"
    assert said_of(big.folder) == ""


async def test_the_same_settings_go_on_where_they_stopped(config: StudyConfig) -> None:
    await done(config)
    again, engine = await done(config)
    assert engine.calls == []
    assert estimate(config).rows_done == 32
    assert Path("runs/study/rows.jsonl").resolve() == (again.folder / "rows.jsonl").resolve()
    assert sorted(path.name for path in Path("runs").iterdir()) == sorted([again.folder.name, "study"])


@pytest.mark.parametrize("what", ["limit", "budgets", "temperature", "online", "prompts"])
async def test_another_study_in_the_folder_of_a_finished_one_is_refused(what: str, config: StudyConfig) -> None:
    mine = replace(config, out=Path("mine"))
    await done(mine)
    before = {path.name: path.read_bytes() for path in Path("mine").iterdir()}
    other = {
        "limit": replace(mine, limit=2),
        "budgets": replace(mine, budgets=(16,)),
        "temperature": replace(mine, temperature=0.5),
        "online": replace(mine, online=True),
        "prompts": replace(mine, prompts=Prompts.from_mapping({"hint": "{answer}?"})),
    }[what]
    with pytest.raises(ConfigError, match=rf"finished study with other settings .*{what}.*--out"):
        estimate(other)
    with pytest.raises(ConfigError, match="finished study with other settings"):
        await done(other)
    assert {path.name: path.read_bytes() for path in Path("mine").iterdir()} == before


async def test_a_finished_study_may_grow(config: StudyConfig) -> None:
    mine = replace(config, out=Path("mine"))
    await done(mine)
    grown, _ = await done(replace(mine, limit=None, budgets=(16, 32, 64), seeds=(0, 1)))
    assert len(grown.rows) == 12 * 3 * 2 * 2
    assert not Path("runs").exists()


async def test_a_folder_named_for_a_study_keeps_to_it(config: StudyConfig) -> None:
    await done(config)
    with pytest.raises(ConfigError, match=r"larger than the one 'slow_engine-factory-questions-[0-9a-f]{8}'"):
        await done(replace(config, limit=None, out=Path("runs/study")))
    again, engine = await done(replace(config, out=Path("runs/study")))
    assert len(again.rows) == 32
    assert engine.calls == []


async def test_a_real_folder_of_an_older_version_stays(config: StudyConfig) -> None:
    old = Path("runs/study")
    old.mkdir(parents=True)
    (old / "summary.json").write_text("precious")
    result, _ = await done(config)
    assert (old / "summary.json").read_text() == "precious"
    assert not old.is_symlink()
    assert "was left as it is" in said_of(result.folder)


async def test_runs_are_listed(config: StudyConfig, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
    assert "no runs in 'runs'" in capsys.readouterr().out
    finished, _ = await done(config)
    stopped = replace(config, limit=2)
    stopped.folder.mkdir()
    (stopped.folder / "rows.jsonl").write_text("{}\n{}\n{")
    (stopped.folder / "study.toml").write_text("= broken")
    assert main(["runs"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["run", "model", "task", "rows"]
    assert len(lines) == 2
    (line,) = [line for line in lines if line.startswith(finished.folder.name)]
    best = max(c["accuracy"] for c in finished.summary["cells"])
    assert "finished" in line
    assert f"{100 * best:.1f} %" in line
    with Journal(finished.folder / "rows.jsonl", plan(config), config.prompts.hash):
        assert main(["runs", "--json"]) == 0
    found = {run["name"]: (run["state"], run["rows"]) for run in json.loads(capsys.readouterr().out)}
    assert found == {finished.folder.name: ("running", 32), stopped.folder.name: ("stopped", 2)}


def test_a_server_at_another_address_is_the_same_study(tmp_path: Path) -> None:
    study = {
        "model": "http://localhost:8000/v1#Qwen/Qwen3-8B",
        "tasks": ["gsm8k"],
        "seeds": [0],
        "limit": 5,
        "policy": [{"name": "think"}],
        "budgets": [64],
    }
    (tmp_path / "study.toml").write_text(tomli_w.dumps(study))
    (tmp_path / "summary.json").write_text("{}")
    refuse_other(tmp_path, {**study, "model": "http://localhost:9000/v1#Qwen/Qwen3-8B"})
    with pytest.raises(ConfigError, match=r"other settings \(model\)"):
        refuse_other(tmp_path, {**study, "model": "http://localhost:8000/v1#Qwen/Qwen3-4B"})
