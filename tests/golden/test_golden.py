"""What users see is what the files of this folder say; `make golden` rewrites them after an intended change."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import pytest

from golden.record import HERE, Recorder, names


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with Recorder() as recorder:
        yield recorder


@pytest.mark.parametrize("name", names())
def test_outcomes_are_those_on_file(name: str, recorder: Recorder) -> None:
    for file, text in recorder.record(name):
        known = (HERE / file).read_text()
        changed = difflib.unified_diff(
            known.splitlines(), text.splitlines(), f"{file} on file", "now", lineterm=""
        )
        assert text == known, "\n".join([*list(changed)[:60], "after an intended change: make golden"])
