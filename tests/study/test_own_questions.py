"""A study on files nobody prepared, from the command as a user would first type it, on the bundled model."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from thinkcap.cli import main
from thinkcap.study.config import StudyConfig

QUICK = ["--policy", "nothink", "--budgets", "64"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _rows(folder: str = "runs/study") -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(folder, "rows.jsonl").read_text().splitlines()]


def test_a_csv_nobody_prepared(capsys: pytest.CaptureFixture[str]) -> None:
    Path("questions.csv").write_text(
        "Nr;Prompt;Target;subject;notes\n1;What is 2 + 3?;5;adding;easy\n2;What is 4 * 3?;12;products;\n"
        "3;What is 5 * 3?;15;products;\n"
    )
    assert main(["study", "--task", "questions.csv", *QUICK]) == 0
    assert (
        "question in 'Prompt', gold in 'Target', groups by 'subject'; kind number (guessed"
        in capsys.readouterr().err
    )
    rows = _rows()
    assert len(rows) == 3
    assert {row["verdict"] for row in rows} <= {"right", "wrong", "unreadable"}
    chains = [json.loads(line) for line in Path("runs/study/chains.jsonl").read_text().splitlines()]
    assert {chain["group"] for chain in chains} == {"adding", "products"}
    assert chains[0]["facts"]["Nr"] in ("1", "2", "3")


def test_a_parquet_with_foreign_names(capsys: pytest.CaptureFixture[str]) -> None:
    table = {"frage": ["What is 2 + 3?", "What is 4 + 4?"], "loesung": ["/^5$/", "8"], "quelle": ["a", "a"]}
    pyarrow.parquet.write_table(pyarrow.table(table), "dump.parquet")
    words = ["study", "--task", "dump.parquet", "--map", "question=frage,gold=loesung", "--kind", "text", *QUICK]
    assert main([*words, "--out", "mine"]) == 0
    assert len(_rows("mine")) == 2
    stored = StudyConfig.from_file(Path("mine/study.toml"))
    assert dict(stored.map) == {"question": "frage", "gold": "loesung"}
    assert stored.kind == "text"
    assert main(["study", "mine/study.toml", "--dry-run"]) == 0
    assert "2 rows, all done already: nothing will be generated" in capsys.readouterr().out


def test_a_competition_from_a_folder_of_data(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "--task", "aime25", "--data", str(shared / "data"), "--limit", "1", *QUICK]) == 0
    assert "aime25 on pebble, 1 question:" in capsys.readouterr().out
    assert _rows()[0]["question"].startswith("aime25/")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--task", "q.csv", "--map", "question"], "--map: 'question' is not a pair"),
        (["--task", "q.csv", "--map", "frage=question"], "--map names no 'frage'"),
        (["--task", "q.csv", "--map", "question=x"], "no such column in q.csv"),
        (["--task", "q.csv", "--kind", "txt"], "unknown kind 'txt'; did you mean 'text'"),
        (["--kind", "text"], "--map and --kind are for a file of your own questions"),
    ],
)
def test_wrong_words_end_in_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("q.csv").write_text("question,answer\n1+1?,2\n")
    with pytest.raises(SystemExit) as end:
        main(["study", *words, "--dry-run"])
    assert end.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("mc.csv", "question,A,B,answer\nEven?,3,4,B\nOdd?,3,4,A\n", "label"),
        ("q.jsonl", '{"problem": "1+1?", "solution": 2}\n', "number"),
        ("words.tsv", "prompt\ttarget\nCapital of France?\tParis\n", "text"),
    ],
)
def test_init_writes_a_study_that_fits(
    name: str, text: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(text)
    main(["init", name])
    assert "wrote study.toml" in capsys.readouterr().out
    config = StudyConfig.from_file(Path("study.toml"))
    assert (config.tasks, config.kind) == ((name,), kind)
    assert main(["study", "study.toml", "--dry-run"]) == 0
    with pytest.raises(SystemExit):
        main(["init", name])
    assert "'study.toml' already exists" in capsys.readouterr().err


def test_init_leaves_the_kind_open_where_the_file_has_several() -> None:
    Path("q.csv").write_text("question,answer,kind\n1+1?,2,number\nwho?,Ann,text\n")
    main(["init", "q.csv"])
    assert StudyConfig.from_file(Path("study.toml")).kind is None
