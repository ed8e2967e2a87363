"""Real servers with the bundled model, each started once: vLLM on the CPU, llama.cpp's, `transformers serve`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from started import KEY, SERVERS, Server, launch, stop


def pytest_configure() -> None:
    """Told to end, pytest stops its servers and notes what failed until then; CI tries that once more."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.servers)


@pytest.fixture(scope="session", params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    process, found = launch(request.param, tmp_path_factory.mktemp(request.param))
    yield found
    stop(process)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKCAP_API_KEY", KEY)
