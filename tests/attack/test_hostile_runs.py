"""A run that came from somebody else may be small on disk and without end in memory: it is refused, not read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chains import study

from thinkcap.core.errors import DataError
from thinkcap.report.explorer.answers import Axes, StageSymbols, answered
from thinkcap.study import columns
from thinkcap.study.columns import read_columns
from thinkcap.study.listing import list_runs
from thinkcap.view.shelf import Shelf


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    study(folder, limit=2, policies="nothink", budgets="16")
    return folder


def repeated(run: Path, times: int, **changed: str) -> int:
    """The run's first row over and over; how large the file is then."""
    path = run / "rows.parquet"
    first = pq.read_table(path).slice(0, 1)
    for name, text in changed.items():
        first = first.set_column(first.schema.get_field_index(name), name, pa.array([text]))
    rows = first.take(pa.array([0] * times, pa.int32()))
    pq.write_table(rows, path, compression="zstd")
    return path.stat().st_size


def refused(run: Path, look: Callable[[], object]) -> str:
    with pytest.raises(DataError) as err:
        look()
    said = str(err.value)
    assert "in memory" in said, said
    return said


def test_a_small_file_of_very_many_rows_is_not_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_BYTES", 1 << 20, raising=False)
    assert repeated(run, 100_000) < 1 << 20
    said = refused(run, lambda: read_columns(run / "rows.parquet", ("task", "policy", "verdict")))
    assert "rows.parquet" in said
    refused(run, lambda: Shelf(run.parent).content(run.name))


def test_one_long_text_in_very_many_rows_is_not_unfolded(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_BYTES", 64 << 20, raising=False)
    assert repeated(run, 2_000, text="a" * (1 << 17)) < 1 << 20
    coded = read_columns(run / "rows.parquet", ("task", "text"))
    assert len(coded) == 2_000
    assert coded.text("text").at(np.arange(2_000)) == ["a" * (1 << 17)] * 2_000
    shown = list(answered(run, coded.text("task").of(0), Axes(["nothink"], [16]), StageSymbols()))
    assert len(shown[0].detail) < 1 << 16


@pytest.mark.parametrize("name", ["summary.json", "study.toml", "progress.json"])
@pytest.mark.parametrize("what", ["a file of holes", "a pipe"])
def test_a_file_without_end_hides_no_other_run(run: Path, name: str, what: str) -> None:
    path = run / name
    path.unlink(missing_ok=True)
    if what == "a pipe":
        os.mkfifo(path)
    else:
        path.touch()
        os.truncate(path, 1 << 40)
    study(run.parent / "ours", limit=1, policies="nothink", budgets="16")
    states = {one.name: one.state for one in list_runs(run.parent)}
    assert states["ours"] == "finished"
    assert states["theirs"] == ("stopped" if name == "summary.json" else "finished")
    if name == "summary.json":
        with pytest.raises(DataError, match="summary"):
            Shelf(run.parent).content("theirs")
