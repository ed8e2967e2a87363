"""Sizes from a Parquet footer are those of pyarrow; a footer of a stranger is read or refused, never trusted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thinkcap.study.footer import unpacked

TABLE = pa.table(
    {"n": list(range(9000)), "parts": [["x", "y", None]] * 9000, "text": ["t"] * 9000, "right": [True] * 9000}
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("footer") / "a.parquet"
    pq.write_table(TABLE, found, row_group_size=2000, compression="zstd")
    return found


@pytest.mark.parametrize("columns", [None, ["n"], ["parts", "text"], ["none such"]])
def test_it_says_what_pyarrow_says(path: Path, columns: list[str] | None) -> None:
    about, wanted = pq.read_metadata(path), 0
    for group in (about.row_group(number) for number in range(about.num_row_groups)):
        for column in (group.column(at) for at in range(group.num_columns)):
            if columns is None or column.path_in_schema.partition(".")[0] in columns:
                wanted += column.total_uncompressed_size + 16 * column.num_values
    assert unpacked(path, columns) == wanted


FOOTERS = {
    "nothing": b"",
    "too short": b"\x19",
    "no row groups": b"\x15\x02\x00",
    "a number without end": b"\x15" + b"\xff" * 40,
    "a list of as many as there are atoms": b"\x49\xfc" + b"\xff" * 8 + b"\x01" + b"\x00" * 1000,
    "lists in lists": b"\x49" + b"\x19" * 100_000,
    "structs in structs": b"\x4c" + b"\x1c" * 100_000,
    "a text larger than the file": b"\x18\xff\xff\xff\xff\x07ab",
    "a column without a size": b"\x49\x1c\x19\x1c\x00\x00\x00",
}


@pytest.mark.parametrize("name", FOOTERS)
def test_a_strangers_footer_is_refused(tmp_path: Path, name: str) -> None:
    footer = FOOTERS[name]
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="footer"):
        unpacked(tmp_path / "a.parquet")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"PAR1", b"PAR1" + b"\xff" * 4 + b"PAR1", b"x" * 100):
        (tmp_path / "a.parquet").write_bytes(content)
        with pytest.raises(ValueError, match="footer"):
            unpacked(tmp_path / "a.parquet")
