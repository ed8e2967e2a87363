"""Where the real data is, and what was skipped for lack of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time: what passes here passes there, and a failure can be looked at twice. And no clock:
# a busy machine is not a failure.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

_skipped: list[str] = []


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real benchmark files and records. Named but absent is a failure; not named, a skip."""
    named = os.environ.get("THINKCAP_SHARED")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"THINKCAP_SHARED names '{folder}', which is not a folder")
    pytest.skip("needs the real data; name its folder in THINKCAP_SHARED")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):  # type: ignore[no-untyped-def]
    outcome = yield
    report = outcome.get_result()
    if report.skipped and "THINKCAP_SHARED" in str(report.longrepr):
        _skipped.append(item.nodeid)


def pytest_terminal_summary(terminalreporter) -> None:  # type: ignore[no-untyped-def]
    terminalreporter.write_line(f"tests skipped for lack of the real data: {len(_skipped)}")
