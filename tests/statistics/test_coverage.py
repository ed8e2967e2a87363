"""Simulated truth, as bench/coverage.py prints it: a quick run here, the long one in `make campaign`.

A line fails when it lies below 93 % by more than two standard errors of its repetitions, or has no width.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

_BENCH = Path(__file__).parents[2] / "bench" / "coverage.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_bench", _BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["coverage_bench"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("n", [20, 50, 300])
def test_enumerated_intervals_cover(bench: ModuleType, n: int) -> None:
    lines = [*bench.shares(n), *bench.pairs(n)]
    assert len(lines) == 9
    for line in lines:
        assert line.covered >= 0.93, line
        assert line.width > 0


@pytest.mark.parametrize("n", [20, 300])
def test_simulated_intervals_cover(bench: ModuleType, n: int) -> None:
    for line in bench.simulated(n, repetitions=60, draws=200, laws=["Weibull 0.7", "log-normal"]):
        assert line.good, line


def test_the_hazard_test_keeps_its_level_and_has_power(bench: ModuleType) -> None:
    assert bench.rejections("exponential", 300, 200) <= 0.095
    assert bench.rejections("mixture", 300, 100) >= 0.8


def test_a_wrong_interval_would_be_caught(bench: ModuleType) -> None:
    # Half-width intervals cover about 67 %, a collapsed one nothing at all.
    assert bench.Line("share", "", 50, 0.67, 0.1, 80).word == "UNDER"
    assert bench.Line("share", "", 50, 0.86, 0.1, 80).word == "UNDER"
    assert bench.Line("share", "", 50, 1.0, 0.0, 80).word == "EMPTY"
    assert bench.Line("share", "", 50, 0.99, 0.1, 80).word == "wider"
    assert bench.Line("share", "", 50, 0.95, 0.1, 80).good
