"""Small logs of every kind we read, as their tools write them: what becomes of each row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from thinkcap.cli.diagnose import command
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.logs import door, formats, read
from thinkcap.logs.arms import Arm
from thinkcap.logs.columns import parse_set
from thinkcap.logs.modes import read_mode, read_name


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def document(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def said(arm: Arm) -> tuple[str, str, str, int | None, list[int]]:
    return arm.model, arm.task, arm.name, arm.seed, arm.verdict.tolist()


def test_batch_output_of_openai(tmp_path: Path) -> None:
    def body(text: str, reason: str) -> dict[str, Any]:
        return {
            "model": "gpt-9",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 7,
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        }

    rows = [
        {
            "id": f"req_{i}",
            "custom_id": f"q{i}",
            "response": {"status_code": 200, "body": body("4", r)},
            "error": None,
        }
        for i, r in enumerate(("stop", "length"))
    ]
    rows.append({"id": "req_2", "custom_id": "q2", "response": None, "error": {"message": "boom"}})
    records = read([lines(tmp_path / "batch.jsonl", rows)])
    (arm,) = records.arms
    assert said(arm) == ("gpt-9", "", "answer", None, [-1, -1])
    assert (arm.failed, arm.lengths.tolist(), arm.ends.tolist()) == (1, [7, 7], [True, False])
    assert arm.extra["tokens_think"].tolist() == [3, 3]
    assert any("neither a gold nor a verdict" in note for note in records.notes)


def test_outputs_of_vllm_with_several_samples(tmp_path: Path) -> None:
    rows = [
        {
            "request_id": str(i),
            "prompt": f"2 + {i}?",
            "gold": str(2 + i),
            "outputs": [
                {
                    "index": k,
                    "text": f"<think>hm</think>{2 + i + k}",
                    "token_ids": [1] * 5,
                    "finish_reason": "stop",
                }
                for k in range(2)
            ],
        }
        for i in range(3)
    ]
    first, second = read([lines(tmp_path / "vllm.jsonl", rows)]).arms
    assert said(first) == ("", "", "think", 0, [1, 1, 1])
    assert said(second) == ("", "", "think", 1, [0, 0, 0])
    assert first.lengths.tolist() == [5, 5, 5]
    assert first.extra["trace"].tolist() == ["hm"] * 3


def test_lists_of_answers_beside_lists_of_counts(tmp_path: Path) -> None:
    rows = [{"id": i, "gold": "7", "responses": ["7", "8"], "tokens": [3, 4], "mode": "off"} for i in range(2)]
    first, second = read([lines(tmp_path / "a.jsonl", rows)]).arms
    assert (said(first)[2:], first.lengths.tolist()) == (("nothink", 0, [1, 1]), [3, 3])
    assert (said(second)[2:], second.lengths.tolist()) == (("nothink", 1, [0, 0]), [4, 4])


def test_a_question_asked_again_is_another_sample(tmp_path: Path) -> None:
    rows = [{"id": i % 2, "gold": "7", "output": f"{7 + i // 2}", "mode": "think"} for i in range(4)]
    records = read([lines(tmp_path / "a.jsonl", rows)])
    assert [a.verdict.tolist() for a in records.arms] == [[1, 1], [0, 0]]
    assert any("2 rows repeat a question" in note for note in records.notes)


def test_named_runs_of_a_document(tmp_path: Path) -> None:
    rows = [{"problem_id": i, "answer": "5", "prediction": "so 5", "n_tokens": 3} for i in range(3)]
    path = document(
        tmp_path / "a.json",
        {"runs": {"Qwen3_8B": {"no-think@256": {"acc": 1, "results": rows}, "thinking_1k": {"results": rows}}}},
    )
    assert [said(a)[:3] for a in read([path]).arms] == [
        ("Qwen3-8B", "", "nothink@256"),
        ("Qwen3-8B", "", "think@1024"),
    ]


def test_what_a_document_says_of_all_its_rows(tmp_path: Path) -> None:
    rows = [{"idx": 0, "pred": "3", "gold": "3"}, {"idx": 1, "pred": "3", "gold": "4"}]
    runs = [
        {"model": model, "config": {"max_tokens": 64, "thinking": thinks, "dataset": "toy/test"}, "items": rows}
        for model, thinks in (("A-1B", True), ("B-1B", False))
    ]
    found = read([document(tmp_path / "a.json", {"results": runs})]).arms
    assert [said(a) for a in found] == [
        ("A-1B", "toy", "think@64", None, [1, 0]),
        ("B-1B", "toy", "nothink@64", None, [1, 0]),
    ]


def test_rows_under_their_ids(tmp_path: Path) -> None:
    rows = {"q1": {"gold": "A", "output": "The answer is (A)"}, "q2": {"gold": "B", "output": "Answer: A"}}
    (arm,) = read([document(tmp_path / "a.json", {"model": "m-7B", "results": rows})]).arms
    assert said(arm) == ("m-7B", "", "answer", None, [1, 0])


def test_conversations(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "x?"}, {"role": "assistant", "content": "It's 7"}]
    (arm,) = read(
        [lines(tmp_path / "a.jsonl", [{"id": i, "target": "7", "messages": turns} for i in range(2)])]
    ).arms
    assert arm.verdict.tolist() == [1, 1]


def test_tables_with_a_tab_and_words_in_their_header(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(
        "Problem ID\tGold\tModel Output\tCompletion Tokens\tMax Tokens\tFinish Reason\tThinking\n"
        '1\t4\t"the answer\n\nis 4"\t9\t64\tstop\toff\n2\t5\tthe answer is 4\t64\t64\tlength\toff\n'
    )
    (arm,) = read([path]).arms
    assert said(arm)[2:] == ("nothink@64", None, [1, 0])
    assert (arm.lengths.tolist(), arm.ends.tolist()) == ([9, 64], [True, False])


def test_packed_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": 1, "correct": 1}\n{"id": 2, "correct": 0}\n'))
    assert read([path]).arms[0].verdict.tolist() == [1, 0]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        read([path])


def test_parquet_of_another_tool(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"doc_id": [1, 2], "is_correct": [True, False], "num_tokens": [4, 5], "max_new_tokens": [8, 8]}
    pq.write_table(pa.table({**columns, "mode": ["thinking"] * 2}), tmp_path / "a.parquet")
    (arm,) = read([tmp_path / "a.parquet"]).arms
    assert said(arm)[2:] == ("think@8", None, [1, 0])


def test_a_folder_of_logs(tmp_path: Path) -> None:
    for mode in ("think", "nothink"):
        (tmp_path / f"{mode}.csv").write_text(f"id,correct,mode\n1,1,{mode}\n2,0,{mode}\n")
    (tmp_path / "notes.txt").write_text("no log")
    assert sorted(a.name for a in read([tmp_path]).arms) == ["nothink", "think"]


def test_our_grader_grades_and_the_logs_verdict_stays_beside_it(tmp_path: Path) -> None:
    rows = [
        {"id": i, "gold": "1/2", "output": "It is 0.5.", "correct": i == 0, "mode": "direct"} for i in range(2)
    ]
    records = read([lines(tmp_path / "a.jsonl", rows)])
    (arm,) = records.arms
    assert arm.right.tolist() == [True, True]
    assert arm.extra["verdict_logged"].tolist() == [1, 0]
    assert any("differs from ours on 1 of 2" in note for note in records.notes)


def test_without_golds_rows_are_kept_and_said_to_be_unjudged(tmp_path: Path) -> None:
    rows = [{"id": i, "gold": None, "output": "5", "upstream_correct": True, "n_tokens": 9} for i in range(3)]
    path = lines(tmp_path / "a.jsonl", rows)
    records = read([path])
    (arm,) = records.arms
    assert (arm.verdict.tolist(), arm.lengths.tolist()) == ([-1, -1, -1], [9, 9, 9])
    assert arm.judged().n == 0
    assert any("3 rows have no gold" in note for note in records.notes)
    with pytest.raises(DataError, match="3 of 3 rows have no verdict"):
        _ = arm.right
    # Somebody's word is used where the reader says so.
    assert read([path], columns={"correct": "upstream_correct"}).arms[0].right.all()


def test_prose_is_not_graded(tmp_path: Path) -> None:
    rows = [{"id": i, "gold": "because the river carries sediment", "output": "Who knows?"} for i in range(2)]
    records = read([lines(tmp_path / "a.jsonl", rows)])
    assert records.arms[0].verdict.tolist() == [-1, -1]
    assert any("prose" in note for note in records.notes)


def test_a_thought_that_never_closed_is_no_answer(tmp_path: Path) -> None:
    """Templates that open the thought themselves: nothing but other rows tells that this one is all thought."""
    rows = [
        {"id": 0, "gold": "5", "output": "2 and 3</think>The answer is 5", "mode": "thinking"},
        {"id": 1, "gold": "5", "output": "2 and 3 are 5", "mode": "thinking"},
    ]
    records = read([lines(tmp_path / "a.jsonl", rows)])
    assert records.arms[0].verdict.tolist() == [1, 0]
    assert any("1 answers open a thought and never close it" in note for note in records.notes)


def test_names_of_one_model_are_one_model(tmp_path: Path) -> None:
    names = ("Qwen3_8B", "Qwen/Qwen3-8B", "Qwen3-8B", "qwen3-8b")
    files = [
        lines(tmp_path / f"{i}.jsonl", [{"id": 1, "correct": 1, "model": name}]) for i, name in enumerate(names)
    ]
    for order in (files, files[::-1]):
        assert {a.model for a in read(order).arms} == {"Qwen3-8B"}
    assert {a.model_as_logged for a in read(files).arms} == set(names)
    assert read(files, model="Qwen/qwen3_8b").rows == 4


def test_several_models_are_several_arms(tmp_path: Path) -> None:
    rows = [{"id": i, "correct": 1, "model": m} for m in ("a-8B", "b-8B") for i in range(2)]
    assert [a.model for a in read([lines(tmp_path / "a.jsonl", rows)]).arms] == ["a-8B", "b-8B"]


def test_set_names_what_a_log_does_not_say(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"id": 1, "correct": 1, "task": "own"}])
    (arm,) = read([path], named=[parse_set("model=Qwen/Qwen3-8B, task=gsm8k, mode=non-thinking")]).arms
    assert said(arm)[:3] == ("Qwen3-8B", "own", "nothink")
    with pytest.raises(ConfigError, match="unknown field 'modell'; did you mean 'model'"):
        parse_set("modell=x")
    with pytest.raises(ConfigError, match="mode 'sideways' is unknown"):
        read([path], named=[{"mode": "sideways"}])
    result = CliRunner().invoke(command, [str(path), "--set", "model=m,mode=think", "--json"])
    assert json.loads(result.output)["findings"][0]["arms"][0]["name"] == "think"


def test_a_variant_is_named_where_it_tells_arms_apart(tmp_path: Path) -> None:
    def log(mode: str) -> Path:
        return lines(tmp_path / f"{mode}.jsonl", [{"id": 1, "correct": 1, "mode": mode, "budget": 64}])

    think, cot, direct = log("thinking"), log("nonthinking_cot"), log("nonthinking_direct")
    assert [a.name for a in read([think, cot]).arms] == ["think@64", "nothink@64"]
    assert read([cot]).arms[0].provenance == {"variant": "cot"}
    assert [a.name for a in read([direct, cot]).arms] == [
        "nothink(variant=direct)@64",
        "nothink(variant=cot)@64",
    ]


def test_a_map_adds_to_the_guesses(tmp_path: Path) -> None:
    rows = [{"nr": i, "correct": 1, "tokens": 3, "budget": 8, "mode": "think"} for i in range(2)]
    (arm,) = read([lines(tmp_path / "a.jsonl", rows)], columns={"id": "nr"}).arms
    assert (arm.name, arm.lengths.tolist()) == ("think@8", [3, 3])


@pytest.mark.parametrize(
    ("written", "mode", "variant"),
    [
        *((w, "think", "") for w in ("thinking", "Think", "enable_thinking=True", "on", True, "with thinking")),
        *((w, "nothink", "") for w in ("non-thinking", "no-think", "nonthinking", "off", "direct", False)),
        *((w, "nothink", "") for w in ("no_think", "nothink", "enable_thinking=False", "thinking_off", "none")),
        ("nonthinking_cot", "nothink", "cot"),
        ("nonthinking_fewshot_cot", "nothink", "fewshot_cot"),
        ("nonthinking_direct", "nothink", "direct"),
        ("high", "think", "high"),
    ],
)
def test_modes_as_people_write_them(written: Any, mode: str, variant: str) -> None:
    assert read_mode(written) == (mode, variant)


@pytest.mark.parametrize("written", ["iris", "think[heuristic]", "thinker", "cot", "answer", "", 3, None])
def test_what_is_no_mode(written: Any) -> None:
    assert read_mode(written) is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("think_512", ("think", 512, None, "")),
        ("nothink-b1024", ("nothink", 1024, None, "")),
        ("Qwen3-8B/thinking_4k", ("think", 4096, None, "Qwen3-8B")),
        ("gsm8k/no_think/seed3", ("nothink", None, 3, "gsm8k")),
        ("baseline", ("", None, None, "baseline")),
        ("budget=256", ("", 256, None, "")),
    ],
)
def test_names_of_runs(name: str, found: tuple[str, int | None, int | None, str]) -> None:
    assert read_name(name) == found


def test_a_room_above_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"idx": i, "correct": 1, "tokens": 3, "hit_budget": False} for i in range(3)]
    path = document(tmp_path / "a.json", {"think_512": {"per_sample": rows}})
    (with_it,) = read([path]).arms
    monkeypatch.setattr(door, "_GUEST", "thinkcap.absent.authors")
    (without,) = read([path]).arms
    assert said(with_it) == said(without) == ("", "", "think@512", None, [1, 1, 1])
    assert np.array_equal(with_it.ends, without.ends)


def test_the_importer_of_the_contributors_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    code = guide.partition("## Add a log importer")[2].partition("```python\n")[2].partition("```")[0]
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "mytool.py").write_text(code)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path / "formats")])
    rows = [{"mytool": 1, "q": i, "said": "It is 4", "want": "4", "spent": 9} for i in range(2)]
    (arm,) = read([lines(tmp_path / "a.jsonl", rows)]).arms
    assert (arm.verdict.tolist(), arm.lengths.tolist()) == ([1, 1], [9, 9])


@pytest.mark.parametrize(
    "name",
    [
        "bbh_code-davinci-002",
        "gsm8k_qwen3-0.6b_thinking",
        "math500_deepseek-r1_and_distills_pilot",
        pytest.param("math500_r1-distill-llama-8b_x16", marks=pytest.mark.slow),
        pytest.param("gsm8k_gpt3_example_solutions", marks=pytest.mark.slow),
        pytest.param("math_r1-distill-qwen-1.5b_cap3600", marks=pytest.mark.slow),
    ],
)
def test_real_traces_are_read_as_they_are_and_graded(name: str, shared: Path) -> None:
    records = read([shared / "data" / "traces" / f"{name}.jsonl"])
    assert all(a.is_judged for a in records.arms)
    assert any("graded here" in note for note in records.notes)
    assert all(a.mode for a in records.arms)


def test_real_traces_without_golds_say_so(shared: Path) -> None:
    records = read([shared / "data" / "traces" / "mathtrain_qwen3-thinking-2507_and_r1_correct.jsonl"])
    assert len(records.arms) == 4
    assert not any(a.judged().n for a in records.arms)
    assert any("200 rows have no gold" in note for note in records.notes)


def test_a_document_of_columns_is_rows(tmp_path: Path) -> None:
    columns = {"model": "m", "max_tokens": 64, "mode": "thinking", "idx": [4, 5, 6], "correct": [1, 0, 1]}
    columns["tokens"] = [9, 64, 20]
    (arm,) = read([document(tmp_path / "a.json", columns)]).arms
    assert said(arm) == ("m", "", "think@64", None, [1, 0, 1])
    assert arm.lengths.tolist() == [9, 64, 20]


def test_one_question_with_its_samples_is_no_document_of_columns(tmp_path: Path) -> None:
    rows = [{"question": "2+2?", "gold": "4", "outputs": ["4", "5"], "tokens": [3, 4]}]
    samples = read([document(tmp_path / "a.json", {"results": rows})]).arms
    assert sorted(mark for arm in samples for mark in arm.verdict.tolist()) == [0, 1]
