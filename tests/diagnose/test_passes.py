"""Passes of a method, by hand: the same total, cascades on what they took over, divisions, coupling, transfer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import made

from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.diagnose.document import document
from thinkcap.diagnose.escalation import escalations
from thinkcap.diagnose.findings import Findings, findings
from thinkcap.diagnose.pairs import compare
from thinkcap.diagnose.passes import rounds
from thinkcap.diagnose.runs import configurations
from thinkcap.diagnose.splitting import splitting
from thinkcap.diagnose.totals import divisions, same_totals
from thinkcap.diagnose.transfer import transfers
from thinkcap.logs.arms import Arm, Records, Stages
from thinkcap.logs.door import read
from thinkcap.verdict.say import say


def found_in(*arms: Arm) -> Findings:
    ready = configurations(arms)
    return findings([c.arm for c in ready], compare(ready), draws=0, seed=0)


def marks(text: str) -> np.ndarray:
    """`1101` as booleans, one character a question."""
    return np.array([c == "1" for c in text])


def arm(policy: str, budget: int, right: str, ended: str | None = None, **more: Any) -> Arm:
    return made(policy, budget, marks(right), ended=None if ended is None else marks(ended), **more)


def staged(stages: str) -> dict[str, np.ndarray]:
    names = {"p": "probe", "t": "think", "x": "answer"}
    return {"stage": np.array([names[c] for c in stages], dtype=object)}


# Ten questions. Thinking with 100: four end, all right; of six cut one is right. The split 70 + 30: two end, both
# right; of eight cut six are right.
THINK = arm("think", 100, "1111100000", "1111000000")
SPLIT = arm(
    "split", 100, "1111111100", "1100000000", stages=Stages(think=70, answer=30), extra=staged("ttxxxxxxxx")
)


def test_the_same_total_by_hand() -> None:
    (found,) = same_totals([THINK, SPLIT])
    assert (found.split, found.coupled, found.population, found.n) == ("split@100", "think@100", "all", 10)
    assert found.parts is not None
    # F_r = 0.2, F_b = 0.4, a_e = 6/8, a_t = 1/6, a_c = 1 in both.
    assert found.parts.extraction == pytest.approx(0.8 * (6 / 8 - 1 / 6))
    assert found.parts.finishing == pytest.approx(-0.2 * (1 - 1 / 6))
    assert found.parts.selection == pytest.approx(0)
    assert found.parts.total == pytest.approx(0.8 - 0.5)
    assert found.test is not None
    assert (found.test.only_first, found.test.only_second) == (3, 0)


def test_the_same_total_of_a_cascade_is_over_what_it_took_over() -> None:
    iris = arm(
        "iris",
        125,
        "1111111000",
        "1110000000",
        stages=Stages(first=25, think=70, answer=30, rounds=1),
        extra=staged("pptxxxxxxx"),
    )
    (found,) = same_totals([THINK, iris])
    assert (found.coupled, found.population, found.n) == ("think@100", "not accepted", 8)
    assert found.parts is not None
    # Of the eight left open the cascade gets five, thinking with 100 three.
    assert found.parts.total == pytest.approx(5 / 8 - 3 / 8)


def test_what_is_not_known_has_a_reason() -> None:
    (found,) = same_totals([SPLIT])
    assert found.parts is None
    assert found.undefined == "think@100 was not run, or its ends are not known"
    (found,) = same_totals([arm("think", 100, "1111100000", "0000000000"), SPLIT])
    assert found.parts is None
    assert "more chains end at the smaller cap" in (found.undefined or "")
    never = arm("split", 100, "1111111100", "0000000000", stages=Stages(think=70, answer=30))
    (found,) = same_totals([arm("think", 100, "1111100000", "1111111111"), never])
    # Every chain ended at 100: without a_t the causes cannot be told apart, though the test can be made.
    assert found.parts is None
    assert "no chain was cut" in (found.undefined or "")
    assert found.test is not None
    assert found.test.difference == pytest.approx(0.8 - 0.5)


TOWN = arm(
    "town",
    100,
    "1101100000",
    "1111111000",
    stages=Stages(first=25, think=75, answer=0, rounds=1),
    tokens=np.array([10, 10, 20, 20, 80, 90, 95, 100, 100, 100]),
    extra=staged("pppptttttt"),
)


def test_a_cascade_against_direct_answers_on_what_it_took_over() -> None:
    whole, small = arm("nothink", 100, "1111110000", "1111110000"), arm("nothink", 25, "1111000000", "1111000000")
    (found,) = escalations([TOWN, small, whole])
    assert (found.accepted, found.escalated, found.accepted_accuracy) == (4, 6, 0.75)
    wide, narrow = found.against
    assert (wide.direct, narrow.direct) == ("nothink@100", "nothink@25")
    assert wide.net is not None
    assert (wide.net.direct_on_hard, wide.net.cascade_on_hard) == pytest.approx((2 / 6, 1 / 6))
    assert wide.net.gain == pytest.approx(-0.1)
    assert not wide.net.holds
    assert narrow.net is not None
    assert narrow.net.gain == pytest.approx(0.1)
    assert wide.test is not None
    assert (wide.test.only_first, wide.test.only_second) == (0, 1)
    # 0.4 x 15 + 0.6 x (25 + 75) = 66; paid: 625 / 10.
    assert found.cost is not None
    assert (found.cost.mean_accepted_tokens, found.cost.mean_rounds) == (15, 1)
    assert found.cost.bound.expected_at_most == pytest.approx(66)
    assert found.cost.bound.most == 100
    assert found.cost.measured == 62.5


def test_a_cascade_that_took_over_nothing_has_no_net_recovery() -> None:
    easy = arm("town", 100, "11", "11", stages=Stages(first=25), tokens=np.array([5, 6]), extra=staged("pp"))
    (found,) = escalations([easy, arm("nothink", 100, "10", "11")])
    assert found.against[0].net is None
    assert "settled every question" in (found.against[0].undefined or "")
    assert found.cost is None
    assert "settled every question" in (found.cost_undefined or "")
    blind = arm("town", 100, "11", "11", stages=Stages(first=25), extra=staged("pt"))
    assert escalations([blind])[0].cost_undefined == "no token counts are stored"


def test_rounds_of_our_own_refinement() -> None:
    names = np.array(["probe", "round2", "majority", "round3"], dtype=object)
    stages = Stages(first=20, think=30, answer=10, rounds=3)
    found = arm(
        "mrsd",
        140,
        "1110",
        "1111",
        stages=stages,
        tokens=np.array([9, 99, 140, 130]),
        extra={"stage": names},
    )
    told = rounds(found)
    assert told is not None
    assert told.tolist() == [0, 2, 3, 3]
    (one,) = escalations([found])
    assert one.cost is not None
    # 1/4 x 9 + 3/4 x (20 + 8/3 x 40)
    assert one.cost.bound.expected_at_most == pytest.approx(0.25 * 9 + 0.75 * (20 + 8 / 3 * 40))
    assert one.cost.bound.most == 20 + 3 * 40


def test_divisions_of_a_total_from_several_arms() -> None:
    def split(think: int, answer: int, right: str, ended: str, tokens: list[int]) -> Arm:
        return arm(
            f"split(answer={answer})",
            think + answer,
            right,
            ended,
            stages=Stages(think=think, answer=answer),
            tokens=np.array(tokens),
        )

    arms = [
        split(40, 60, "1110000000", "1000000000", [30, 50, 50, *[100] * 7]),
        split(60, 40, "1111111000", "1100000000", [30, 50, 65, 66, 67, 68, 70, 100, 100, 100]),
        split(60, 20, "1111000000", "1100000000", [30, 50, 65, 70, *[80] * 6]),
        split(80, 20, "1111100000", "1110000000", [30, 50, 70, 90, 95, *[100] * 5]),
    ]
    found = {d.optimum.total: d for d in divisions(arms)}
    assert set(found) == {80, 100} - {80}  # under 80 only one division fits
    best = found[100]
    assert best.how == "split"
    assert [(p.reasoning, p.answer) for p in best.optimum.grid] == [(40, 60), (60, 40), (80, 20)]
    assert [p.expected for p in best.optimum.grid] == pytest.approx([0.3, 0.7, 0.5])
    assert (best.optimum.best.reasoning, best.accuracy.k) == (60, 7)
    assert best.optimum.interior
    assert best.optimum.first_order is not None
    # The right answer passes took 5 to 10 tokens of the 40 they had.
    assert best.optimum.saturated == 100 - 10


def test_a_division_without_a_cut_chain_counts() -> None:
    whole = arm("close", 100, "1111", "1111", stages=Stages(think=90), tokens=np.array([1, 2, 3, 4]))
    half = arm(
        "generous", 100, "1100", "1000", stages=Stages(think=50, answer=50), tokens=np.array([1, 99, 99, 99])
    )
    (found,) = divisions([c.arm for c in configurations([half, whole])])
    assert found.how == "close"
    assert (found.optimum.best.reasoning, found.optimum.best.answer, found.optimum.best.expected) == (90, 10, 1.0)


def test_coupling_counts_thoughts_that_leave_no_room() -> None:
    thoughts = np.array([10, 30, 50, 60, 80, 97, 100, 100, 100, 100])
    think = arm(
        "think",
        100,
        "1111100000",
        "1111100000",
        tokens=np.array([15, 40, 60, 70, 95, 100, 100, 100, 100, 100]),
        extra={"tokens_think": thoughts},
    )
    e = splitting([think, SPLIT], None).extractions[0]
    # Answers took 5, 10, 10, 10 and 15 tokens: with the least of them a thought may have up to 94 of 100.
    assert e.coupling is not None
    assert e.coupling.least_answer == 5
    assert e.coupling.open_share == pytest.approx(0.5)
    assert (e.alpha_e, e.alpha_t) == pytest.approx((6 / 8, 3 / 8))
    assert e.coupling.gain == pytest.approx(0.5 * (6 / 8 - 3 / 8))
    blind = splitting([THINK, SPLIT], None).extractions[0]
    assert blind.coupling is None


def test_another_model_is_predicted_from_the_first() -> None:
    lengths = np.array([20, 60, 75, 90, *[100] * 6])
    first = found_in(THINK, SPLIT)
    plain = arm("think", 100, "1111000000", "1111000000", tokens=lengths, model="other")
    other = found_in(plain)
    (found,) = transfers([first, other])
    # Two of ten chains end within 70 tokens, so eight would be cut: 0.8 x (6/8 - 3/8).
    assert (found.source, found.target, found.cut_from) == ("m", "other", "chain lengths")
    assert found.predicted == pytest.approx(0.8 * (6 / 8 - 3 / 8))
    assert found.measured is None
    assert "did not run split@100" in (found.undefined or "")
    both = found_in(plain, arm(**_again(SPLIT, "1111100000")))
    there, back = transfers([first, both])
    assert there.cut_share == pytest.approx(0.8)
    assert there.measured == pytest.approx(0.8 * (3 / 8 - 2 / 8))
    assert there.error == pytest.approx(there.predicted - there.measured)  # type: ignore[operator]
    assert back.predicted == pytest.approx(0.8 * (3 / 8 - 2 / 8))


def _again(one: Arm, right: str) -> dict[str, Any]:
    about = {"policy": one.policy, "budget": one.budget, "right": right, "ended": "1100000000", "model": "other"}
    return about | {"stages": one.stages, "extra": one.extra}


def test_chains_too_short_to_predict_from_say_so() -> None:
    first = found_in(THINK, SPLIT)
    short = arm("think", 50, "1100000000", "1100000000", tokens=np.full(10, 50), model="other")
    (found,) = transfers([first, found_in(short)])
    assert found.predicted is None
    assert found.undefined == "the other's chains were observed up to 50 tokens, not to 70"


def test_all_of_it_is_in_the_json(tmp_path: Path) -> None:
    """Rows as a study writes them, read, diagnosed and printed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = []
    for q in range(12):
        long, easy = 20 + 10 * q, q < 4
        for b in (40, 80):
            done = long <= b
            rows.append(
                _row(q, "think", b, done, min(long, b), "think", [["think", b]], done, think=min(long - 5, b))
            )
            rows.append(_row(q, "nothink", b, q % 2 == 0, 9, "answer", [["answer", b]], True))
            cut = b * 3 // 4
            kept = long <= cut
            passes = [["think", cut]] + ([] if kept else [["extract", b - cut]])
            stage = "think" if kept else "extract"
            rows.append(_row(q, "split", b, kept or q < 9, min(long, cut) + 6, stage, passes, kept))
            rest = [] if easy else [["think", b - b // 4]]
            tokens = 5 if easy else b // 4 + min(long, b - b // 4)
            stage = "probe" if easy else "think"
            ends = easy or long <= b - b // 4
            rows.append(_row(q, "town", b, ends, tokens, stage, [["probe", b // 4], *rest], ends))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    diagnosis = diagnose(read([tmp_path]), draws=0)
    page = json.loads(json.dumps(document(diagnosis), allow_nan=False))
    (found,) = page["findings"]
    (narrow, wide) = found["splitting"]["matched_totals"]
    assert (wide["split"], wide["coupled"], wide["reasoning"], wide["answer"]) == ("split@80", "think@80", 60, 20)
    accuracy = {a["name"]: a["accuracy"]["value"] for a in found["arms"]}
    for entry in (narrow, wide):
        expected = accuracy[entry["split"]] - accuracy[entry["coupled"]]
        assert entry["parts"]["total"] == pytest.approx(expected)
    (best,) = found["splitting"]["optima"]
    assert (best["how"], best["optimum"]["total"]) == ("split", 80)
    assert [p["reasoning"] for p in best["optimum"]["grid"]] == [30, 60]
    assert {e["coupling"]["least_answer"] for e in found["splitting"]["extractions"]} == {5}
    town = next(e for e in found["escalations"] if e["cascade"] == "town@80")
    assert (town["accepted"], town["escalated"]) == (4, 8)
    assert town["cost"]["bound"]["most"] == 80
    assert town["cost"]["measured"] <= town["cost"]["bound"]["expected_at_most"] + 1e-9
    assert [a["direct"] for a in town["against"]] == ["nothink@80"]
    assert page["cross_scale"] == []
    text = " ".join(s.text for s in say(diagnosis).sentences)
    assert "The first try of town@" in text
    assert "points higher than think@80" in text


def _row(
    q: int,
    policy: str,
    b: int,
    right: bool,
    tokens: int,
    stage: str,
    passes: list[Any],
    ended: bool,
    think: int = 0,
) -> dict[str, Any]:
    return {
        "question": f"q{q}",
        "task": "t",
        "model": "m",
        "policy": policy,
        "budget": b,
        "seed": 0,
        "verdict": "right" if right else "wrong",
        "ended": ended,
        "tokens_charged": tokens,
        "tokens_think": think,
        "gold_hash": f"{q + 1:x}",
        "group": "",
        "stage": stage,
        "stages": json.dumps(passes),
        "calls": len(passes),
    }


def test_a_thought_written_in_pieces_shares_no_stages(tmp_path: Path) -> None:
    """`agree` thinks 32 tokens at a time under every cap: its caps are no two methods of the same stages."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pieces = [["think", 32], ["trial", 8], ["think", 32], ["trial", 8]]
    rows = [_row(q, "agree", b, b > 80, 70, "trial", pieces, False) for q in range(6) for b in (80, 160)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    records = read([tmp_path])
    assert [one.stages for one in records.arms] == [Stages(), Stages()]
    assert diagnose(records, draws=0).comparisons.made == ()


def test_only_the_looser_reading_was_run() -> None:
    """A study with think[heuristic] alone is still a study of thinking."""
    loose = [
        arm("think[heuristic]", b, r, e, tokens=np.full(4, b))
        for b, r, e in ((8, "1000", "1000"), (16, "1110", "1110"))
    ]
    direct = [arm("nothink", b, "1100", "1111", tokens=np.full(4, 2)) for b in (8, 16)]
    found = diagnose(Records((*loose, *direct)), draws=0)
    assert [row.budget for row in found.findings[0].budgets] == [8, 16]
    assert found.findings[0].read_as == "think[heuristic]"


def test_what_any_answer_pass_on_the_same_chain_got_is_an_upper_bound() -> None:
    """Eight cut chains: this pass gets six, a longer one the two others; one of another cut does not count."""
    longer = {"stages": Stages(think=70, answer=60), "extra": staged("ttxxxxxxxx")}
    other = arm("split", 130, "1100000011", "1100000000", **longer)
    elsewhere = arm(
        "split", 120, "1" * 10, "1100000000", stages=Stages(think=90, answer=30), extra=staged("ttxxxxxxxx")
    )
    for arms, expected in (([THINK, SPLIT, elsewhere], None), ([THINK, SPLIT, elsewhere, other], 1.0)):
        (found,) = [e for e in found_in(*arms).splitting.extractions if e.split == "split@100"]
        assert found.derivability.pi_upper == expected
        assert found.derivability.eta_lower == (None if expected is None else 6 / 8)
