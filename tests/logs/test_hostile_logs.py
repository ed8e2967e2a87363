"""Whatever a log holds, the answer is a diagnosis or a DataError; JSON documents name the line of the bad row."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import ConfigError, DataError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.logs.door import read
from thinkcap.logs.memory import parse_size
from thinkcap.logs.place import line_of
from thinkcap.verdict.page import as_json

VALUE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.floats(allow_nan=True),
    st.text(max_size=4),
    st.just([1]),
    st.just({}),
)
FIELDS = st.sampled_from(
    [
        "id",
        "idx",
        "correct",
        "tokens",
        "budget",
        "mode",
        "model",
        "gold",
        "finish_reason",
        "seed",
        "ended",
        "doc_id",
        "resps",
        *("output", "response", "choices", "messages", "pred", "sample", "thinking", "error", "method", "latency"),
        *("outputs", "text", "usage", "completion_tokens", "hit_budget", "level", "task", "answer", "question"),
    ]
)
KEYS = ["think_512", "nothink", "results", "Qwen3-8B", "meta", "seed1", "per_sample", "x"]
JSON_VALUE = st.recursive(
    VALUE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3)
)
ROWS = st.lists(st.dictionaries(FIELDS, VALUE, max_size=8), max_size=6)
QUIET = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# Documents of rows take long to make; `make campaign` feeds mutated logs for an hour.
NESTED = settings(QUIET, max_examples=25)


def _attempt(path: Path) -> None:
    """A diagnosis that JSON can hold, or one line that names the file; anything else fails by itself."""
    said = ""
    try:
        found = diagnose(read([path]), draws=0)
    except DataError as err:
        said = str(err)
    if said:
        assert path.name in said
        assert len(said.splitlines()) == 1
    else:
        assert found.rows > 0
        json.loads(as_json(found), parse_constant=pytest.fail)


DEEP_ROWS = st.lists(st.dictionaries(FIELDS, JSON_VALUE, min_size=1, max_size=8), min_size=1, max_size=4)


@NESTED
@given(DEEP_ROWS)
def test_any_nested_json_lines(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    _attempt(path)


@NESTED
@given(
    st.recursive(DEEP_ROWS, lambda inner: st.dictionaries(st.sampled_from(KEYS), inner, min_size=1, max_size=3))
)
def test_any_document_with_rows_inside(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    _attempt(path)


@QUIET
@given(ROWS)
def test_any_json_lines(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    _attempt(path)


@QUIET
@given(st.binary(max_size=200), st.sampled_from([".jsonl", ".csv", ".json", ".eval", ".parquet"]))
def test_any_bytes(tmp_path: Path, content: bytes, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    _attempt(path)


@QUIET
@given(st.text(alphabet='id,correct\n"01\r;x', max_size=60))
def test_any_csv(tmp_path: Path, body: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,correct,tokens\n" + body)
    _attempt(path)


SHAPES = st.sampled_from(
    [
        {"per_sample": {"think_8": "ROWS"}, "meta": {}},
        {"per_sample": "ROWS", "meta": {"budget": 8}},
        {"per_sample_iris": "ROWS"},
        {"results": "ROWS", "meta": {"budget": 8}},
        {"version": 2, "eval": {"model": "m"}, "samples": "ROWS"},
    ]
)
WORDS = [
    *(
        "idx",
        "correct",
        "tokens",
        "hit_budget",
        "final_stage",
        "tokens_total",
        "full_text",
        "n_tokens",
        "gold",
        "id",
    ),
    *("scores", "output", "mrsd_correct", "B_total", "method", "Br", "Ba", "think_neutral", "nothink_extraction"),
]


@QUIET
@given(SHAPES, st.lists(st.dictionaries(st.sampled_from(WORDS), JSON_VALUE, max_size=10) | VALUE, max_size=4))
def test_any_document_of_a_known_shape(tmp_path: Path, shape: dict[str, Any], rows: list[Any]) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(shape).replace('"ROWS"', json.dumps(rows)))
    _attempt(path)


def sweep(tmp_path: Path, **bad: Any) -> Path:
    good = {"idx": 0, "correct": True, "tokens": 5, "hit_budget": False}
    rows = [good, {**good, "idx": 1}, {**good, "idx": 2, **bad}]
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"meta": {"model": "m"}, "per_sample": {"think_8": rows}}, indent=1))
    return path


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"tokens": -4}, "column 'tokens': -4 is negative"),
        ({"tokens": None}, "column 'tokens': no value"),
        ({"tokens": "many"}, "'many' is not a whole number"),
        ({"idx": 0}, "column 'idx': id '0' occurred before"),
        ({"correct": "maybe"}, "'maybe' is not a verdict"),
    ],
)
def test_a_bad_row_of_a_document_is_found_by_line(tmp_path: Path, bad: dict[str, Any], said: str) -> None:
    path = sweep(tmp_path, **bad)
    line = path.read_text().splitlines().index("   {", 18) + 1
    with pytest.raises(DataError) as caught:
        read([path])
    assert said in str(caught.value)
    assert f"line {line} (per_sample.think_8[2])" in str(caught.value)


def test_lines_of_nested_values() -> None:
    text = '{"a": {"b": [0,\n1, "x,]}", {"c":\n [\n5]}]},\n "d": null}'
    assert line_of(text, ("a", "b", 1)) == 2
    assert line_of(text, ("a", "b", 3, "c", 0)) == 4
    assert line_of(text, ("d",)) == 5
    with pytest.raises(LookupError):
        line_of(text, ("nowhere",))


LITTLE = parse_size("16MB")


def refused(path: Path, memory: int = LITTLE) -> str:
    with pytest.raises(DataError) as caught:
        diagnose(read([path], memory=memory), draws=0)
    said = str(caught.value)
    assert path.name in said
    assert len(said.splitlines()) == 1
    assert said.isprintable()
    assert len(said) < 600
    return said


def eval_log(path: Path, sample: str, packing: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {"model": "m", "task": "t"}}))
        archive.writestr("samples/1.json", sample)
    return path


@pytest.mark.parametrize("sample", ['{"id": 1, "x": "' + "a" * 2**25 + '"}', "[" + "{}," * 2**20 + "{}]"])
def test_a_small_archive_that_unpacks_to_a_large_one(tmp_path: Path, sample: str) -> None:
    path = eval_log(tmp_path / "bomb.eval", sample)
    assert path.stat().st_size < 2**16
    assert "more than the 16 MB allowed; raise --memory" in refused(path)


def test_an_archive_packed_with_zstandard_is_bounded_too(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(b'{"id": 1, "x": "' + b"a" * 2**25 + b'"}')
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"version": 2, "eval": {"model": "m"}}))
        archive.writestr("samples/1.json", packed)
    raw = bytearray(path.read_bytes())
    entry = raw.rfind(b"PK\x01\x02")
    raw[entry + 10 : entry + 12] = (93).to_bytes(2, "little")
    path.write_bytes(raw)
    assert "more than the 16 MB allowed" in refused(path)


def test_a_small_parquet_of_very_many_rows(tmp_path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 2**20
    texts = ("question", "task", "model", "policy", "verdict", "gold_hash")
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int8)), pa.array(["x"]))
    columns: dict[str, Any] = dict.fromkeys(texts, same)
    columns |= dict.fromkeys(("budget", "seed", "tokens_charged"), pa.array(np.zeros(n, dtype=np.int64)))
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({**columns, "ended": pa.array(np.zeros(n, dtype=bool))}), path)
    assert path.stat().st_size < 2**20
    assert "more than the 16 MB allowed" in refused(path)


def test_a_parquet_of_one_long_text_repeated(tmp_path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 500
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array(["y" * 2**18]))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": list(range(n)), "output": long, "gold": ["5"] * n}), path)
    assert path.stat().st_size < 2**20
    assert "more than the 16 MB allowed" in refused(path)


def test_long_lines_wide_documents_and_packed_lines(tmp_path: Path) -> None:
    line = b'{"id": 1, "correct": 1, "x": "' + b"a" * 2**24 + b'"}'
    (tmp_path / "a.jsonl").write_bytes(line)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(line))
    (tmp_path / "c.json").write_bytes(b"[" + b"{}," * 2**18 + b'{"id": 1, "correct": 1}]')
    (tmp_path / "d.csv").write_bytes(b"id,correct\n" + b"1" * 2**24)
    for path in sorted(tmp_path.iterdir()):
        assert "more than the 16 MB allowed" in refused(path)


def test_rows_are_counted_against_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"id": i, "correct": 1}) + "\n" for i in range(5000)))
    assert "more than the 1 MB allowed" in refused(path, parse_size("1MB"))
    assert read([path], memory=LITTLE).rows == 5000


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("deep.json", "[" * 10**5 + "]" * 10**5, "nested too deeply"),
        ("deep.jsonl", '{"id": 1, "correct": ' + "[" * 10**5 + "]" * 10**5 + "}", "nested too deeply"),
        ("digits.json", '[{"id": 1, "correct": 1, "tokens": ' + "9" * 5000 + "}]", "too many digits"),
        ("digits.jsonl", '{"id": 1, "correct": 1, "tokens": ' + "9" * 4000 + "}", "is not a whole number"),
        ("infinite.jsonl", '{"id": 1, "correct": 1, "tokens": 1e400}', "inf is not a whole number"),
        ("infinite.json", '[{"id": 1, "correct": 1, "budget": 1e400}]', "inf is not a whole number"),
        ("none.jsonl", '{"id": 1, "correct": 1, "budget": 0}', "0 is not a cap"),
    ],
)
def test_numbers_and_depths_no_log_has(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    assert said in refused(tmp_path / name)


def test_what_a_log_calls_itself_cannot_move_a_terminal(tmp_path: Path) -> None:
    bad = "\x1b]0;owned\x07\x1b[2J\r\ud800"
    row = {
        "id": bad,
        "correct": 1,
        "policy": bad,
        "model": bad,
        "task": bad,
        "group": bad,
        "gold": bad,
        "output": bad,
    }
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "id": 2, bad: 1}) + "\n")
    records = read([path])
    shown = [a.label + a.model + a.task + a.model_as_logged for a in records.arms]
    shown += [str(g) for a in records.arms for g in a.extra["group"]]
    assert all(text.isprintable() for text in (*shown, *records.notes))
    as_json(diagnose(records, draws=0)).encode()


def test_devices_and_pipes_are_refused_unread(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    for path in (tmp_path / "a.jsonl", Path("/dev/zero")):
        with pytest.raises(DataError, match="a device or a pipe"):
            read([path])
    # Inside a folder they are passed over.
    (tmp_path / "b.jsonl").write_text('{"id": 1, "correct": 1}\n')
    assert read([tmp_path]).rows == 1


def test_sizes_as_people_write_them() -> None:
    assert [parse_size(t) for t in ("512MB", "2G", "1.5 GiB", "64k")] == [2**29, 2**31, 3 * 2**29, 2**16]
    for bad in ("", "much", "-1GB", "0", "1e9"):
        with pytest.raises(ConfigError, match="--memory"):
            parse_size(bad)
