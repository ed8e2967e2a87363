"""Rows of our own studies in any file, whole or in part, and logs whose verdicts our grades contradict."""

from __future__ import annotations

import csv
import gzip
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import thinkcap
from thinkcap.cli import main
from thinkcap.cli.diagnose import command
from thinkcap.core.errors import DataError
from thinkcap.logs import read

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study") / "mine"
    thinkcap.study(
        limit=4, policies="nothink,think,iris,split", budgets="32,96", seeds="0,1", out=folder, progress=False
    )
    return folder


@pytest.fixture
def rows(run: Path) -> Rows:
    return [json.loads(line) for line in (run / "rows.jsonl").read_text().splitlines()]


def lines(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def diagnosed(path: Path) -> str:
    done = CliRunner().invoke(command, [str(path), "--json", "--draws", "50"])
    assert done.exit_code == 0, done.output
    return done.stdout


def accuracies(path: Path, **options: Any) -> dict[tuple[object, ...], float]:
    arms = read([path], **options).arms
    return {(arm.policy, arm.budget, arm.seed): float(arm.right.mean()) for arm in arms}


def test_jsonl_and_parquet_of_a_run_give_the_same_diagnosis(run: Path) -> None:
    assert diagnosed(run / "rows.jsonl") == diagnosed(run / "rows.parquet") == diagnosed(run)


def test_the_order_of_rows_changes_nothing(run: Path, rows: Rows, tmp_path: Path) -> None:
    folder = tmp_path / run.name
    folder.mkdir()
    for name in ("summary.json", "times.parquet"):
        shutil.copy(run / name, folder)
    random.Random(0).shuffle(rows)
    assert diagnosed(lines(folder / "rows.jsonl", rows)) == diagnosed(run / "rows.parquet")


def _csv(path: Path, rows: Rows) -> Path:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(
            {k: json.dumps(v) if isinstance(v, (list, dict)) else v for k, v in row.items()} for row in rows
        )
    return path


def _packed(path: Path, rows: Rows) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


def _printed(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row, indent=2) + "\n" for row in rows))
    return path


def _listed(path: Path, rows: Rows) -> Path:
    path.write_text(json.dumps(rows))
    return path


def _columns(path: Path, rows: Rows) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kept = ("question", "policy", "budget", "seed", "verdict", "answer", "text")
    pq.write_table(pa.Table.from_pylist([{name: row[name] for name in kept} for row in rows]), path)
    return path


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("renamed.jsonl", lines),
        ("rows.jsonl.gz", _packed),
        ("printed.jsonl", _printed),
        ("list.json", _listed),
        ("table.csv", _csv),
        ("part.parquet", _columns),
    ],
)
def test_copies_are_recognised(
    name: str, write: Callable[[Path, Rows], Path], run: Path, rows: Rows, tmp_path: Path
) -> None:
    assert accuracies(write(tmp_path / name, rows)) == accuracies(run)


@pytest.mark.parametrize(
    "kept",
    [
        ("question", "policy", "budget", "seed", "verdict"),
        ("question", "policy", "budget", "seed", "verdict", "text", "answer"),
        ("question", "policy", "budget", "seed", "verdict", "text", "gold_hash", "tokens_charged"),
    ],
)
def test_some_columns_keep_the_stored_verdicts(
    kept: tuple[str, ...], run: Path, rows: Rows, tmp_path: Path
) -> None:
    path = lines(tmp_path / "part.jsonl", [{name: row[name] for name in kept} for row in rows])
    assert accuracies(path) == accuracies(run)
    assert any("these rows lack" in note and "ended" in note for note in read([path]).notes)


def test_some_lines_of_one_configuration_need_no_more_than_a_name(rows: Rows, tmp_path: Path) -> None:
    one = [row for row in rows if (row["policy"], row["budget"], row["seed"]) == ("nothink", 96, 0)]
    kept = [{name: row[name] for name in ("question", "verdict", "text", "answer")} for row in one]
    path = lines(tmp_path / "part.jsonl", kept)
    with pytest.raises(DataError, match="without column 'policy'; keep that column, or name the policy: --as"):
        read([path])
    (found,) = accuracies(path, policies=["nothink"], budgets=[96]).items()
    assert found == (("nothink", 96, 0), sum(row["verdict"] == "right" for row in one) / len(one))


