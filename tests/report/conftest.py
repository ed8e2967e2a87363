"""Two small finished studies that every test of the report looks at."""

from __future__ import annotations

from pathlib import Path

import pytest
from chains import study


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Methods, failures, hostile text, money."""
    out = tmp_path_factory.mktemp("report") / "first"
    study(out, limit=30, failing=True, price="0.1,0.02,0.4")
    return out


@pytest.fixture(scope="session")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another model on the same questions and some more."""
    out = tmp_path_factory.mktemp("report") / "second"
    study(out, limit=36, policies="nothink,think", name="b", quick=0.6)
    return out
