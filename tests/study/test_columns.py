"""Columns become arrays as pyarrow itself makes them, without what it imports for that."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thinkcap.study.columns import Coded, numbers


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, -1, 1 << 40], pa.int64()),
        pa.array([1, 2, 3], pa.int8()),
        pa.array([True, False] * 9 + [True], pa.bool_()),
        pa.array([0.5, None, 2.5], pa.float64()),
        pa.array([1, None], pa.int64()),
        pa.array([], pa.int64()),
        pa.array([], pa.bool_()),
    ],
    ids=str,
)
def test_numbers_are_those_of_pyarrow(values: pa.Array) -> None:
    for column in (values, values[1:], pa.chunked_array([values[1:], values])):
        np.testing.assert_array_equal(numbers(column), column.to_numpy(zero_copy_only=False))


@pytest.mark.parametrize("words", [["b", "a", "b"], ["b", None, "a", None], [None, None], []])
def test_texts_are_those_that_were_written(words: list[str | None]) -> None:
    column = pa.chunked_array([pa.array(words, pa.string()), pa.array(words[1:], pa.string())])
    for coded in (Coded(column), Coded(column.dictionary_encode())):
        rows = np.arange(len(column))
        assert coded.at(rows) == column.to_pylist()
        assert coded.at(rows[::-1]) == column.to_pylist()[::-1]
        assert [None if code < 0 else coded.texts[code] for code in coded.codes] == column.to_pylist()


def test_reading_rows_imports_no_pandas(tmp_path: Path) -> None:
    table = pa.table({"policy": ["think", None], "budget": [64, 128], "ended": [True, False]})
    pq.write_table(table, tmp_path / "rows.parquet")
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from thinkcap.study.columns import read_columns\n"
        "found = read_columns(Path(sys.argv[1]) / 'rows.parquet', ('policy', 'budget', 'ended'))\n"
        "found.text('policy').texts, found.number('budget'), found.number('ended')\n"
        "sys.exit('pandas' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == 0