def test_the_last_row_of_a_key_counts(run: Path, rows: Rows, tmp_path: Path) -> None:
    first = next(row for row in rows if row["verdict"] == "right")
    failed = {**first, "verdict": None, "failed": True}
    assert accuracies(lines(tmp_path / "retried.jsonl", [failed, *rows])) == accuracies(run)
    records = read([lines(tmp_path / "twice.jsonl", [*rows, {**first, "verdict": "wrong"}])])
    assert any("1 row was replaced by a later row" in note for note in records.notes)
    assert sum(arm.right.sum() for arm in records.arms) == sum(row["verdict"] == "right" for row in rows) - 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"verdict": "maybe"}, "line 2, column 'verdict': 'maybe' is not a verdict of a study; wanted right"),
        ({"budget": "many"}, "line 2, column 'budget': 'many' is not a whole number"),
        ({"gold_hash": None}, "line 2, column 'gold_hash': no value"),
    ],
)
def test_a_bad_value_is_named(change: dict[str, Any], why: str, rows: Rows, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=why):
        read([lines(tmp_path / "rows.jsonl", [rows[0], {**rows[1], **change}])])


def test_rows_that_cannot_be_told_apart_are_rejected(rows: Rows, tmp_path: Path) -> None:
    kept = [{name: row[name] for name in ("question", "policy", "verdict")} for row in rows]
    with pytest.raises(DataError, match=r"occurred before; keep the columns .* \(task, budget, seed\)"):
        read([lines(tmp_path / "part.jsonl", kept)])


def test_a_hash_is_never_graded_against(tmp_path: Path) -> None:
    rows = [{"id": i, "output": f"#### {i}", "gold_hash": f"{i:016x}"} for i in range(3)]
    (arm,) = read([lines(tmp_path / "a.jsonl", rows)]).arms
    assert arm.judged().n == 0
    assert arm.content is not None


def answers(verdicts: str) -> Rows:
    """Outputs that are all incorrect, and what a log says of each."""
    return [
        {"id": f"q{i}", "gold": str(i + 100), "output": f"It is {i}.\n#### {i}", "correct": int(said)}
        for i, said in enumerate(verdicts)
    ]


@pytest.mark.parametrize(
    ("verdicts", "stops"),
    [("1", False), ("10", False), ("11", True), ("110", True), ("1100", False), ("11100", True), ("0" * 9, False)],
)
def test_more_than_half_of_the_verdicts_and_at_least_two(verdicts: str, stops: bool, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", answers(verdicts))
    if stops:
        with pytest.raises(DataError, match=f"contradict {verdicts.count('1')} of the log's {len(verdicts)} verd"):
            read([path])
    (arm,) = read([path], accept_grades=True).arms
    assert arm.right.sum() == 0
    assert stops or (read([path]).arms[0].verdict == arm.verdict).all()


def test_the_command_shows_three_examples_and_the_way_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = answers("11111")
    rows[1]["output"] = "I do not know."
    path = lines(tmp_path / "a.jsonl", rows)
    with pytest.raises(SystemExit) as end:
        main(["diagnose", str(path)])
    assert end.value.code == 2
    out, err = capsys.readouterr()
    first, *examples = err.splitlines()
    assert out == ""
    assert "reference answer: 'gold', output: 'output', verdict: 'correct'" in first
    assert "--accept-grades" in first
    assert examples == [
        "  question 'q0': answer '0', reference answer '100'; the log says correct, our grade is incorrect",
        "  question 'q1': no answer found in the output, reference answer '101'; "
        "the log says correct, our grade is unparsed",
        "  question 'q2': answer '2', reference answer '102'; the log says correct, our grade is incorrect",
    ]
    assert not main(["diagnose", str(path), "--accept-grades"])
    assert "0.0 %" in capsys.readouterr().out
