"""A small finished study of the bundled kind, which is not the paper's subject."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from chains import study

    out = tmp_path_factory.mktemp("paper") / "first"
    study(out, limit=30)
    return out
