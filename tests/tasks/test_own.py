"""Users' own files, read as they are; every mistake names its place and the way out."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.tasks import check, load
from thinkcap.tasks.own.columns import find

GOOD = {"question": "2 + 3?", "answer": "5", "kind": "number"}


def _write(folder: Path, *records: object, name: str = "mine.jsonl") -> str:
    path = folder / name
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in records), encoding="utf-8")
    return str(path)


def test_a_good_file(tmp_path: Path) -> None:
    chat = {
        "messages": [{"role": "user", "content": "Pick A."}],
        "answer": "(A)",
        "kind": "label",
        "id": "x",
        "group": "g",
    }
    task = load(_write(tmp_path, GOOD, chat, {**GOOD, "answer": 7}))
    assert [q.id for q in task.questions] == ["0", "x", "2"]
    assert task.questions[0].messages[0]["content"] == "2 + 3?\nSolve it, then end with: #### number"
    assert task.questions[1].messages == ({"role": "user", "content": "Pick A."},)
    assert task.questions[1].group == "g"
    assert task.golds["2"] == "7"
    assert task.name == "mine"
    check(task)


def test_csv(tmp_path: Path) -> None:
    path = _write(tmp_path, "question,answer,kind,id", '"1, 2 or 3?",2,math,a', "4?,4,number,", name="mine.csv")
    task = load(path)
    assert [q.id for q in task.questions] == ["a", "1"]
    assert task.questions[0].messages[0]["content"].startswith("1, 2 or 3?")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{not json", r"mine.jsonl line 2 column 2: not JSON"),
        ("[1]", r"line 2: a list; wanted an object"),
        ({"question": "?", "kind": "number"}, r"line 2: 'answer' is missing"),
        (
            {"question": "?", "answer": "1", "kind": "numbr"},
            r"line 2: unknown kind 'numbr'; did you mean 'number'\?",
        ),
        ({"qestion": "?", "answer": "1", "kind": "math"}, r"line 2: wanted either 'question' or 'messages'"),
        ({"answer": "1", "kind": "math"}, r"line 2: wanted either 'question' or 'messages'"),
        ({"messages": [], "answer": "1", "kind": "math"}, r"line 2: 'messages' must be a list"),
        ({"messages": [{"role": "user"}], "answer": "1", "kind": "math"}, r"message 1 needs 'role' and 'content'"),
        ({"question": "?", "answer": None, "kind": "math"}, r"line 2: 'answer' is null"),
        ({"question": "?", "answer": "1", "kind": "math", "form": "boxed"}, r"unknown form 'boxed'"),
        ({"question": "?", "answer": "1", "kind": "math", "id": "0"}, r"line 2: the id '0' was used at .*line 1"),
    ],
)
def test_mistakes_name_their_place(tmp_path: Path, record: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(_write(tmp_path, GOOD, record))


def test_wrong_encoding_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_bytes(json.dumps(GOOD).encode() + b'\n{"question": "caf\xe9"}')
    with pytest.raises(DataError, match=r"line 2: byte \d+ is not UTF-8; save the file as UTF-8"):
        load(str(tmp_path / "mine.jsonl"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["question,anser,kind", "?,1,math"],
            r"no column of answers .*\('anser': did you mean 'answer'.*--map gold=",
        ),
        (["qestion,answer", "?,1"], r"no column of questions .*did you mean 'question'.*--map question="),
        (["question,question,answer", "a,b,1"], "two columns are named 'question'"),
        (["question,answer,kind", "a,b,c,d"], "line 2: more cells than the header"),
        (["question,answer,kind", "a"], "line 2: fewer cells than the header"),
        (["question,answer,kind", '"a,1,math'], "not CSV"),
        ([], "line 1: empty"),
        (["question,answer,kind"], "holds no questions"),
    ],
)
def test_csv_mistakes(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(_write(tmp_path, *lines, name="mine.csv"))


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        load(str(tmp_path / "none.jsonl"))


def test_a_csv_nobody_prepared(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        "Nr;Prompt;Target;Subject;notes",
        "1;What is 2 + 3?;5;adding;easy",
        "2;What is 1000 * 2?;2,000;products;",
        "3;What is 4 * 2?;8;products;long",
        name="export.csv",
    )
    task = load(path)
    assert [q.kind for q in task.questions] == ["number"] * 3
    assert [q.group for q in task.questions] == ["adding", "products", "products"]
    assert dict(task.facts["0"]) == {"Nr": "1", "Subject": "adding", "notes": "easy"}
    assert task.note == (
        "export.csv: question in 'Prompt', gold in 'Target', groups by 'Subject'; "
        "kind number (guessed; use --kind to change it)"
    )
    check(task)


def test_the_shortest_names_and_no_option_is_the_gold(tmp_path: Path) -> None:
    assert find(["Q", "A"], {}).named == {"question": "Q", "gold": "A"}
    with pytest.raises(DataError, match="no column of answers among question, A, B"):
        find(["question", "A", "B"], {})


def test_a_parquet_with_foreign_names_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "dump.parquet"
    table = {
        "frage": ["Capital of France?", "Capital of Italy?"],
        "loesung": ["Paris", "/^ro(me|ma)$/i"],
        "w": [1.5, 2.0],
    }
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    with pytest.raises(DataError, match="no column of questions among frage, loesung, w"):
        load(str(path))
    task = load(str(path), columns={"question": "frage", "gold": "loesung"})
    assert {q.kind for q in task.questions} == {"text"}
    assert task.questions[0].messages[0]["content"].endswith("#### answer")
    assert dict(task.facts["1"]) == {"w": "2.0"}
    check(task)
    with pytest.raises(ConfigError, match=r"--map question=frag: no such column .*did you mean 'frage'"):
        load(str(path), columns={"question": "frag"})
    with pytest.raises(ConfigError, match="unknown kind 'txt'; did you mean 'text'"):
        load(str(path), columns={"question": "frage", "gold": "loesung"}, kind="txt")


@pytest.mark.parametrize(
    ("golds", "kind", "form"),
    [
        (["5", "-3", "$1,000", "2.5"], "number", ""),
        ([5, 2.5], "number", ""),
        (["Reasoning.\n#### 18", "So.\n#### 4"], "number", ""),
        (["(A)", "B", "c."], "label", ""),
        (["true", "False"], "label", "truth"),
        ([True, False], "label", "truth"),
        (["Yes", "no"], "label", "yesno"),
        (["\\frac{1}{2}", "x+1", "\\text{ellipse}"], "math", ""),
        (["Paris", "New York", "7"], "text", ""),
        (["/^a+$/", "b"], "text", ""),
    ],
)
def test_the_kind_is_guessed_from_the_golds(tmp_path: Path, golds: list[object], kind: str, form: str) -> None:
    task = load(_write(tmp_path, *({"question": "?", "answer": gold} for gold in golds)))
    assert {(q.kind, q.form) for q in task.questions} == {(kind, form)}
    assert "guessed" in task.note
    said = load(_write(tmp_path, *({"question": "?", "answer": gold} for gold in golds)), kind="text")
    assert {q.kind for q in said.questions} == {"text"}
    assert "guessed" not in said.note


@pytest.mark.parametrize(
    ("lines", "golds"),
    [
        (["question,A,B,C,answer", "Even?,3,4,5,B", "Odd?,2,4,5,c"], ["(B)", "(C)"]),
        (["question,option_a,option_b,answer", "Capital?,Rome,Paris,paris", "Even?,3,4,(A)"], ["(B)", "(A)"]),
        (["question,A,B,C,answer", "Even?,3,4,,4"], ["(B)"]),
        (["question,choices,answer", '?,"[""x"", ""y""]",0', '?,"[""x"", ""y""]",1'], ["(A)", "(B)"]),
        (["question,choices,answer", '?,"[""x"", ""y""]",1', '?,"[""x"", ""y""]",2'], ["(A)", "(B)"]),
    ],
)
def test_multiple_choice(tmp_path: Path, lines: list[str], golds: list[str]) -> None:
    task = load(_write(tmp_path, *lines, name="mc.csv"))
    assert list(task.golds.values()) == golds
    assert {q.kind for q in task.questions} == {"label"}
    check(task)


def test_options_are_written_as_the_bundled_tasks_write_them(tmp_path: Path) -> None:
    task = load(_write(tmp_path, "question,A,B,answer", "Even?,3,4,B", name="mc.csv"))
    assert task.questions[0].messages[0]["content"] == (
        "Even?\nOptions:\n(A) 3\n(B) 4\nSolve it, then end with: The answer is (X)."
    )


def test_a_column_that_only_looks_like_an_id_is_none(tmp_path: Path) -> None:
    task = load(_write(tmp_path, "index,question,answer", "1,a?,1", "1,b?,2", name="mine.csv"))
    assert [q.id for q in task.questions] == ["0", "1"]


def test_a_kind_that_is_none_of_ours_is_a_fact(tmp_path: Path) -> None:
    task = load(_write(tmp_path, "question,answer,kind", "a?,1,history", "b?,2,sports", name="mine.csv"))
    assert {q.kind for q in task.questions} == {"number"}
    assert task.facts["0"]["kind"] == "history"


def test_json_with_a_list_inside(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"version": 1, "examples": [{"input": "2+3?", "target": "5"}]}))
    assert dict(load(str(path)).golds) == {"0": "5"}
