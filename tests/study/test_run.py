"""A study from plan to summary on a scripted model."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import slow_engine

from thinkcap.api import Studied as Result
from thinkcap.api import regrade_study as regrade
from thinkcap.api import run_study as run
from thinkcap.core.errors import ConfigError, DataError, EngineTimeout, StoreError
from thinkcap.core.prompts import Prompts
from thinkcap.diagnose.summary import load_summary
from thinkcap.dialects import named
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.logs.door import read
from thinkcap.policies.registry import parse_list
from thinkcap.report.explorer.page import write_page
from thinkcap.study.columns import read_columns
from thinkcap.study.config import StudyConfig
from thinkcap.study.values import PolicyPlan, parse_budgets


def config(
    questions: Path, out: Path, policies: str = "nothink,think,think[heuristic]", **more: object
) -> StudyConfig:
    base = StudyConfig(
        tasks=(str(questions),),
        policies=tuple(PolicyPlan(spec) for spec in parse_list(policies)),
        budgets=parse_budgets("4:64:4"),
        out=out,
    )
    return replace(base, **more)  # type: ignore[arg-type]


def engine() -> ScriptedEngine:
    return ScriptedEngine(slow_engine.reply)


def cell(result: Result, policy: str, budget: int) -> dict[str, object]:
    cells: list[dict[str, object]] = result.summary["cells"]  # type: ignore[assignment]
    return next(c for c in cells if (c["policy"], c["budget"]) == (policy, budget))


async def test_dense_study_generates_no_more_than_one_run_per_mode(questions: Path, tmp_path: Path) -> None:
    model = engine()
    result = await run(config(questions, tmp_path / "dense"), engine=model)
    single = engine()
    await run(config(questions, tmp_path / "single", "nothink,think", budgets=(64,)), engine=single)
    assert model.generated == single.generated == result.summary["tokens_generated"]
    assert len(result.summary["cells"]) == 3 * 16  # type: ignore[arg-type]


async def test_every_derived_cell_equals_a_run_at_that_budget_alone(questions: Path, tmp_path: Path) -> None:
    policies = "nothink,think,think[heuristic],close,iris,town"
    dense = await run(config(questions, tmp_path / "dense", policies), engine=engine())
    for budget in (8, 24, 40, 64):
        alone = await run(
            config(questions, tmp_path / f"b{budget}", policies, budgets=(budget,), concurrency=1), engine=engine()
        )
        for policy in policies.split(","):
            ours, theirs = cell(dense, policy, budget), cell(alone, policy, budget)
            for name in ("accuracy", "ended_rate", "tokens_charged_mean", "unreadable", "stages"):
                assert ours[name] == theirs[name], (policy, budget, name)


async def test_sources_are_told_apart(questions: Path, tmp_path: Path) -> None:
    result = await run(config(questions, tmp_path / "a", "think,iris"), engine=engine())
    assert cell(result, "think", 64)["source"] == "online"
    assert cell(result, "think", 8)["source"] == "derived"
    online = await run(config(questions, tmp_path / "b", "think", online=True), engine=engine())
    assert cell(online, "think", 8)["source"] == "online"


async def test_a_rerun_does_nothing_and_a_longer_one_only_the_rest(questions: Path, tmp_path: Path) -> None:
    short = config(questions, tmp_path / "a", limit=5)
    await run(short, engine=engine())
    again = engine()
    await run(short, engine=again)
    assert again.calls == []
    more = engine()
    result = await run(replace(short, limit=7), engine=more)
    assert len(more.calls) == 4  # two more questions in two modes
    assert cell(result, "think", 64)["n"] == 7


async def test_a_finished_study_is_not_written_again(questions: Path, tmp_path: Path) -> None:
    await run(config(questions, tmp_path / "run"), engine=engine())
    written = {name: (tmp_path / "run" / name).stat() for name in ("rows.parquet", "chains.jsonl")}
    await run(config(questions, tmp_path / "run"), engine=engine())
    for name, before in written.items():
        after = (tmp_path / "run" / name).stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns), name


async def test_failures_are_rows_without_a_verdict_and_a_rerun_retries_only_them(
    questions: Path, tmp_path: Path
) -> None:
    def broken(prompt: str) -> str | EngineTimeout:
        return EngineTimeout("no answer in 5 s") if "????\n" in prompt else slow_engine.reply(prompt)

    plan = config(questions, tmp_path / "a", "nothink", budgets=(32,))
    result = await run(plan, engine=ScriptedEngine(broken))
    found = cell(result, "nothink", 32)
    assert result.failed == found["failed"] == 9  # all questions of four marks and more
    assert found["graded"] == 3
    rows = [json.loads(line) for line in (tmp_path / "a/rows.jsonl").read_text().splitlines()]
    assert {row["verdict"] for row in rows if row["failed"]} == {None}
    assert "EngineTimeout: no answer in 5 s" in {row["error"] for row in rows}
    healed = engine()
    assert (await run(plan, engine=healed)).failed == 0
    assert len(healed.calls) == 9


async def test_summary_is_checked_against_its_rows(questions: Path, tmp_path: Path) -> None:
    await run(config(questions, tmp_path, "nothink", budgets=(32,)), engine=engine())
    summary = load_summary(tmp_path)
    assert summary["provenance"]["status"] == "actual"
    assert {"fingerprint", "transport"} <= set(summary["provenance"]["engine"])
    text = (tmp_path / "summary.json").read_text()
    right = summary["cells"][0]["right"]
    (tmp_path / "summary.json").write_text(text.replace(f'"right": {right},', f'"right": {right + 1},'))
    with pytest.raises(DataError, match="its rows say"):
        load_summary(tmp_path)


async def test_rows_as_columns(questions: Path, tmp_path: Path) -> None:
    await run(config(questions, tmp_path, "iris", budgets=(16, 64)), engine=engine())
    columns = read_columns(tmp_path / "rows.parquet", ("verdict", "budget", "tokens_charged"))
    assert len(columns.text("verdict").codes) == len(columns) == 24
    assert set(columns.number("budget")) == {16, 64}
    assert columns.number("tokens_charged").dtype.kind == "i"


async def test_another_model_in_the_same_folder_is_refused(questions: Path, tmp_path: Path) -> None:
    plan = config(questions, tmp_path, "think", budgets=(8,))
    await run(plan, engine=engine())
    other = ScriptedEngine(slow_engine.reply, switch="block")
    with pytest.raises(StoreError, match="choose another --out"):
        await run(plan, engine=other)


async def test_seed_does_not_change_a_greedy_full_set(questions: Path, tmp_path: Path) -> None:
    one = await run(config(questions, tmp_path / "a", seeds=(1,)), engine=engine())
    two = await run(config(questions, tmp_path / "b", seeds=(2,)), engine=engine())
    assert [c["accuracy"] for c in one.summary["cells"]] == [c["accuracy"] for c in two.summary["cells"]]  # type: ignore[attr-defined]


async def test_several_seeds_give_mean_and_spread(questions: Path, tmp_path: Path) -> None:
    result = await run(
        config(questions, tmp_path, "nothink", budgets=(32,), seeds=(1, 2, 3), limit=6), engine=engine()
    )
    spread = cell(result, "nothink", 32)["seeds"]
    assert set(spread["by_seed"]) == {"1", "2", "3"}  # type: ignore[index]
    assert spread["sd"] is not None  # type: ignore[index]


async def test_seeds_that_answer_alike_make_nothing_surer(questions: Path, tmp_path: Path) -> None:
    """Greedy answers do not depend on the seed: three seeds have the interval of one."""
    ways = {"policies": "nothink,think", "budgets": (16, 32)}
    one = await run(config(questions, tmp_path / "one", seeds=(1,), **ways), engine=engine())
    three = await run(config(questions, tmp_path / "three", seeds=(1, 2, 3), **ways), engine=engine())
    for single, pooled in zip(one.summary["cells"], three.summary["cells"], strict=True):  # type: ignore[call-overload]
        assert pooled["graded"] == 3 * single["graded"]
        assert pooled["ci"] == pytest.approx(single["ci"])
    p = [[c["p"] for c in result.summary["comparisons"]] for result in (one, three)]  # type: ignore[attr-defined]
    assert p[1] == pytest.approx(p[0])


async def test_verify_prefix_reports_agreement(questions: Path, tmp_path: Path) -> None:
    result = await run(config(questions, tmp_path, verify_prefix=3), engine=engine())
    checks = result.summary["verify_prefix"]
    assert checks["checked"] == checks["cut_equals_fresh"] == 6  # type: ignore[index]
    assert checks["continued"] == checks["continued_equals_whole"] > 0  # type: ignore[index]


async def test_every_policy_by_its_own_name_can_be_diagnosed_and_shown(questions: Path, tmp_path: Path) -> None:
    plan = config(questions, tmp_path, "nothink,think,split,close,iris,town,two_pass", budgets=(24, 48))
    await run(plan, engine=engine())
    page = write_page(tmp_path)
    assert "split" in page.read_text()


async def test_prompts_of_ones_own_reach_the_model_and_the_rows(questions: Path, tmp_path: Path) -> None:
    seen: list[str] = []

    def listening(prompt: str) -> str:
        seen.append(prompt)
        return slow_engine.reply(prompt)

    mine = Prompts.from_mapping({"instruction": "Tell me: {form}"})
    plan = config(questions, tmp_path, "nothink", budgets=(32,), prompts=mine)
    result = await run(plan, engine=ScriptedEngine(listening))
    assert all("Tell me: #### number" in prompt and "Solve it" not in prompt for prompt in seen)
    assert result.summary["provenance"]["prompts"] == mine.hash  # type: ignore[index]


async def test_regrading_needs_no_model(questions: Path, tmp_path: Path) -> None:
    await run(config(questions, tmp_path, "think,think[heuristic]", budgets=(16, 64)), engine=engine())
    before = load_summary(tmp_path)["cells"]
    lines = questions.read_text().splitlines()
    questions.write_text("\n".join([lines[0].replace('"answer": "1"', '"answer": "77"'), *lines[1:]]))
    changed = await regrade(tmp_path)
    assert {key[1] for key, _, _ in changed.flips} <= {"q0"}
    assert changed.rows == 48
    assert len(load_summary(tmp_path)["cells"]) == len(before)


async def test_regrading_imports_nothing_that_a_run_names(questions: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    await run(config(questions, out, "nothink", budgets=(16,)), engine=engine())
    mark = tmp_path / "was_run"
    (tmp_path / "trap_of_a_run.py").write_text(f"open({str(mark)!r}, 'w').close()\nthing = 5\n")
    plan = (out / "study.toml").read_text()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        (out / "study.toml").write_text(plan.replace("policy = [", 'policy = [{ name = "trap_of_a_run:thing" },'))
        assert "trap_of_a_run" in (out / "study.toml").read_text()
        assert (await regrade(out)).rows == 12
        (out / "study.toml").write_text(plan.replace(str(questions), "trap_of_a_run:thing"))
        with pytest.raises(ConfigError, match="add --task trap_of_a_run:thing"):
            await regrade(out)
        assert not mark.exists()
        with pytest.raises(ConfigError, match="is a int; wanted a Task"):  # named by the user, it is imported
            await regrade(out, modules=("trap_of_a_run:thing",))
        assert mark.exists()


async def test_rows_say_how_they_were_sampled_and_in_which_dialect(questions: Path, tmp_path: Path) -> None:
    spoken = replace(named("qwen3"), name="", open_tag="<mull>", close_tag="</mull>")
    wanted = config(questions, tmp_path / "a", "think", budgets=(64,), sampling="recommended")
    await run(wanted, engine=ScriptedEngine(slow_engine.reply, sampled=True, dialect=spoken))
    rows = read_columns(tmp_path / "a" / "rows.parquet", ("dialect", "dialect_by", "temperature", "top_p"))
    assert {rows.text("dialect").of(0), rows.text("dialect_by").of(0)} == {"<mull> ... </mull>", "table"}
    assert (set(rows.number("temperature")), set(rows.number("top_p"))) == ({0.6}, {0.95})
    arm = read([tmp_path / "a"]).arms[0]
    assert (arm.provenance["dialect"], arm.provenance["dialect_by"]) == ("<mull> ... </mull>", "table")
