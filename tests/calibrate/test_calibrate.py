"""A profile says what the rows say, survives its file, and refuses what a gateway cannot run."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from thinkcap.calibrate.calibrate import calibrate
from thinkcap.calibrate.profile import RIVAL, Profile
from thinkcap.cli.calibrate import command
from thinkcap.core.engine import EngineCard
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.core.types import Answer, Completion, Graded, Question, Request, Run, Step
from thinkcap.diagnose.summary import summarise, write_summary
from thinkcap.logs import read
from thinkcap.policies.registry import PolicySpec, facts, parse
from thinkcap.report.material import load
from thinkcap.statistics.precision import wilson
from thinkcap.study.columns import write_parquet
from thinkcap.study.config import StudyConfig
from thinkcap.study.plan import Cell
from thinkcap.study.rows import Row, make_row
from thinkcap.tasks import Task

RIGHT = {
    ("nothink", 32): 50,
    ("think", 32): 0,
    ("nothink", 64): 60,
    ("close", 64): 10,
    ("nothink", 512): 61,
    ("close", 512): 61,
    ("iris(first=96)", 512): 80,
    ("gate", 512): 85,
    ("vote", 512): 90,
    ("think", 512): 95,
    ("placebo", 512): 100,
}
CARD = EngineCard("scripted", "m", "m-1", "ids")


def row(task: str, number: int, policy: str, budget: int, right: bool) -> Row:
    question = Question(f"q{number}", ({"role": "user", "content": "?"},), kind="number")
    spent = 40 if policy == "close" else 30
    done = [
        Step(Request(question, "think", budget // share, stage), Completion("1", True, tokens, answer="1"))
        for stage, share, tokens in (("probe", 4, 9), ("think", 2, spent - 9))
    ]
    run = Run(Answer("1", "think", done[-1].completion), tuple(done))
    cell = Cell(Task(task, (question,), {question.id: "1"}, ""), question, parse(policy), budget, 0, question)
    return make_row(cell, Graded(run, "right" if right else "wrong", "1", 1), CARD, prompts="p")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        row("easy" if number % 2 else "hard", number, policy, budget, number < right)
        for (policy, budget), right in RIGHT.items()
        for number in range(100)
    ]
    about = {"engine": {"model": "m", "fingerprint": "m-1"}, "prompts": "p"}
    write_parquet(rows, tmp_path / "rows.parquet")
    write_summary(summarise(tmp_path / "rows.parquet", about), tmp_path / "summary.json")
    return tmp_path


def test_every_cap_gets_the_policy_with_the_best_lower_bound(folder: Path) -> None:
    profile = calibrate(folder).profile
    small, large = profile.rules
    assert (small.at_least, small.policy.label) == (64, "nothink")
    assert small.evidence["lower_bound"] == round(wilson(60, 100).low or 0, 4)
    # The placebo did best and needs a second question; bare thinking and the vote can end without an answer; the
    # gate needs a kind, so the next best stands beside it. At 32 tokens nothing was measured to weigh.
    assert (large.at_least, large.policy.label) == (512, "gate")
    assert large.otherwise is not None
    assert large.otherwise.label == "iris(first=96)"
    # A gate begins with a vote, which has no stages.
    assert small.evidence["stages"] == {"probe": 16, "think": 32}
    assert "stages" not in large.evidence
    assert (profile.model, profile.fingerprint) == ("m", "m-1")


def test_a_large_study_needs_no_leave_to_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five million rows take more than a stranger's log may: that would be found out when they are all made."""
    monkeypatch.setattr("thinkcap.logs.formats.study.unpacked", lambda *_: 3 << 30)
    with pytest.raises(DataError, match="--memory"):
        read([folder])
    assert calibrate(folder).profile.rules
    assert load([folder]).records.arms


def test_equal_bounds_go_to_the_cheaper_policy(tmp_path: Path) -> None:
    rows = [row("t", n, policy, 64, n < 50) for policy in ("close", "nothink") for n in range(100)]
    write_parquet(rows, tmp_path / "rows.parquet")
    write_summary(summarise(tmp_path / "rows.parquet", {}), tmp_path / "summary.json")
    assert calibrate(tmp_path).profile.rules[0].policy.label == "nothink"


def test_a_policy_that_a_comparison_shows_to_be_worse_is_out(tmp_path: Path) -> None:
    # `close` was asked 300 easy questions more, which lifts its bound; on the questions of both it clearly loses.
    rows = [row("t", n, "close", 64, n < 330) for n in range(400)]
    rows += [row("t", n, "split", 64, n >= 320) for n in range(300, 400)]
    write_parquet(rows, tmp_path / "rows.parquet")
    write_summary(summarise(tmp_path / "rows.parquet", {}), tmp_path / "summary.json")
    assert (wilson(330, 400).low or 0) > (wilson(80, 100).low or 0)
    assert calibrate(tmp_path).profile.rules[0].policy.label == "split"


def write_study(folder: Path, rows: list[Row]) -> Path:
    write_parquet(rows, folder / "rows.parquet")
    about = {"engine": {"model": "m", "fingerprint": "f"}}
    write_summary(summarise(folder / "rows.parquet", about), folder / "summary.json")
    return folder


