"""The recipe of the two-mode model: what becomes of attempts, what is learned of them, from which questions."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from training.hybrid.attempts import Attempt, leader, mixed, problems  # noqa: E402
from training.hybrid.chains import examples, thought  # noqa: E402
from training.hybrid.keep import policies, whole_arms  # noqa: E402
from training.hybrid.ways import WAYS  # noqa: E402

from thinkcap.study.rows import Row  # noqa: E402


def tried(*votes: int, right: int = 0) -> list[Attempt]:
    ways = list(WAYS)
    return [
        Attempt(ways[i % len(ways)], f"work {i}, so {100 + v}.\n#### {100 + v}", 20, str(100 + v), v, v == right)
        for i, v in enumerate(votes)
    ]


@pytest.mark.parametrize(
    ("votes", "ahead"),
    [((0,), None), ((0, 0), 0), ((0, 1, 1), None), ((0, 1, 1, 1), 1), ((-1, 0, -1, 0), 0), ((-1, -1), None)],
)
def test_an_answer_is_taken_when_it_leads_by_two(votes: tuple[int, ...], ahead: int | None) -> None:
    assert leader(votes) == ahead


def test_a_thought_ends_where_an_answer_leads_and_says_it_in_the_asked_form() -> None:
    chain = thought(tried(0, 1, 0, 0, 0), "number", Random(0))
    assert chain is not None
    assert chain.tries == 4
    text = "".join(part.text for part in chain.parts)
    assert text.startswith("<think>\n")
    assert text.endswith("</think>\n\nThe answer is 100.\n#### 100")
    assert "So far: 100 three times, 101 once." in text
    # The answer's own line ends a turn; inside a thought it would teach to stop there.
    assert "####" not in text.partition("</think>")[0]


def test_a_wrong_try_is_read_but_not_learned() -> None:
    chain = thought(tried(1, 0, 0, 0), "number", Random(0))
    assert chain is not None
    assert [part.text for part in chain.parts if not part.learned] == ["work 0, so 101."]


def test_a_thought_that_decides_wrongly_is_dropped() -> None:
    assert thought(tried(1, 1), "number", Random(0)) is None


def test_an_undecided_thought_is_kept_only_after_many_tries() -> None:
    assert thought(tried(0, 1, 0, 2), "number", Random(0)) is None
    assert thought(tried(0, 1, 0, 2, 3), "number", Random(0)) is not None


def test_without_thinking_the_plain_way_is_the_example() -> None:
    tries = [one.__dict__ for one in tried(0, 0)]
    tries[1]["tokens"] = 5
    line = {"id": "q/1", "text": "?", "gold": "100", "kind": "number", "attempts": tries}
    made = [example for example in examples(line, Random(0)) if example.mode == "nothink"]
    assert [part.text for part in made[0].parts] == ["work 0, so 100.\n#### 100"]


def test_any_beginning_of_the_questions_is_a_fair_sample(tmp_path: Path) -> None:
    school = tmp_path / "school.jsonl"
    school.write_text("".join(json.dumps({"question": f"q{i}", "answer": f"#### {i}"}) + "\n" for i in range(30)))
    contest = tmp_path / "contest.jsonl"
    contest.write_text("".join(json.dumps({"problem": f"p{i}", "answer": f"{i}"}) + "\n" for i in range(10)))
    files = [problems(school), problems(contest)]
    order = list(mixed(files, (3, 1), Random(0)))
    assert sorted(p.id for p in order) == sorted(p.id for file in files for p in file)
    assert [sum(p.kind == "number" for p in order[:n]) for n in (4, 8, 40)] == [3, 6, 30]


def normalised(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


@pytest.mark.parametrize("test_set", ["gsm8k", "math500"])
def test_no_test_question_is_in_a_training_file(shared: Path, test_set: str) -> None:
    def texts(path: Path) -> set[str]:
        rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {normalised(str(row.get("question") or row["problem"])) for row in rows}

    tested = texts(shared / "data" / test_set / "test.jsonl")
    assert len(tested) > 400
    for name in ("gsm8k_train.jsonl", "math_train.jsonl"):
        learned = texts(shared / "data" / "hybrid" / name)
        assert len(learned) > 7000
        assert not tested & learned


ROWS = ROOT / "training" / "hybrid" / "rows"


def test_kept_rows_are_whole_and_hold_no_texts() -> None:
    import pyarrow.parquet as pq

    assert sum(path.stat().st_size for path in ROWS.rglob("*") if path.is_file()) < 5_000_000
    for task, count in (("gsm8k", 1319), ("math500", 500)):
        table = pq.read_table(ROWS / task / "rows.parquet")
        assert not {"text", "answer", "error"} & set(table.column_names)
        arms = table.group_by(["policy", "budget"]).aggregate([("question", "count_distinct")])
        assert set(arms["question_count_distinct"].to_pylist()) == {count}
        assert {"think", "nothink", "close", "split", "town", "iris"} <= set(arms["policy"].to_pylist())


@pytest.mark.parametrize("task", ["gsm8k", "math500"])
def test_the_hybrid_thinks_between_marks_of_its_own(task: str) -> None:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(ROWS / task / "rows.parquet")
    chains = table.filter((pc.field("policy") == "think") & (pc.field("budget") == 2048))
    opened = [count > 0 for count in chains["tokens_think"].to_pylist()]
    assert sum(opened) > 0.99 * len(opened)
    plain = table.filter((pc.field("policy") == "nothink") & (pc.field("budget") == 2048))
    assert max(plain["tokens_think"].to_pylist()) == 0
    # A mark that is never written would leave no answer behind a thought.
    ended = chains.filter(pc.field("ended"))
    readable = [verdict != "unreadable" for verdict in ended["verdict"].to_pylist()]
    assert sum(readable) > 0.94 * len(readable)


def row(policy: str, budget: int, question: str) -> Row:
    base: dict[str, Any] = dict.fromkeys(("task", "group", "error", "gold_hash", "stage", "source", "prompts"), "")
    base |= dict.fromkeys(("seed", "tokens_charged", "tokens_generated", "tokens_think", "calls", "level"), 0)
    base |= dict.fromkeys(("tokens_reread", "tokens_prompt"), 0)
    base |= {"failed": False, "ended": True, "guess": False, "verdict": "right", "answer": "7", "text": None}
    base |= {"stages": (), "notes": {}, "claims": {}, "grader": "2", "model": "m"}
    return Row(policy=policy, budget=budget, question=question, **base)


def test_an_arm_that_a_time_limit_cut_is_left_out() -> None:
    whole = [row("think", 512, "a"), row("think", 512, "b"), row("close", 512, "a"), row("close", 512, "b")]
    assert whole_arms([*whole, row("vote", 512, "a")]) == whole


def test_the_kept_study_names_every_policy_of_its_folder() -> None:
    rows = [row("close(sentence=qwen)", 512, "a"), row("think", 512, "a"), row("think", 256, "a")]
    assert policies(rows) == [
        {"name": "close", "sentence": "qwen", "budgets": [512]},
        {"name": "think", "budgets": [256, 512]},
    ]
