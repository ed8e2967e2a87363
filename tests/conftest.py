"""Where the real data is, and what was skipped for lack of it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time: what passes here passes there, and a failure can be looked at twice. And no clock:
# a busy machine is not a failure.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


HERE = Path(__file__).parent
DEAREST = (
    "golden/test_golden.py",
    *("report/test_browser.py", "report/test_charts.py", "gateway/pages/test_page_browser.py"),
    *(
        "view/test_view_browser.py",
        "study/test_bundled_study.py",
        "gateway/test_fuzz.py",
        "report/test_figures.py",
    ),
    *(
        "diagnose/test_cascades.py",
        "engines/test_markups.py",
        "cli/test_wrong_values.py",
        "engines/test_served.py",
    ),
    *("policies/test_contract.py", "statistics/test_coverage.py", "grading/test_extract.py", "test_readme.py"),
    *("paper/test_paper_tables.py", "gateway/answering/test_json_clients.py", "dialects/test_real_templates.py"),
    *("python/test_python_page.py", "clients/test_every_client.py", "attack/test_hostile_growth.py"),
    *("report/test_command.py", "paper/test_without_the_room.py", "study/test_hostile_study.py"),
)
"""Files that take longest begin first: a run that ends with one of them waits for one process alone."""


def pytest_configure(config: pytest.Config) -> None:
    """Each of several processes begins to collect elsewhere, and finds compiled what others have been through."""
    process = getattr(config, "workerinput", None)
    if process and [Path(place).resolve() for place in config.args] == [HERE]:
        places = sorted(HERE.glob("[a-z]*/")) + sorted(HERE.glob("test_*.py"))
        first = len(places) * int(process["workerid"].removeprefix("gw")) // process["workercount"]
        config.args = [str(place) for place in places[first:] + places[:first]]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {HERE / name: at for at, name in enumerate(DEAREST)}
    items.sort(key=lambda item: (order.get(item.path, len(order)), item.path))


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


@dataclass(frozen=True)
class Campaign:
    """How much of a long measurement to make (CAMPAIGN_SHARE), and where to say what came of it."""

    share: float
    results: Path | None

    def of(self, full: int) -> int:
        """So many of the full number, at least one."""
        return math.ceil(full * self.share)

    def says(self, line: str) -> None:
        """A line for the suite's block in the docs."""
        if self.results:
            with self.results.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


@pytest.fixture(scope="session")
def campaign() -> Campaign:
    results = os.environ.get("CAMPAIGN_RESULTS")
    return Campaign(float(os.environ.get("CAMPAIGN_SHARE") or 1), Path(results) if results else None)


def pytest_terminal_summary(terminalreporter) -> None:  # type: ignore[no-untyped-def]
    # From the reports, which workers send home: hooks of theirs would count where nobody looks.
    skipped = [r for r in terminalreporter.stats.get("skipped", ()) if "THINKCAP_SHARED" in str(r.longrepr)]
    terminalreporter.write_line(f"tests skipped for lack of the real data: {len(skipped)}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    # Not for longer than a file: while it is open, its loop runs in this thread, and no other may be started.
    from opened import started_browser

    yield from started_browser()


@pytest.fixture
def asked_of(tmp_path: Path) -> Callable[[int], Path]:
    """A file of so many questions, each one character longer than the one before."""

    def write(count: int) -> Path:
        path = tmp_path / "questions.jsonl"
        lines = [
            {"id": f"q{i}", "question": "?" * (i + 1), "answer": str(i + 1), "kind": "number"}
            for i in range(count)
        ]
        path.write_text("\n".join(json.dumps(line) for line in lines))
        return path

    return write


@pytest.fixture
def questions(asked_of: Callable[[int], Path]) -> Path:
    return asked_of(12)


@pytest.fixture
def many_questions(asked_of: Callable[[int], Path]) -> Path:
    return asked_of(60)


@pytest.fixture
def thinkcap() -> Callable[..., subprocess.Popen[str]]:
    """Starts the command line; `tests/study` is importable there, so that `slow_engine:factory` is a model."""

    def start(*words: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "thinkcap", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent / "study")},
        )

    return start
