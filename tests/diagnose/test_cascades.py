"""The preset `cascades` on the bundled model: all it should show is there, and agrees with counts of the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from thinkcap.api import study
from thinkcap.cli.diagnose import command
from thinkcap.policies.registry import POLICIES, RIVALS
from thinkcap.study.cascades import CASCADES
from thinkcap.study.config import StudyConfig
from thinkcap.study.options import from_options

FIRST, CUT, ANSWER = 16, 96, 32
IRIS = "iris(first=16,think=96,answer=32)"
TOWN = "town(first=16,second=96)@112"
SPLIT = "split(think=96,answer=32)@128"

Rows = dict[str, dict[str, dict[str, Any]]]


class Seen:
    """Rows by arm and question, as the journal has them, and what the diagnosis says of them."""

    def __init__(self, folder: Path) -> None:
        self.rows: Rows = {}
        for line in (folder / "rows.jsonl").read_text().splitlines():
            row = json.loads(line)
            self.rows.setdefault(f"{row['policy']}@{row['budget']}", {})[row["question"]] = row
        self.page = json.loads(CliRunner().invoke(command, [str(folder), "--json", "--draws", "0"]).output)
        self.summary = json.loads((folder / "summary.json").read_text())
        (self.found,) = self.page["findings"]

    def right(self, arm: str) -> dict[str, bool]:
        return {q: row["verdict"] == "right" for q, row in self.rows[arm].items()}

    def cut(self, arm: str) -> list[str]:
        """Questions whose chain was cut and answered in a pass of its own."""
        return [q for q, row in self.rows[arm].items() if row["stage"] == "extract" and not row["ended"]]

    def share(self, arm: str, questions: list[str]) -> float:
        right = self.right(arm)
        return sum(right[q] for q in questions) / len(questions)

    def comparison(self, first: str, second: str) -> dict[str, Any]:
        (found,) = (c for c in self.page["comparisons"] if (c["first"], c["second"]) == (first, second))
        return dict(found)

    def extraction(self, split: str, coupled: str) -> dict[str, Any]:
        every = self.found["splitting"]["extractions"]
        (found,) = (e for e in every if (e["split"], e["coupled"]) == (split, coupled))
        return dict(found)


@pytest.fixture(scope="module", params=[4, pytest.param(60, marks=pytest.mark.campaign)])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, campaign: Any) -> Seen:
    folder = tmp_path_factory.mktemp("cascades") / "run"
    study(preset="cascades", limit=max(4, campaign.of(request.param)), out=str(folder))
    return Seen(folder)


def test_a_third_of_the_questions_is_thought_about(seen: Seen) -> None:
    sent = [row for row in seen.rows[f"{IRIS}@144"].values() if row["stage"] != "probe"]
    assert len(sent) >= len(seen.rows[TOWN]) / 3


@pytest.mark.parametrize(
    ("first", "second", "by"),
    [
        (f"{IRIS}@144", TOWN, "stages"),
        ("mrsd(first=16,think=96,answer=32,rounds=3)@400", f"{IRIS}@144", "stages"),
        (SPLIT, "think@96", "stages"),
        (SPLIT, "think@128", "cap"),
        ("think@144", "nothink@144", "cap"),
    ],
)
def test_comparisons_are_counts_of_the_rows(seen: Seen, first: str, second: str, by: str) -> None:
    one, two, c = seen.right(first), seen.right(second), seen.comparison(first, second)
    only = sum(one[q] and not two[q] for q in one), sum(two[q] and not one[q] for q in one)
    assert (c["matched_by"], c["n"], c["only_first"], c["only_second"]) == (by, len(one), *only)
    assert c["difference"] == pytest.approx((only[0] - only[1]) / len(one))


def test_the_summary_has_the_same_comparisons(seen: Seen) -> None:
    assert seen.summary["comparisons"] == seen.page["comparisons"]


@pytest.mark.parametrize(
    ("split", "coupled"), [(SPLIT, "think@128"), (f"{IRIS}@144", "town(first=16,second=128)@144")]
)
def test_the_modal_inequality_is_counted_on_the_chains_still_running(seen: Seen, split: str, coupled: str) -> None:
    (found,) = (m for m in seen.page["modal"] if (m["split"], m["coupled"]) == (split, coupled))
    chains = seen.cut(split)
    ended = [q for q in chains if seen.rows[coupled][q]["ended"]]
    rest = [q for q in chains if q not in ended]
    assert found["cut"] == CUT
    assert found["delta"] == pytest.approx(len(ended) / len(chains))
    assert found["pi_eta"] == pytest.approx(seen.share(split, chains))
    assert found["alpha_c"] == (pytest.approx(seen.share(coupled, ended)) if ended else None)
    assert found["epsilon"] == pytest.approx(seen.share(coupled, rest))
    gap = seen.share(split, chains) - seen.share(coupled, chains)
    assert found["margin"] == pytest.approx(gap) == found["observed"]
    assert found["holds"] == (gap > 0)


def test_cuts_are_on_chains_longer_than_the_cut(seen: Seen) -> None:
    long = seen.rows["think@512"]
    assert [c["cut"] for c in seen.page["cuts"]] == [48, 96, 192, 384]
    for c in seen.page["cuts"]:
        alive = [q for q, row in long.items() if not row["ended"] or row["tokens_charged"] > c["cut"]]
        assert c["n"] == len(alive)
        split, on = f"split(think={c['cut']},answer=32)@{c['cut'] + 32}", f"think@{c['cut'] + 32}"
        assert c["extract"] == pytest.approx(seen.share(split, alive))
        assert c["continue"] == pytest.approx(seen.share(on, alive))
        assert c["advantage"] == pytest.approx(c["extract"] - c["continue"])


@pytest.mark.parametrize(("split", "coupled"), [(SPLIT, "think@96"), (f"{IRIS}@144", TOWN)])
def test_recoverable_and_residual_tax_add_up(seen: Seen, split: str, coupled: str) -> None:
    found = seen.extraction(split, coupled)
    every, chains = list(seen.rows[split]), seen.cut(split)
    share = len(chains) / len(every)
    recoverable = share * (seen.share(split, chains) - seen.share(coupled, chains))
    tax = seen.share(found["direct"], every) - seen.share(coupled, every)
    assert found["recovery"]["recoverable"] == pytest.approx(recoverable)
    assert found["recovery"]["residual"] == pytest.approx(tax - recoverable)


def test_gold_in_the_trace_is_apart_from_finding_it(seen: Seen) -> None:
    found = seen.extraction(SPLIT, "think@96")["derivability"]
    chains = seen.cut(SPLIT)
    there = [q for q in chains if seen.rows[SPLIT][q]["notes"]["gold_in_trace"]]
    assert found["pi"] == pytest.approx(len(there) / len(chains))
    assert found["eta"] == (pytest.approx(seen.share(SPLIT, there)) if there else None)
    assert found["without_trace"] == pytest.approx(seen.share("no_trace@32", chains))
    assert found["placebo"] == pytest.approx(seen.share("placebo(think=96,answer=32)@128", chains))


def test_mode_by_context(seen: Seen) -> None:
    (found,) = (m["cells"] for m in seen.found["splitting"]["mode_by_context"] if m["split"] == SPLIT)
    chains = seen.cut(SPLIT)
    arms = {
        "nothink_with": SPLIT,
        "nothink_without": "no_trace@32",
        "think_with": "think_on_trace(think=96,answer=32)@128",
        "think_without": "no_trace(mode=think)@32",
    }
    for cell, arm in arms.items():
        assert found[cell] == sum(seen.right(arm)[q] for q in chains)
    assert found["n"] == len(chains)


def test_the_gate_is_counted_by_agreement(seen: Seen) -> None:
    vote = "vote(samples=5,each=32)@160"
    (found,) = (g for g in seen.found["gates"] if g["vote"] == vote)
    assert found["other"] == f"{IRIS}@144"
    sure = [q for q, row in seen.rows[vote].items() if row["notes"]["agree"] >= 3]
    rest = [q for q in seen.rows[vote] if q not in sure]
    first, second = seen.right(vote), seen.right(f"{IRIS}@144")
    assert found["whole"]["confident"]["n"] == len(sure)
    assert found["whole"]["right"] == sum(first[q] for q in sure) + sum(second[q] for q in rest)
    # What the gate itself did on the same samples: the arm that was run is the partition that was counted.
    ran = seen.right(f"gate(samples=5,each=32,otherwise={IRIS})@304")
    assert sum(ran.values()) == found["whole"]["right"]


def test_the_samples_are_the_first_try_of_a_gate(seen: Seen) -> None:
    name = f"gate(samples=5,each=32,otherwise={IRIS})@304"
    (found,) = (e for e in seen.found["escalations"] if e["cascade"] == name)
    assert found["accepted"] == sum(row["stage"] == "vote" for row in seen.rows[name].values()) > 0


def test_rounds_agree_or_not(seen: Seen) -> None:
    name = "mrsd(first=16,think=96,answer=32,rounds=3)@400"
    found = next(e for e in seen.found["escalations"] if e["cascade"] == name)["convergence"]
    sent = [row for row in seen.rows[name].values() if row["stage"] != "probe"]
    agreed = [row for row in sent if row["notes"]["converged"]]
    assert found["share_escalated"] == pytest.approx(len(agreed) / len(sent))
    if agreed:
        right = sum(row["verdict"] == "right" for row in agreed)
        assert found["accuracy_converged"] == pytest.approx(right / len(agreed))


def test_wrong_answers_by_cause(seen: Seen) -> None:
    found = next(e for e in seen.found["escalations"] if e["cascade"] == f"{IRIS}@144")["failures"]
    rows, first = seen.rows[f"{IRIS}@144"], seen.right("nothink@16")
    wrong = {q: row for q, row in rows.items() if row["verdict"] != "right"}
    early = sum(row["stage"] == "probe" for row in wrong.values())
    spoiled = sum(row["stage"] != "probe" and first[q] for q, row in wrong.items())
    assert (found["wrong"], found["false_accept"], found["regression"]) == (len(wrong), early, spoiled)
    assert found["still_wrong"] == len(wrong) - early - spoiled


def test_the_best_division_of_one_total(seen: Seen) -> None:
    found = next(
        o for o in seen.found["splitting"]["optima"] if o["how"] == "split" and o["optimum"]["total"] == 128
    )
    whole = [p for p in found["optimum"]["grid"] if p["reasoning"] + p["answer"] == 128]
    assert [p["reasoning"] for p in whole] == [32, 64, 96, 112]
    for p in whole:
        arm = f"split(think={p['reasoning']},answer={p['answer']})@128"
        assert p["expected"] == pytest.approx(seen.share(arm, list(seen.rows[arm])))


def test_all_on_the_bundled_model_is_this_study() -> None:
    named = {entry["name"] for entry in CASCADES["policy"]}
    assert named == set(POLICIES) - set(RIVALS)
    plans = from_options(StudyConfig(), {"policies": "all"}).policies
    assert {plan.spec.name for plan in plans} == named
    other = from_options(StudyConfig(), {"policies": "all", "model": "http://host/v1#m"})
    assert not any(plan.budgets for plan in other.policies)
