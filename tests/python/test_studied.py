"""The result of a study in Python: a mapping, frames, figures, a view for notebooks; and what is said where a
package is missing."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import thinkcap
from thinkcap import studied
from thinkcap.api import StudyOptions, read_study, run_study
from thinkcap.core.errors import ConfigError, EngineRefused, EngineTimeout
from thinkcap.core.sync import wait
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.progress import watching
from thinkcap.studied import Studied
from thinkcap.study.config import StudyConfig
from thinkcap.study.run import Progress


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Studied:
    def script(prompt: str) -> str:
        return "#### 7" if "2 + 5" in prompt else EngineTimeout("no answer in time")  # type: ignore[return-value]

    folder = tmp_path_factory.mktemp("own")
    (folder / "q.csv").write_text("question,answer,mark\nWhat is 2 + 5?,7,<b>&\nWhat is 2 + 6?,8,x\n")
    config = StudyConfig.from_mapping(
        {"tasks": [str(folder / "q.csv")], "policies": "nothink,think", "budgets": "16,32", "out": folder / "run"}
    )
    return wait(run_study(config, engine=ScriptedEngine(script)))


def test_it_is_a_mapping_of_the_summary(result: Studied) -> None:
    assert dict(result) == result.summary
    assert result["rows"] == len(result.rows) == 8
    assert result.failed == 4
    assert repr(result) == f"<study '{result.folder}': 8 rows, 4 failed>"
    assert "q on" in str(result)
    assert "4 rows failed (not counted as wrong); run the same command to retry them" in str(result)
    assert result["failures"] == [{"error": "EngineTimeout", "rows": 4, "first": "no answer in time"}]
    assert "  4 rows, run the same command to retry: no answer in time" in str(result)


def test_what_would_fail_again_is_not_said_to_need_another_try(tmp_path: Path) -> None:
    """A cap beyond the context fails however often it is asked for."""
    words = "prompt of 20 tokens and a budget of 64 exceed the context of 64 tokens; lower the budget"
    refused: Any = lambda prompt: EngineRefused(words)  # noqa: E731
    (tmp_path / "q.csv").write_text("question,answer\nWhat is 2 + 5?,7\n")
    table = {"tasks": [str(tmp_path / "q.csv")], "policies": "nothink", "budgets": "64", "out": tmp_path / "run"}
    said = str(wait(run_study(StudyConfig.from_mapping(table), engine=ScriptedEngine(refused))))
    assert f"1 row failed (not counted as wrong)\n  1 row, which would fail again: {words}" in said
    assert "retry" not in said


def test_frames_hold_cells_and_rows_in_either_library(result: Studied) -> None:
    cells, lines = result.frame(library="pandas"), result.frame("rows", library="polars")
    assert isinstance(cells, pandas.DataFrame)
    assert isinstance(lines, polars.DataFrame)
    assert list(cells["policy"]) == [cell["policy"] for cell in result["cells"]]
    assert list(cells["ci_low"]) == [cell["ci"][0] for cell in result["cells"]]
    assert lines.height == 8
    assert not any(isinstance(value, dict | list) for value in cells.iloc[0])
    assert isinstance(result.frame(), pandas.DataFrame)
    assert result.frame(library="polars").columns == list(cells.columns)
    with pytest.raises(ConfigError, match="unknown frame 'cell'; did you mean 'cells'"):
        result.frame("cell")  # type: ignore[call-overload]


def test_what_is_missing_is_named_with_its_command(result: Studied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="'pandas' is not installed; run: pip install pandas"):
        result.frame(library="pandas")
    monkeypatch.setattr(studied, "find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match="a frame needs pandas or polars, but neither is installed; run: pip inst"
    ):
        result.frame()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        ConfigError, match=r"drawing a figure needs 'matplotlib.*pip install 'thinkcap\[figures\]'"
    ):
        result.plot()


def test_figures_by_name(result: Studied) -> None:
    figure = result.plot("accuracy", task="q")
    assert "cap" in figure.axes[0].get_xlabel()
    with pytest.raises(ConfigError, match="unknown figure 'acuracy'; did you mean 'accuracy'"):
        result.plot("acuracy")
    with pytest.raises(ConfigError, match="no task 'gsm8k' in this study; known: q"):
        result.plot(task="gsm8k")


def test_a_notebook_shows_it_and_no_text_of_strangers_acts(result: Studied) -> None:
    page = result._repr_html_()
    assert "<th>nothink</th><th>think</th>" in page
    assert "4 rows failed" in page
    evil = Studied(result.folder, {**result.summary, "cells": [{**result["cells"][0], "policy": "<img src=x>"}]})
    assert "<img" not in evil._repr_html_()


def test_a_study_of_before_is_read_again(result: Studied) -> None:
    again = read_study(result.folder)
    assert (again["cells"], again["comparisons"]) == (result["cells"], result["comparisons"])
    assert [row.key for row in again.rows] == [row.key for row in result.rows]
    with pytest.raises(ConfigError, match="no summary at 'nowhere"):
        read_study("nowhere")


def test_type_checkers_know_every_key_of_a_study() -> None:
    assert set(StudyOptions.__annotations__) == {field.name for field in fields(StudyConfig)} | {"preset", "seed"}


def test_python_values_say_the_same_as_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from thinkcap.study.options import from_options

    words = {"policies": "nothink,close(reserve=16)", "budgets": "64,128", "price": "1,2,3", "tasks": "a.csv"}
    values = {
        "policies": ["nothink", {"name": "close", "reserve": 16}],
        "budgets": [64, 128],
        "price": {"input": 1.0, "cached": 2.0, "output": 3.0},
        "tasks": ["a.csv"],
        "prompts": {},
    }
    assert from_options(StudyConfig(), words) == from_options(StudyConfig(), values)
    everything = from_options(StudyConfig(), {"policies": "all"})
    assert from_options(StudyConfig(), {"policies": ["all"]}) == everything


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("wanted", "stream", "lines"),
    [
        (None, Terminal(), ["5 of 9 rows, 0 tokens/", "9 of 9 rows, 0 tokens/"]),
        (None, io.StringIO(), []),
        (
            True,
            io.StringIO(),
            ["5 of 9 rows, 0 tokens/s, 40 s left, 2 hosts", "9 of 9 rows, 0 tokens/s, 2 hosts"],
        ),
        (False, Terminal(), []),
    ],
)
def test_progress_is_one_line_that_fits_where_somebody_looks(
    wanted: bool | None, stream: io.StringIO, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "23")
    monkeypatch.setattr(sys, "stderr", stream)
    with watching(wanted) as watch:
        if watch:
            progress = Progress(total=9, done=5, where=lambda: "2 hosts", left=lambda: 40.0)
            watch(progress)
            progress.done = 6
            watch(progress)  # too soon after the last
            progress.done = 9
            watch(progress)
    assert [line for line in re.split(r"\r\x1b\[K|\n", stream.getvalue()) if line] == lines


SCRIPT = """
from pathlib import Path
from typing import Any

import thinkcap
from thinkcap.api import Studied, read_study

result: Studied = thinkcap.study(policies=["nothink", "think"], budgets=[64, 128], limit=2, out=Path("runs/x"))
reply = thinkcap.ask("2 + 2?", cap=64, kind="number")
answer: str | None = reply.answer
count: int = reply.tokens + result.failed
again: Studied = read_study()
folder: Path = again.report
"""


@pytest.mark.slow
def test_a_users_script_passes_mypy_strict(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text('import thinkcap\n\nthinkcap.study(limits=3)\nthinkcap.ask("?", cap="x")\n')
    # Ours as it is installed: errors in it are none of the user's.
    words = ["--strict", "--follow-imports=silent", "--cache-dir", ".cache", "right.py", "wrong.py"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    found = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.partition(":")[0] for line in found] == ["wrong.py", "wrong.py"], done.stdout + done.stderr
    assert 'Unexpected keyword argument "limits"' in found[0]
    assert (Path(thinkcap.__file__).parent / "py.typed").exists()