def test_a_larger_cap_never_gets_less_than_a_smaller_budget_gives(tmp_path: Path) -> None:
    measured = {("nothink", 80): 48, ("split", 224): 55, ("gate", 304): 45, ("close", 304): 44, ("split", 416): 57}
    rows = [row("t", n, *way, n < right) for way, right in measured.items() for n in range(60)]
    write_study(tmp_path, rows)
    profile = calibrate(tmp_path).profile
    assert [(r.at_least, r.policy.label, r.budget) for r in profile.rules] == [
        (224, "split", None),
        (304, "split", 224),
        (416, "split", None),
    ]
    assert Profile.from_mapping(tomllib.loads(profile.to_toml())) == profile


def test_the_choice_without_an_answer_type_has_a_budget_of_its_own(tmp_path: Path) -> None:
    measured = {("split", 128): 40, ("close", 256): 30, ("gate", 256): 50}
    rows = [row("t", n, *way, n < right) for way, right in measured.items() for n in range(60)]
    rule = calibrate(write_study(tmp_path, rows)).profile.rules[-1]
    assert (rule.policy.label, rule.budget) == ("gate", None)
    assert (rule.otherwise, rule.otherwise_budget) == (PolicySpec("split"), 128)


def test_a_policy_measured_on_other_questions_is_named(tmp_path: Path) -> None:
    rows = [row("t", n, policy, 64, n < 50) for policy in ("close", "nothink") for n in range(100)]
    rows += [row("t", n, "split", 64, True) for n in range(100, 160)]
    write_study(tmp_path, rows)
    path = tmp_path / "p.toml"
    result = CliRunner().invoke(command, [str(tmp_path), "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "not considered: split@64 was measured on other questions (0 of these 100)" in result.output
    assert Profile.from_file(path).rules[0].policy.label == "nothink"


def test_a_study_that_cannot_say_when_thinking_pays_is_refused(tmp_path: Path) -> None:
    rows = [row("t", n, policy, 64, n < 50) for policy in ("think", "nothink") for n in range(100)]
    write_parquet(rows, tmp_path / "rows.parquet")
    write_summary(summarise(tmp_path / "rows.parquet", {}), tmp_path / "summary.json")
    with pytest.raises(DataError, match="--policy nothink,think,close,split"):
        calibrate(tmp_path)


def test_what_a_study_measures_by_default_can_be_calibrated() -> None:
    default = [plan.spec for plan in StudyConfig().policies]
    assert PolicySpec(RIVAL) in default
    assert not facts(PolicySpec(RIVAL)).may_be_empty


def test_a_profile_says_where_it_may_be_worse_than_none(folder: Path, tmp_path: Path) -> None:
    assert calibrate(folder).profile.doubts() == ()
    rows = [row("t", n, policy, 64, n < 50) for policy in ("split", "nothink") for n in range(100)]
    write_parquet(rows, tmp_path / "rows.parquet")
    write_summary(summarise(tmp_path / "rows.parquet", {}), tmp_path / "summary.json")
    (unknown,) = calibrate(tmp_path).profile.doubts()
    assert "did not measure close" in unknown
    assert "at caps 64" in unknown
    written = {"model": "m", "cap": [{"at_least": 9, "policy": "think"}]}
    (silent,) = Profile.from_mapping(written).doubts()
    assert "think can use up the cap without an answer" in silent


def test_a_profile_survives_its_file_and_an_edit(folder: Path, tmp_path: Path) -> None:
    profile = calibrate(folder).profile
    path = tmp_path / "p.toml"
    result = CliRunner().invoke(command, [str(folder), "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "gate" in result.output
    assert Profile.from_file(path) == profile
    path.write_text(path.read_text().replace('policy = "gate"', 'policy = "iris(first=10)"'))
    edited = Profile.from_file(path).rule(600)
    assert edited is not None
    assert edited.policy.label == "iris(first=10)"


def test_caps_between_and_below_the_grid(folder: Path) -> None:
    profile = calibrate(folder).profile
    assert profile.rule(63) is None
    assert profile.rule(511) is profile.rules[0]
    assert profile.rule(10**6) is profile.rules[1]


def test_tasks_can_be_chosen_and_are_checked(folder: Path) -> None:
    assert calibrate(folder, tasks=["easy"]).profile.rules[0].evidence["n"] == 50
    with pytest.raises(ConfigError, match="did you mean 'easy'"):
        calibrate(folder, tasks=["easi"])


def test_a_damaged_run_is_refused(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    summary["cells"][0]["right"] += 1
    (folder / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(DataError, match="its rows say"):
        calibrate(folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('model = "m"\nmodle = 1\n[[cap]]\nat_least = 1\npolicy = "nothink"', "did you mean 'model'"),
        ('model = "m"\n[[cap]]\nat_least = 0\npolicy = "nothink"', "at_least"),
        ('model = "m"\n[[cap]]\nat_least = 5\npolicy = "irisx"', "did you mean 'iris'"),
        ('model = "m"\n[[cap]]\nat_least = 5\npolicy = "placebo"', "second question"),
        ('model = "m"\n[[cap]]\nat_least = 5\npolicy = "vote"\notherwise = "gate"', "needs an answer kind"),
        ('model = "m"\n[[cap]]\nat_least = 9\npolicy = "close"\n[[cap]]\nat_least = 5\npolicy = "close"', "grow"),
        ('model = "m"\n[[cap]]\nat_least = 5\npolicy = "close"\nbudget = 0', "budget"),
        ('model = "m"\n[[cap]]\nat_least = 5\npolicy = "close"\notherwise_budget = 4', "add `otherwise`"),
        ("model = ", "not TOML"),
    ],
)
def test_bad_profiles_say_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        Profile.from_file(path)
