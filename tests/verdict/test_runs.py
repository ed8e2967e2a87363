"""What two runs were made on is named wherever they are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thinkcap.core.errors import DataError
from thinkcap.diagnose.diagnosis import Diagnosis, diagnose
from thinkcap.diagnose.document import document
from thinkcap.logs.arms import Arm, Records
from thinkcap.logs.door import read
from thinkcap.verdict.say import say

HERE = {"hardware": "x86_64, 2 cores", "dtype": "F16", "engine": "llamacpp 1", "grader": "1"}


def run(file: str, wrong: int, made: dict[str, str], policies: tuple[str, ...] = ("think",)) -> list[Arm]:
    """A hundred questions of which the first `wrong` are not right."""
    return [
        Arm(
            policy=policy,
            budget=512,
            file=file,
            question=np.arange(100),
            verdict=(np.arange(100) >= wrong).astype(np.int8),
            content=np.arange(1, 101).astype(np.uint64),
            model="m",
            task="t",
            provenance=made,
        )
        for policy in policies
    ]


def diagnosed(*arms: Arm) -> Diagnosis:
    return diagnose(Records(arms), draws=0)


def text(found: Diagnosis) -> str:
    return " ".join(s.text for s in say(found).sentences)


def test_two_runs_on_different_hardware_say_so() -> None:
    found = diagnosed(*run("a", 0, HERE), *run("b", 15, {**HERE, "hardware": "H200", "dtype": "BF16"}))
    assert found.repeats[0].changed == ("hardware", "dtype")
    assert "x86_64, 2 cores (F16, llamacpp 1) against H200 (BF16, llamacpp 1)" in text(found)
    assert "so they are not noise: the second run has other hardware, another dtype" in text(found)
    assert any(note.startswith("b was made on H200") for note in say(found).notes)
    page = document(found)
    assert page["repeats"][0]["changed"] == ["hardware", "dtype"]
    assert page["repeats"][0]["second_provenance"]["hardware"] == "H200"
    assert page["findings"][0]["arms"][0]["provenance"]["hardware"] == "x86_64, 2 cores"


def test_two_runs_on_the_same_machine_say_so_too() -> None:
    found = diagnosed(*run("a", 0, HERE), *run("b", 2, HERE))
    assert "(both on x86_64, 2 cores (F16, llamacpp 1)) and differ on 2 of 100" in text(found)
    assert not any("made on" in note for note in say(found).notes)


def test_the_dialect_is_told_to_who_asks_and_is_no_machine() -> None:
    made = {"dialect": "magistral", "dialect_by": "texts"}
    found = diagnosed(*run("a", 0, made), *run("b", 15, {**made, "dialect": "<t> ... </t>"}))
    assert "by the marks of dialect magistral (found by texts)." in text(found)
    assert [s.detail for s in say(found).sentences if s.topic == "How thoughts are marked"] == [True]
    assert "neither says on what hardware" in text(found)
    assert "the second run has another dialect" in text(found)
    assert not any("made on" in note for note in say(diagnosed(*run("a", 0, HERE), *run("b", 2, made))).notes)


def test_a_log_that_does_not_say_is_not_taken_for_the_same() -> None:
    assert "neither says on what hardware" in text(diagnosed(*run("a", 0, {}), *run("b", 2, {})))
    assert "the other does not say" in text(diagnosed(*run("a", 0, HERE), *run("b", 2, {})))


def test_many_configurations_are_said_at_once() -> None:
    names = ("think", "nothink", "close", "split")
    found = diagnosed(*run("a", 0, HERE, names), *run("b", 15, {**HERE, "grader": "2"}, names))
    said = [s for s in say(found).sentences if "configurations" in s.text]
    assert len(said) == 1
    assert (
        "both ran 4 configurations (both on x86_64, 2 cores (F16, llamacpp 1)) and differ on 60 of 400"
        in said[0].text
    )
    assert "another grader. This holds for 4 of them: close@512, nothink@512, split@512 ..." in said[0].text
    same = diagnosed(*run("a", 0, HERE, names), *run("b", 0, HERE, names))
    assert "all 400 verdicts agree" in text(same)


def study(folder: Path, hardware: str, right: list[str]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rows: list[dict[str, Any]] = [
        {
            "question": f"q{i}",
            "task": "t",
            "model": "m",
            "policy": "think",
            "budget": 8,
            "seed": 0,
            "verdict": verdict,
            "ended": True,
            "tokens_charged": 5,
            "gold_hash": f"{i + 1:x}",
        }
        for i, verdict in enumerate(right)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    engine = {"engine": "llamacpp", "version": "1", "fingerprint": "f"}
    about = {"engine": engine, "hardware": hardware, "dtype": "F16", "prompts": "p", "grader": "g"}
    (folder / "summary.json").write_text(json.dumps({"provenance": about}))
    return folder


@pytest.mark.parametrize("names", [("one", "two"), ("a/run", "b/run")])
def test_two_of_our_runs_are_two_even_under_one_name(tmp_path: Path, names: tuple[str, str]) -> None:
    first = study(tmp_path / names[0], "x86_64, 2 cores", ["right"] * 4)
    second = study(tmp_path / names[1], "H200", ["right", "wrong", "right", "right"])
    found = diagnose(read([first, second]), draws=0)
    assert [(r.flipped, r.changed) for r in found.repeats] == [(1, ("hardware",))]
    assert {a.n for a in found.findings[0].arms} == {4}
    assert "x86_64, 2 cores (F16, llamacpp 1) against H200 (F16, llamacpp 1)" in text(found)


def test_rows_without_a_summary_are_read(tmp_path: Path) -> None:
    folder = study(tmp_path / "run", "x", ["right"])
    (folder / "summary.json").write_text("[]")
    assert read([folder]).arms[0].provenance == {}
    (folder / "summary.json").unlink()
    assert read([folder / "rows.parquet"]).arms[0].file == "run"


def test_another_parquet_file_is_refused_in_words(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(DataError, match="no column for 'correct' or 'output' among a"):
        read([tmp_path / "other.parquet"])
