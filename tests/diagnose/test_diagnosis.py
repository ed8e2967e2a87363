"""From records to findings, tests and words, on simulated studies whose truth is known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from arms import made
from click.testing import CliRunner

from thinkcap.cli import main
from thinkcap.cli.diagnose import command
from thinkcap.diagnose.diagnosis import Diagnosis, diagnose
from thinkcap.diagnose.document import document
from thinkcap.logs.arms import UNJUDGED, Arm, Records, Stages
from thinkcap.logs.door import read
from thinkcap.verdict.page import as_json, as_text
from thinkcap.verdict.say import say

BUDGETS = (128, 256, 512, 1024, 2048)


def study(n: int = 600, seed: int = 0, scale: float = 500.0) -> list[Arm]:
    """Chains exponential with the given mean; right with 0.95 when ended, 0.1 when cut; direct answers 0.75."""
    rng = np.random.default_rng(seed)
    length = np.ceil(rng.exponential(scale, n)).astype(int)
    luck, direct = rng.random(n), rng.random(n) < 0.75
    short = np.ceil(rng.exponential(40, n)).astype(int)
    arms = []
    for b in BUDGETS:
        ended = length <= b
        arms.append(made("think", b, luck < np.where(ended, 0.95, 0.1), np.minimum(length, b), ended))
        arms.append(made("nothink", b, direct & (short <= b), np.minimum(short, b), short <= b))
        stage = np.where(ended, "think", "answer").astype(object)
        rescued = luck < np.where(ended, 0.95, 0.6)
        arms.append(made("iris", b, rescued, np.minimum(length, b), ended, extra={"stage": stage}))
    return arms


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    return diagnose(Records(tuple(study())), draws=300)


def test_the_truth_is_recovered(found: Diagnosis) -> None:
    (model,) = found.findings
    assert [row.budget for row in model.budgets] == list(BUDGETS)
    assert model.lengths is not None
    assert model.lengths.curve.median == pytest.approx(500 * np.log(2), rel=0.15)
    assert model.crossover is not None
    # 0.75 = F 0.95 + (1-F) 0.1 at F = 0.765: 723 tokens; on the log-interpolated grid about 710.
    assert model.crossover.interval == (512, 1024)
    assert model.crossover.low is not None
    assert model.crossover.high is not None
    assert model.crossover.low <= 715 <= model.crossover.high
    worst = model.budgets[0].tax
    assert worst is not None
    assert worst.regime == "truncation"
    assert model.lengths.decreasing is not None
    assert model.lengths.decreasing.p > 0.01


def test_splitting_is_measured_on_cut_chains(found: Diagnosis) -> None:
    parts = found.findings[0].splitting
    first = next(e for e in parts.extractions if e.split == "iris@128")
    assert first.coupled == "think@128"
    assert first.alpha_e == pytest.approx(0.6, abs=0.06)
    assert first.alpha_t == pytest.approx(0.1, abs=0.04)
    assert first.recoverable == pytest.approx(0.5 * first.cut / first.n, abs=0.06)


def test_the_modal_inequality_is_over_the_chains_still_running() -> None:
    """iris cut at 128 with 64 to answer, thinking observed beyond: all parts over the chains longer than 128."""
    arms = study()
    arms = [replace(a, stages=Stages(think=128, answer=64)) if a.name == "iris@128" else a for a in arms]
    found = diagnose(Records(tuple(arms)), draws=0).findings[0].splitting
    known = {e.split: e.modal for e in found.extractions}
    assert known["iris@256"] is None
    modal = known["iris@128"]
    assert modal is not None
    longest = next(a for a in arms if a.name == "think@2048")
    assert longest.tokens is not None
    alive, soon = longest.tokens > 128, (longest.tokens > 128) & (longest.tokens <= 192)
    assert modal.delta == pytest.approx(soon.sum() / alive.sum())
    assert modal.alpha_c_plus == pytest.approx(longest.right[soon].mean())
    # Of chains that would not end, reading the cut one: what thinking at 128 got there.
    cut = next(a for a in arms if a.name == "think@128")
    assert modal.epsilon == pytest.approx(cut.right[alive & ~soon].mean())
    assert modal.holds


def test_words_carry_their_numbers(found: Diagnosis) -> None:
    said = say(found).sentences
    loss = next(s for s in said if s.text.startswith("At 128 tokens, thinking loses"))
    assert f"{100 * -loss.numbers['difference']:.1f} points" in loss.text
    assert loss.numbers["n"] == 600
    assert loss.numbers["where_cut"] + loss.numbers["where_ended"] == pytest.approx(loss.numbers["difference"])


def test_the_verdict_begins_with_the_answer(found: Diagnosis) -> None:
    said = say(found)
    point = found.findings[0].crossover.point  # type: ignore[union-attr]
    assert said.headline.startswith("Thinking loses at 128 to 512 tokens and pays at 1024 to 2048 tokens")
    assert f"it breaks even at about {point:.0f} tokens (95 %: " in said.headline
    assert f"Best at 2048 tokens: {said.advice[-1].policy}, " in said.headline


@pytest.mark.parametrize(
    ("budgets", "direct", "words"),
    [
        ((128, 256), 0.75, "Thinking loses at 128 to 256 tokens. Best at 128 tokens: nothink@128, "),
        ((1024, 2048), 0.2, "Thinking pays at 1024 to 2048 tokens. Best at 2048 tokens: think@"),
        ((1024,), 0.83, "Thinking makes no clear difference at any cap run (1024 tokens). "),
    ],
)
def test_the_first_words_fit_what_was_seen(budgets: tuple[int, ...], direct: float, words: str) -> None:
    arms = [a for a in study(n=200) if a.budget in budgets and a.policy in ("think", "nothink")]
    luck = np.random.default_rng(5).random(200) < direct
    arms = [replace(a, verdict=luck.astype(np.int8)) if a.policy == "nothink" else a for a in arms]
    assert say(diagnose(Records(tuple(arms)), draws=0)).headline.startswith(words)


@pytest.mark.parametrize("opened", [0, 1])
def test_a_model_that_never_opens_a_thought_is_told_first(opened: int) -> None:
    arms = [
        made(mode, b, np.ones(40, dtype=bool), np.full(40, 30), np.ones(40, dtype=bool), extra=extra)
        for b in (64, 128)
        for mode, extra in (("nothink", {}), ("think", {"tokens_think": np.arange(40) * 0 + opened * (b == 128)}))
    ]
    first = say(diagnose(Records(tuple(arms)), draws=0)).headline
    assert first.startswith("None of the 80 answers in thinking mode opened a thought") == (opened == 0)


def test_json_is_plain_and_stable(found: Diagnosis) -> None:
    page = json.loads(as_json(found, {"statistics": {}}))
    assert set(page) == {
        "version",
        "rows",
        "notes",
        "headline",
        "comparisons",
        "cuts",
        "modal",
        "advice",
        "not_advised",
        "refused",
        "findings",
        "repeats",
        "elsewhere",
        "models",
        "cross_scale",
        "verdict",
        "traffic",
        "shadows",
        "labelled",
        "statistics",
    }
    assert page["version"] == 2
    keys = "model task first second matched_by n only_first only_second difference p p_holm"
    assert {" ".join(c) for c in page["comparisons"]} == {keys}
    assert {" ".join(a) for a in page["advice"]} == {"model task cap policy accuracy lower_bound tokens n group"}
    assert page["findings"][0]["budgets"][0]["tax"]["think"]["alpha_c"] > 0.9
    assert len(page["findings"][0]["lengths"]["curve"]["share"]) <= 200


def test_same_records_same_diagnosis() -> None:
    one, two = (as_json(diagnose(Records(tuple(study(n=150))), draws=100)) for _ in range(2))
    assert one == two


def test_two_models_are_compared() -> None:
    slow = [replace(a, model="slow") for a in study(seed=1, scale=1500)]
    found = diagnose(Records((*study(), *slow)), draws=0)
    ((task, first, second, p),) = ((m.task, m.first, m.second, m.p_holm) for m in found.models)
    assert (task, first, second) == ("t", "m", "slow")
    assert p < 1e-6
    assert any("The chains of slow are longer than those of m" in s.text for s in say(found).sentences)


def test_comparisons_stay_with_their_task() -> None:
    def task(name: str, seed: int) -> list[Arm]:
        chosen = [a for a in study(n=150, seed=seed) if a.budget == 128 and a.policy != "nothink"]
        more = [replace(a, policy="town", verdict=1 - a.verdict) for a in chosen if a.policy == "iris"]
        return [replace(a, task=name) for a in (*chosen, *more)]

    found = diagnose(Records((*task("one", 1), *task("two", 2))), draws=0)
    assert {(c.task, c.first, c.second) for c in found.comparisons.made} >= {
        ("one", "iris@128", "town@128"),
        ("two", "iris@128", "town@128"),
    }
    assert len(found.comparisons.of("m", "one").made) == len(found.comparisons.made) // 2


def test_repeated_runs_are_called_noise_or_change() -> None:
    base = study(n=200)[0]
    right = base.right.copy()
    right[np.flatnonzero(right)[:15]] = False
    again = replace(base, file="again", verdict=right.astype(np.int8))
    found = diagnose(Records((base, again)), draws=0)
    assert found.repeats[0].flipped == 15
    assert any("they are not noise" in s.text for s in say(found).sentences)


def test_other_questions_are_refused_and_said() -> None:
    arms = study(n=100)
    think = next(a for a in arms if a.name == "think@512")
    other = next(a for a in arms if a.name == "nothink@512")
    other = replace(other, content=other.content + 7, file="other")
    found = diagnose(Records((think, other)), draws=0)
    assert found.findings[0].budgets == ()
    assert any("different questions" in s.text for s in say(found).sentences)


def test_seeds_are_pooled_and_said() -> None:
    arms = [replace(a, seed=s) for s in (1, 2) for a in study(n=80, seed=s)]
    found = diagnose(Records(tuple(arms)), draws=0)
    assert {a.n for a in found.findings[0].arms} == {160}
    assert any("pooled" in note for note in say(found).notes)


def test_copies_of_a_seed_make_nothing_surer() -> None:
    """Three seeds that answered alike are one seed: each interval and each p stays what it was."""
    once = diagnose(Records(tuple(replace(a, seed=0) for a in study(n=120))), draws=200)
    thrice = diagnose(Records(tuple(replace(a, seed=s) for s in range(3) for a in study(n=120))), draws=200)
    one, three = once.findings[0], thrice.findings[0]
    assert {a.n for a in three.arms} == {360}
    assert [(a.accuracy.low, a.accuracy.high) for a in three.arms] == [
        pytest.approx((a.accuracy.low, a.accuracy.high)) for a in one.arms
    ]
    for single, pooled in zip(once.comparisons.made, thrice.comparisons.made, strict=True):
        assert (pooled.first, pooled.second, pooled.n) == (single.first, single.second, 3 * single.n)
        assert pooled.p_holm == pytest.approx(single.p_holm)
        assert (pooled.result.low, pooled.result.high) == pytest.approx((single.result.low, single.result.high))
        assert (pooled.result.questions, pooled.least_detectable) == (single.n, single.least_detectable)
    said = " ".join(s.text for s in say(thrice).sentences)
    assert "of 360 answers to 120 questions" in said
    assert "of 360 answers whose chain was cut" in said
    assert "questions whose chain" not in said
    assert "of 120 questions whose chain was cut" in " ".join(s.text for s in say(once).sentences)
    assert one.lengths is not None
    assert three.lengths is not None
    assert three.lengths.curve.quantile_interval() == one.lengths.curve.quantile_interval()
    assert one.crossover is not None
    assert three.crossover is not None
    assert (three.crossover.low, three.crossover.high) == (one.crossover.low, one.crossover.high)


def test_one_mode_alone_says_what_is_unknown() -> None:
    found = diagnose(Records(tuple(a for a in study(n=60) if a.policy == "think")), draws=0)
    assert any("the cost of thinking is unknown" in s.text for s in say(found).sentences)


def test_a_log_without_ends_gives_no_cause(tmp_path: Path) -> None:
    rows = [
        {
            "id": i,
            "correct": int(i % 3 > 0) if m == "nothink" else int(i % 3 == 0),
            "mode": m,
            "budget": 64,
            "gold": i,
        }
        for i in range(60)
        for m in ("think", "nothink")
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    result = CliRunner().invoke(command, [str(path)])
    assert result.exit_code == 0
    assert "At 64 tokens, thinking loses 33.3 points" in result.output
    assert "does not say which chains were cut" in " ".join(result.output.split())
    page = document(diagnose(read([path]), draws=0))
    assert page["findings"][0]["budgets"][0]["tax"] is None
    assert page["findings"][0]["lengths"] is None


def test_the_command_is_reached_through_the_door(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,correct,tokens,budget,mode\n1,1,5,8,think\n2,0,8,8,think\n")
    main(["diagnose", str(path), "--draws", "0"])
    assert "At 8 tokens, thinking gets 50.0 % right" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["diagnose", str(path), "--stop", "flagg"])
    assert stop.value.code == 2


def test_a_page_has_headings_and_begins_with_the_answer(found: Diagnosis) -> None:
    lines = as_text(found).splitlines()
    assert lines[2].startswith("Thinking loses at ")
    assert [line for line in lines if line in {s.topic for s in say(found).sentences if s.topic}] == [
        "What the cap costs",
        "How long chains are",
        "What other methods gain",
        "What to use",
    ]
    assert len(as_text(found, details=True).splitlines()) > len(lines)


def test_nothing_named_is_said_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("diagnose", "report"):
        with pytest.raises(SystemExit) as stop:
            main([word])
        assert stop.value.code == 2
        assert "name a study's folder or a log" in capsys.readouterr().err
    main(["report", "--list"])
    assert "loss-by-budget" in capsys.readouterr().out


def test_rows_that_nobody_judged_are_still_counted_and_measured() -> None:
    """A production log has lengths, ends and costs, and no verdicts."""
    arms = [replace(a, verdict=np.full(a.n, UNJUDGED, dtype=np.int8)) for a in study(n=80) if a.policy != "iris"]
    found = diagnose(Records(tuple(arms)), draws=0)
    (only,) = found.findings
    assert {(a.rows, a.n, a.accuracy.value) for a in only.arms} == {(80, 0, None)}
    assert only.lengths is not None
    assert only.lengths.curve.n == 80
    assert (found.comparisons.made, say(found).advice) == ((), ())
    assert "Half of the chains end within" in as_text(found)
    half = [
        replace(a, verdict=np.where(np.arange(a.n) < 40, a.verdict, UNJUDGED).astype(np.int8)) for a in study(n=80)
    ]
    assert {a.n for a in diagnose(Records(tuple(half)), draws=0).findings[0].arms} == {40}
