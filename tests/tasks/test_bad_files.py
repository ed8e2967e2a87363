"""Files that are no questions: each ends in one line that names the file and what to do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from thinkcap.cli import main

GOOD = json.dumps({"question": "2 + 3?", "answer": "5", "kind": "number"}).encode()
BAD: dict[str, tuple[str, bytes]] = {
    "empty": ("x.jsonl", b""),
    "blank lines": ("x.jsonl", b"\n\n \n"),
    "binary": ("x.jsonl", bytes(range(256)) * 8),
    "nul bytes": ("x.jsonl", b"\0" * 64),
    "latin-1": ("x.jsonl", GOOD + b'\n{"question": "caf\xe9", "answer": "1", "kind": "math"}'),
    "utf-16": ("x.jsonl", GOOD.decode().encode("utf-16")),
    "one array": ("x.jsonl", b"[" + GOOD + b"]"),
    "a number": ("x.jsonl", b"5"),
    "half a record": ("x.jsonl", GOOD[:-9]),
    "deep": ("x.jsonl", b"[" * 100_000),
    "a long number": ("x.jsonl", b'{"question": "?", "kind": "number", "answer": ' + b"9" * 6_000 + b"}"),
    "no gold": ("x.jsonl", b'{"question": "?", "kind": "number"}'),
    "an empty gold": ("x.jsonl", b'{"question": "?", "answer": " ", "kind": "number"}'),
    "a gold that is a list": ("x.jsonl", b'{"question": "?", "answer": [1], "kind": "number"}'),
    "no question": ("x.jsonl", b'{"answer": "1", "kind": "number"}'),
    "a question that is a number": ("x.jsonl", b'{"question": 5, "answer": "1", "kind": "number"}'),
    "doubled ids": ("x.jsonl", b"\n".join([GOOD[:-1] + b', "id": "a"}'] * 2)),
    "a lone surrogate": ("x.jsonl", b'{"question": "\\ud800", "answer": "1", "kind": "number"}'),
    "csv of nul bytes": ("x.csv", b"question,answer,kind\n\0,1,math"),
    "csv with an open quote": ("x.csv", b'question,answer,kind\n"?,1,math'),
    "csv with many columns": ("x.csv", b",".join(b"c%d" % i for i in range(20_000)) + b"\n1"),
    "jsonl with many columns": ("x.jsonl", json.dumps({f"c{i}": 1 for i in range(100_000)}).encode()),
    "csv without a header": ("x.csv", b"What is 1 + 1?,2\nWhat is 2 + 2?,4\n"),
    "csv that is a web page": ("x.csv", b"<!DOCTYPE html><html><body>" + b"Not found " * 500 + b"</body></html>"),
    "csv that is a spreadsheet": ("x.csv", b"PK\x03\x04\x14\x00[Content_Types].xml"),
    "csv that is packed": ("x.csv", gzip.compress(b"question,answer\n?,1")),
    "csv that is parquet": ("x.csv", b"PAR1\x15\x04\x15"),
    "a spreadsheet by its name": ("x.xlsx", b"PK\x03\x04"),
    "a text by its name": ("x.txt", b"What is 1 + 1? 2"),
    "a gold that is no number": ("x.jsonl", b'{"question": "?", "answer": NaN}'),
    "a gold that is null": ("x.jsonl", b'{"question": "?", "answer": null}'),
    "csv without questions": ("x.csv", b"a,b\n1,2"),
    "csv with two columns of one name": ("x.csv", b"question,answer,answer\n?,1,2"),
    "csv with a gold missing": ("x.csv", b"question,answer\n?,1\n?,"),
    "csv with too many cells": ("x.csv", b"question,answer\n?,1,2"),
    "a gold not among the options": ("x.csv", b"question,A,B,answer\n?,3,4,5"),
    "a gold that is two options": ("x.csv", b"question,A,B,answer\n?,3,3,3"),
    "places from 0 or from 1": ("x.csv", b"question,A,B,C,answer\n?,x,y,z,1"),
    "a broken pattern": ("x.csv", b"question,answer\nwhere?,/(/\nwho?,Ann"),
    "an endless pattern": ("x.csv", b"question,answer\nwho?,/" + b"a" * 5_000 + b"/"),
    "tsv in utf-16": ("x.tsv", "question\tanswer\n?\t1".encode("utf-16")),
    "json that is text": ("x.json", b"hello"),
    "parquet that is none": ("x.parquet", b"PAR1 not at all"),
    "an empty parquet": ("x.parquet", b""),
    "csv with a huge cell": ("x.csv", b"question,answer,kind\n" + b"a" * 200_000 + b",1,math"),
}


def ends_in_one_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["study", "--task", str(path), "--dry-run"])
    assert end.value.code == 2
    printed, said = capsys.readouterr()
    assert printed == ""
    assert said.startswith("thinkcap: ")
    assert path.name in said
    assert said.count("\n") == 1
    assert len(said) < 600


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_ends_in_one_line(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file, content = BAD[name]
    (tmp_path / file).write_bytes(content)
    ends_in_one_line(tmp_path / file, capsys)


def test_a_million_columns_end_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ",".join(f"c{i}" for i in range(1_000_000))
    (tmp_path / "x.csv").write_text(f"{names}\n{',' * 999_999}")
    ends_in_one_line(tmp_path / "x.csv", capsys)
