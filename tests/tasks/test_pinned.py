"""Benchmarks from files: found, read in every format, and refused when they are not what they claim to be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from thinkcap.core.errors import DataError
from thinkcap.tasks import check, competitions, gsm8k, load
from thinkcap.tasks.task import content_hash

ROWS = [{"problem": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(1, 6)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small sets of our own in the place of the real ones."""
    monkeypatch.delenv("THINKCAP_DATA", raising=False)
    content = content_hash((r["problem"], r["answer"]) for r in ROWS)
    ours = replace(competitions.SETS["aime25"], count=len(ROWS), content=content)
    monkeypatch.setitem(competitions.SETS, "aime25", ours)
    monkeypatch.setattr(gsm8k, "PINNED", replace(gsm8k.PINNED, count=len(ROWS), content=content))
    for name, rows in (
        ("aime/aime25.jsonl", ROWS),
        ("gsm8k/test.jsonl", [{"question": r["problem"], "answer": f"steps\n#### {r['answer']}"} for r in ROWS]),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_a_set_is_found_in_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = load("aime25", data=folder, limit=3)
    assert [q.id for q in task.questions] == ["aime25/0", "aime25/1", "aime25/2"]
    assert task.golds["aime25/2"] == "6"
    check(task)
    assert load("aime25", data=folder / "aime" / "aime25.jsonl", limit=3).questions == task.questions
    monkeypatch.setenv("THINKCAP_DATA", str(folder))
    assert load("aime25", limit=3).questions == task.questions
    words = load("gsm8k", limit=2)
    assert words.questions[0].messages[0]["content"].endswith("#### number")
    assert words.golds["gsm8k/1"] == "4"


def test_parquet_gives_the_same_set(folder: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "set.parquet")
    assert load("aime25", data=tmp_path / "set.parquet") == load("aime25", data=folder)


def test_a_changed_set_is_refused_with_both_hashes(folder: Path) -> None:
    path = folder / "aime" / "aime25.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS[:-1])))
    wanted = r"4 questions with hash [0-9a-f]{64}, wanted 5 with hash [0-9a-f]{64}"
    with pytest.raises(DataError, match=wanted):
        load("aime25", data=folder)
    path.write_text(json.dumps({"problem": "?"}))
    with pytest.raises(DataError, match="'answer' is missing"):
        load("aime25", data=folder)
    with pytest.raises(DataError, match="no part 'hard'"):
        load("aime25:hard", data=folder)
    with pytest.raises(DataError, match="looked for"):
        load("aime25", data=folder / "none")


@pytest.mark.parametrize(("name", "count"), [("aime24", 30), ("aime25", 30), ("amc23", 40)])
def test_the_real_sets(shared: Path, name: str, count: int) -> None:
    task = load(name, data=shared / "data")
    assert len(task.questions) == count
    check(task)
