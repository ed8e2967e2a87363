"""Users' own files: every mistake names its place and the way out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkcap.core.errors import DataError
from thinkcap.tasks import check, load

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
        ({"question": "?", "answer": "1"}, r"line 2: 'kind' is missing; wanted number, math or label"),
        (
            {"question": "?", "answer": "1", "kind": "numbr"},
            r"line 2: unknown kind 'numbr'; did you mean 'number'\?",
        ),
        (
            {"qestion": "?", "answer": "1", "kind": "math"},
            r"line 2: unknown key 'qestion'; did you mean 'question'\?",
        ),
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
        (["question,anser,kind", "?,1,math"], "unknown column 'anser'; did you mean 'answer'"),
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
