"""Whatever a log holds, the answer is a diagnosis or a DataError; JSON documents name the line of the bad row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinkcap.core.errors import DataError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.logs.door import read
from thinkcap.logs.place import line_of

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
    ]
)
ROWS = st.lists(st.dictionaries(FIELDS, VALUE, max_size=8), max_size=6)
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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
        json.dumps(found.to_dict(), allow_nan=False)


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


JSON_VALUE = st.recursive(
    VALUE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3)
)
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
        ({"correct": "maybe"}, "'maybe' is no verdict"),
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
