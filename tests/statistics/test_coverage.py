"""Simulated truth. The quick run uses 150 repetitions per law, the slow one the full 1,000 of bench/coverage.py.

Slack of the quick run: at 95 % coverage the standard error of 150 repetitions is 1.8 points, so a correct interval
falls more than 4 points below (or the 2.5 above) only about once in a hundred checks; seeds are fixed.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

_BENCH = Path(__file__).parents[2] / "bench" / "coverage.py"
LAWS = ["exponential", "Weibull 0.7", "Weibull 1.8", "log-normal", "mixture"]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_bench", _BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["coverage_bench"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover(bench: ModuleType, law: str) -> None:
    for name, value in bench.coverage(law, n=250, repetitions=150, draws=300).items():
        assert bench.verdict(law, name, value, slack=0.045), (law, name, value)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_intervals_cover_in_a_thousand(bench: ModuleType, law: str) -> None:
    for name, value in bench.coverage(law, n=300, repetitions=1000).items():
        assert bench.verdict(law, name, value), (law, name, value)


def test_a_wrong_interval_would_be_caught(bench: ModuleType) -> None:
    # Half-width intervals cover about 67 %: the bounds must refuse that.
    assert not bench.verdict("exponential", "wilson", 0.67, slack=0.045)
    assert not bench.verdict("exponential", "hazard test rejects", 0.2, slack=0.045)
