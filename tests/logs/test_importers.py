"""Logs of other tools, good and bad: what is read, what is said to be missing, and where a bad log is bad."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from thinkcap.cli import main
from thinkcap.cli.diagnose import command
from thinkcap.core.errors import ConfigError, DataError
from thinkcap.diagnose.pairs import matched
from thinkcap.logs.columns import parse_map
from thinkcap.logs.door import read

LOGS = Path(__file__).parent / "logs"


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def plain_rows(n: int = 4, **more: Any) -> list[dict[str, Any]]:
    return [{"id": i, "correct": i % 2, "tokens": 10 + i, "budget": 13, "mode": "think", **more} for i in range(n)]


def test_plain_jsonl_guesses_and_says_so(tmp_path: Path) -> None:
    records = read([lines(tmp_path / "a.jsonl", plain_rows())])
    (arm,) = records.arms
    assert (arm.policy, arm.budget, arm.n) == ("think", 13, 4)
    assert arm.ends.tolist() == [True, True, True, False]
    assert arm.criterion == "tokens < b"
    assert any("columns guessed" in note for note in records.notes)


def test_plain_csv_with_a_map(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "q,acc,n_out,cap,why,m\n1,1,5,8,stop,thinking\n2,0,8,8,length,thinking\n1,1,3,8,stop,no_think\n"
    )
    fields = parse_map("id=q,correct=acc,tokens=n_out,budget=cap,finish=why,policy=m")
    records = read([path], columns=fields)
    assert [a.name for a in records.arms] == ["think@8", "nothink@8"]
    assert records.arms[0].ends.tolist() == [True, False]
    assert "finish reason" in records.arms[0].criterion
    assert not any("guessed" in note for note in records.notes)


def test_a_finish_reason_beats_counts(tmp_path: Path) -> None:
    rows = plain_rows(2)
    for row, reason in zip(rows, ("stop", "length"), strict=True):
        row |= {"tokens": 13, "finish_reason": reason}
    (arm,) = read([lines(tmp_path / "a.jsonl", rows)]).arms
    assert arm.ends.tolist() == [True, False]


def test_what_the_reader_says(tmp_path: Path) -> None:
    rows = [{"id": i, "correct": 1, "tokens": 3} for i in range(3)]
    one, two = lines(tmp_path / "a.jsonl", rows), lines(tmp_path / "b.jsonl", rows)
    records = read([one, two], policies=["think", "nothink"], budgets=[8])
    assert [a.name for a in records.arms] == ["think@8", "nothink@8"]
    with pytest.raises(ConfigError, match="--as was given 2 times for 1 files"):
        read([one], policies=["think", "nothink"])


def test_without_gold_two_files_are_not_paired(tmp_path: Path) -> None:
    rows = [{"id": i, "correct": 1, "tokens": 3} for i in range(3)]
    records = read(
        [lines(tmp_path / f"{m}.jsonl", rows) for m in "ab"], policies=["think", "nothink"], budgets=[8]
    )
    with pytest.raises(DataError, match="no gold or text"):
        matched(*records.arms)
    golden = [{**r, "gold": f"g{r['id']}"} for r in rows]
    records = read(
        [lines(tmp_path / f"{m}.jsonl", golden) for m in "ab"], policies=["think", "nothink"], budgets=[8]
    )
    assert matched(*records.arms)[2] == "id and content"


BAD: list[tuple[str, str, bytes]] = [
    ("empty", "a.jsonl", b""),
    ("blank", "a.csv", b"\n\n"),
    ("only a header", "a.csv", b"id,correct,tokens\n"),
    ("wrong encoding", "a.jsonl", b'{"id": 1, "correct": 1}\n{"id": "\xe9", "correct": 1}\n'),
    ("wrong encoding", "a.csv", b"id,correct\n1,1\n\xff\xfe,1\n"),
    ("not JSON", "a.jsonl", b'{"id": 1, "correct": 1}\n{"id": 2, "correct"\n'),
    ("not an object", "a.jsonl", b"[1]\n"),
    ("repeated id", "a.jsonl", b'{"id": 1, "correct": 1}\n{"id": 1, "correct": 0}\n'),
    (
        "negative count",
        "a.jsonl",
        b'{"id": 1, "correct": 1, "tokens": 4}\n{"id": 2, "correct": 1, "tokens": -4}\n',
    ),
    (
        "missing count",
        "a.jsonl",
        b'{"id": 1, "correct": 1, "tokens": 4}\n{"id": 2, "correct": 1, "tokens": null}\n',
    ),
    ("count is text", "a.csv", b"id,correct,tokens\n1,1,7\n2,1,many\n"),
    ("fraction", "a.csv", b"id,correct,tokens\n1,1,7\n2,1,7.5\n"),
    ("no verdict", "a.csv", b"id,correct\n1,1\n2,maybe\n"),
    ("ragged", "a.csv", b"id,correct\n1,1\n2,1,9\n"),
    ("unknown reason", "a.csv", b"id,correct,finish_reason\n1,1,stop\n2,1,whatever\n"),
    ("no id", "a.csv", b"id,correct\n1,1\n,1\n"),
]


@pytest.mark.parametrize(("what", "name", "content"), BAD, ids=[b[0] + b[1][1:] for b in BAD])
def test_bad_logs_name_the_line_and_give_no_verdict(
    what: str, name: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SystemExit) as stop:
        main(["diagnose", str(path), "--json"])
    assert stop.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert name in said.err
    assert "line" in said.err
    assert "Traceback" not in said.err
    if what in ("wrong encoding", "not JSON", "negative count", "missing count", "repeated id"):
        assert "line 2" in said.err or "line 3" in said.err
        assert "column" in said.err


def test_unknown_things_are_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'tokens'"):
        parse_map("tokns=n")
    with pytest.raises(ConfigError, match="field=column"):
        parse_map("id")
    path = lines(tmp_path / "a.jsonl", plain_rows())
    with pytest.raises(DataError, match="did you mean 'tokens'"):
        read([path], columns={"id": "id", "correct": "correct", "tokens": "token"})
    with pytest.raises(DataError, match="--map correct=COLUMN"):
        read([lines(tmp_path / "b.jsonl", [{"id": 1, "x": 2}])])
    with pytest.raises(DataError, match="no such file"):
        read([tmp_path / "absent.jsonl"])
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(DataError, match="no list of answers in it"):
        read([tmp_path / "c.json"])
    (tmp_path / "c.txt").write_text("x")
    with pytest.raises(DataError, match="unknown kind"):
        read([tmp_path / "c.txt"])
    with pytest.raises(ConfigError, match="stores a stop flag"):
        read([path], stop="flag")


def test_one_model_of_several_can_be_chosen(tmp_path: Path) -> None:
    rows = [{"id": i, "correct": 1, "model": m, "mode": "think"} for i in range(3) for m in "ab"]
    (arm,) = read([lines(tmp_path / "a.jsonl", rows)], model="b").arms
    assert (arm.n, arm.model) == (3, "b")


def test_real_lm_evaluation_harness_log() -> None:
    records = read([LOGS / "harness"])
    assert [a.policy for a in records.arms] == ["answer[strict]", "answer[flexible]"]
    arm = records.arms[0]
    assert (arm.budget, arm.task, arm.n) == (64, "toy_add", 3)
    assert arm.ended is None
    assert arm.tokens is None
    assert any("no finish reason and no token counts" in note for note in records.notes)
    assert matched(*records.arms)[2] == "id and content"


def test_the_harness_names_the_model_beside_the_samples(tmp_path: Path) -> None:
    rows = [{"doc_id": 1, "resps": [["3"]], "target": "3", "metrics": ["acc"], "acc": 1.0, "filter": "none"}]
    path = lines(tmp_path / "samples_arc_2026-01-02T03-04-05.678.jsonl", rows)
    (tmp_path / "results_2026-01-02T03-04-05.678.json").write_text('{"model_name": "org/m-8B"}')
    (arm,) = read([path]).arms
    assert (arm.model, arm.task, arm.budget) == ("m-8B", "arc", None)
    rows[0] |= {"acc": 0.5}
    with pytest.raises(DataError, match="line 1, column 'metrics'"):
        read([lines(path, rows)])


def test_lm_evaluation_harness_truncation_is_not_guessed(tmp_path: Path) -> None:
    source = next((LOGS / "harness").glob("samples_*.jsonl")).read_text().splitlines()
    rows = [json.loads(line) for line in source if json.loads(line)["filter"] == "strict"]
    rows[0]["resps"], rows[1]["resps"] = [["<think>1 and"]], [["<think>ok</think>8"]]
    path = lines(tmp_path / "samples_toy_add_x.jsonl", rows)
    records = read([path])
    assert records.arms[0].policy == "think"
    assert any("1 answers open a thought and never close it" in note for note in records.notes)
    result = CliRunner().invoke(command, [str(path)])
    assert result.exit_code == 0
    assert "cut" not in result.output.split("Notes")[0]


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_real_inspect_log(kind: str) -> None:
    records = read([next((LOGS / "inspect").glob(f"*.{kind}"))])
    (arm,) = records.arms
    assert (arm.policy, arm.budget, arm.n, arm.model_as_logged) == ("think", 64, 3, "mockllm/model")
    assert arm.ends.tolist() == [True, False, True]
    assert arm.lengths.tolist() == [20, 64, 31]
    assert arm.right.tolist() == [True, False, True]
    assert arm.criterion == "finish reason in 'output.choices.stop_reason'"


def test_the_bundled_model_through_both_tools() -> None:
    """Logs made by bench/foreign_logs.py: the same 24 questions, asked by two tools, with and without thinking."""
    runs = LOGS / "pebble"
    harness = read([runs / "harness" / m for m in ("nothink", "think")], policies=["nothink", "think"])
    inspect = read([runs / "inspect" / m for m in ("nothink", "think")], policies=["nothink", "think"])
    for records in (harness, inspect):
        assert [a.name for a in records.arms] == ["nothink@96", "think@96"]
        assert {a.n for a in records.arms} == {24}
        assert matched(*records.arms)[2] == "id and content"
    # Greedy answers of one model to the same questions: both tools must score them alike.
    for one, two in zip(harness.arms, inspect.arms, strict=True):
        assert int(one.right.sum()) == int(two.right.sum())
    assert harness.arms[1].ended is None
    assert inspect.arms[1].ends.sum() == 6
    assert np.all(inspect.arms[1].lengths[~inspect.arms[1].ends] == 96)


def test_a_model_that_changes_inside_an_inspect_log_is_refused(tmp_path: Path) -> None:
    data = json.loads(next((LOGS / "inspect").glob("*.json")).read_text())
    data["samples"][2]["output"]["model"] = "another"
    path = tmp_path / "log.json"
    path.write_text(json.dumps(data, indent=1))
    with pytest.raises(DataError, match=r"line \d+ \(samples\[2\]\), column 'output.model': 'another' after"):
        read([path])


def test_names_of_our_own_gateway_say_the_policy(tmp_path: Path) -> None:
    data = json.loads(next((LOGS / "inspect").glob("*.json")).read_text())
    data["eval"]["model"] = "openai-api/local/pebble+nothink"
    path = tmp_path / "log.json"
    path.write_text(json.dumps(data))
    (arm,) = read([path]).arms
    assert (arm.model, arm.model_as_logged, arm.policy) == ("pebble", "openai-api/local/pebble", "nothink")


def test_inspect_failures_are_no_wrong_answers(tmp_path: Path) -> None:
    data = json.loads(next((LOGS / "inspect").glob("*.json")).read_text())
    data["samples"][0]["error"] = {"message": "boom"}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(data))
    (arm,) = read([path]).arms
    assert (arm.n, arm.failed) == (2, 1)
    data["samples"] = []
    path.write_text(json.dumps(data))
    with pytest.raises(DataError, match="no samples"):
        read([path])


def test_broken_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(b"not a zip")
    with pytest.raises(DataError, match="not a zip"):
        read([path])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.json", "{}")
    with pytest.raises(DataError, match="not an inspect log"):
        read([path])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {"model": "m"}}))
        archive.writestr("samples/1.json", "{")
    with pytest.raises(DataError, match=r"samples/1.json, line 1, column"):
        read([path])


def write_study(path: Path, **changes: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 6
    columns: dict[str, Any] = {
        "task": ["t"] * n,
        "question": ["a", "b", "c"] * 2,
        "group": ["g"] * n,
        "model": ["m"] * n,
        "policy": ["think"] * 3 + ["nothink"] * 3,
        "budget": [8] * n,
        "seed": [0] * n,
        "verdict": ["right", "wrong", None, "right", "unreadable", "right"],
        "ended": [True, False, False, True, True, True],
        "tokens_charged": [8, 8, 0, 2, 3, 4],
        "gold_hash": ["00ff", "01ff", "02ff"] * 2,
        "stage": ["think"] * 3 + ["answer"] * 3,
    }
    pq.write_table(pa.table(columns | changes), path)
    return path


def test_our_own_rows(tmp_path: Path) -> None:
    records = read([write_study(tmp_path / "rows.parquet")])
    nothink, think = sorted(records.arms, key=lambda arm: arm.policy)
    # A chain that ends exactly at the budget ended: the event is the end-of-turn token, not the count.
    assert think.ends.tolist() == [True, False]
    assert think.criterion == "end-of-turn token"
    assert (think.n, think.failed) == (2, 1)
    assert nothink.right.tolist() == [True, False, True]
    assert nothink.unreadable == 1
    one, two, how = matched(think, nothink)
    assert (one.n, two.n, how) == (2, 2, "id and content")
    assert any("left out" in note for note in records.notes)
    assert read([tmp_path]).rows == 5


def test_bad_rows_of_our_own(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'a' occurs twice"):
        read([write_study(tmp_path / "a.parquet", question=["a", "a", "c"] * 2)])
    with pytest.raises(DataError, match="negative"):
        read([write_study(tmp_path / "b.parquet", tokens_charged=[-1, 8, 0, 2, 3, 4])])
    (tmp_path / "c.parquet").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="not a Parquet file"):
        read([tmp_path / "c.parquet"])
    with pytest.raises(DataError, match="models in it: m"):
        read([tmp_path / "a.parquet"], model="other")


def test_lines_are_read_one_by_one(tmp_path: Path) -> None:
    """Nothing is kept as text: a log of 40 MB is read in less than half of it."""
    import tracemalloc

    path = tmp_path / "long.jsonl"
    filler = "x" * 8000
    with path.open("w") as out:
        for i in range(5_000):
            out.write(json.dumps({"id": i, "correct": 1, "tokens": 3, "text": filler}) + "\n")
    tracemalloc.start()
    records = read([path])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert records.rows == 5_000
    assert peak < path.stat().st_size / 2
    assert np.all(records.arms[0].right)
