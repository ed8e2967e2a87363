"""What each test costs in processor time, its processes included: a busy machine changes seconds, hardly these.

PYTHONPATH=bench .venv/bin/python -m pytest -p test_costs tests/gateway          # the dearest files and tests
PYTHONPATH=bench .venv/bin/python -m pytest -p test_costs -n auto --dist loadfile # of the whole suite
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

SHOWN = 25
_COST = "processor_s"


def _spent() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(hookwrapper=True)
def _counted(item: pytest.Item) -> Iterator[None]:
    began = _spent()
    yield
    # Properties travel home from the processes of xdist, with the report of the test's last phase.
    item.user_properties.append((_COST, _spent() - began))


pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = _counted


def pytest_terminal_summary(terminalreporter: Any) -> None:
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                tests[report.nodeid] += sum(cost for name, cost in report.user_properties if name == _COST)
    files: Counter[str] = Counter()
    for test, cost in tests.items():
        files[test.partition("::")[0]] += cost
    terminalreporter.write_line(
        f"processor time of all tests, without importing them: {sum(tests.values()):.0f} s"
    )
    for name, cost in [*files.most_common(SHOWN), *tests.most_common(SHOWN)]:
        terminalreporter.write_line(f"{cost:7.1f} s  {name}")
