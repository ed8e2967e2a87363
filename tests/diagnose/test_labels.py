"""`thinkcap sample` and `--labels`: strata drawn alike, weights kept, accuracy with its interval, gaps said."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from thinkcap.cli import main
from thinkcap.core.errors import DataError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.logs import read
from thinkcap.logs.labels import read_labels
from thinkcap.logs.sampling import draw

RATES = {"ordinary": 0.9, "near the cap": 0.7, "cut": 0.3, "empty": 0.0}


def journal(path: Path, size: int = 2000, *, texts: bool = True, seed: int = 0) -> float:
    """Answers of which we know which are right; gives their share."""
    chance, lines, right = random.Random(seed), [], 0
    for number in range(size):
        kind = chance.choices(list(RATES), [80, 5, 10, 5])[0]
        good = chance.random() < RATES[kind]
        right += good
        answer = {
            "finish": "length" if kind == "cut" else "stop",
            "tokens": {"ordinary": 20, "near the cap": 95}.get(kind, 100),
            "empty": kind == "empty",
        }
        entry: dict[str, Any] = {"watch": 1, "id": f"n{number}", "arm": "watch", "model": "m", "cap": 100}
        entry |= {"complete": True, "answers": [answer]}
        if texts:
            said = "" if kind == "empty" else f"#### {number if good else number + 1}"
            entry |= {"question": f"What is {number}?", "answer": said}
        lines.append(json.dumps(entry))
    path.write_text("".join(line + "\n" for line in lines))
    return right / size


def filled(path: Path, by: str) -> None:
    """As a person would: the number in the question is its answer."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        gold = row["question"].split()[-1].rstrip("?")
        row[by] = gold if by == "gold" else row["answer"] == f"#### {gold}"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("by", ["right", "gold"])
def test_from_a_journal_to_accuracy(tmp_path: Path, by: str, capsys: pytest.CaptureFixture[str]) -> None:
    file, labels = tmp_path / "watch-1.jsonl", tmp_path / "to-label.jsonl"
    truth = journal(file)
    assert main(["sample", str(file), "-n", "120", "--out", str(labels)]) == 0
    assert "120 of 2000 answers" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["diagnose", str(file), "--labels", str(labels)])
    assert "no label is filled in" in capsys.readouterr().err
    filled(labels, by)
    assert main(["diagnose", str(file), "--labels", str(labels), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["labelled"]
    assert {s["name"]: s["right"]["n"] for s in found["strata"]} == dict.fromkeys(RATES, 30)
    assert found["accuracy"]["low"] <= truth <= found["accuracy"]["high"]
    assert found["accuracy"]["high"] - found["accuracy"]["low"] < 0.3
    assert main(["diagnose", str(file), "--labels", str(labels)]) == 0
    text = capsys.readouterr().out
    assert "of answers are right (" in text
    assert "of cut answers are right" in text
    assert "accuracy is unknown" not in text
    with pytest.raises(SystemExit):
        main(["sample", str(file), "--out", str(labels)])
    assert "may hold labels" in capsys.readouterr().err


def test_weights_keep_the_estimate_unbiased_over_draws(tmp_path: Path) -> None:
    file, labels = tmp_path / "watch-1.jsonl", tmp_path / "labels.jsonl"
    truth, values, inside = journal(file, 600), [], 0
    for seed in range(60):
        drawn = draw([file], 80, seed)
        assert sum(row["weight"] for row in drawn.rows) == pytest.approx(600)
        labels.write_text("".join(json.dumps(row) + "\n" for row in drawn.rows))
        filled(labels, "right")
        (found,) = diagnose(read([file]), labels=read_labels(labels)).labelled
        assert found.accuracy.value is not None
        values.append(found.accuracy.value)
        inside += found.accuracy.low <= truth <= found.accuracy.high
    assert abs(sum(values) / len(values) - truth) < 0.015
    assert inside >= 55


def test_what_is_not_labelled_yet_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, labels = tmp_path / "watch-1.jsonl", tmp_path / "to-label.jsonl"
    journal(file)
    main(["sample", str(file), "-n", "40", "--out", str(labels)])
    filled(labels, "right")
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    for row in rows:
        if row["stratum"] == "cut":
            row["right"] = None
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    assert main(["diagnose", str(file), "--labels", str(labels)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "% of answers are right, going by 30 labels" in text
    assert "Not labelled yet: 10 of the cut ones" in text


def test_a_journal_without_texts_says_how_to_get_them(tmp_path: Path) -> None:
    file = tmp_path / "watch-1.jsonl"
    journal(file, 20, texts=False)
    with pytest.raises(DataError, match="--watch-texts"):
        draw([file], 10)
    file.write_text('{"custom_id": "a", "response": null}\n')
    with pytest.raises(DataError, match="not a journal of"):
        draw([file], 10)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"stratum": "odd"}, "not a row that `thinkcap sample` wrote"),
        ({"weight": 0}, "is not a weight"),
        ({"weight": "2"}, "is not a weight"),
        ({"right": "perhaps"}, "is not a verdict"),
    ],
)
def test_rows_that_were_spoilt_are_named(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    file, labels = tmp_path / "watch-1.jsonl", tmp_path / "labels.jsonl"
    journal(file, 50)
    rows = [dict(row) | {"right": True} for row in draw([file], 20).rows]
    labels.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {**rows[0], "id": "x", **change}]))
    with pytest.raises(DataError, match=f"line {len(rows) + 1}.*{why}"):
        read_labels(labels)
    labels.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    with pytest.raises(DataError, match="appears twice"):
        read_labels(labels)


def test_labels_of_another_log_are_refused(tmp_path: Path) -> None:
    file, labels = tmp_path / "watch-1.jsonl", tmp_path / "labels.jsonl"
    journal(file, 50)
    rows = [{**row, "right": True, "model": "other"} for row in draw([file], 20).rows]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="labels belong to 'other'"):
        diagnose(read([file]), labels=read_labels(labels))
