"""A folder with two finished studies, a real browser, and the server in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chains import study

from patience import PATIENCE_S
from thinkcap.view.server import serve


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`first`: methods, failures, hostile chains. `second`: another model on the same questions and some more."""
    root = tmp_path_factory.mktemp("view") / "runs"
    study(root / "first", limit=30, failing=True, policies="nothink,think,close,iris", budgets="32,64,128,256")
    study(root / "second", limit=36, policies="nothink,think", budgets="32,64,128", name="b", quick=0.6)
    return root


@pytest.fixture(scope="module")
def viewing() -> Iterator[Callable[[Path], str]]:
    """Starts `thinkcap view` on a folder and gives its address."""
    ends: list[Callable[[], None]] = []

    def start(folder: Path) -> str:
        answered = threading.Event()
        found: list[str] = []
        loop = asyncio.new_event_loop()

        def opened(address: str) -> None:
            found.append(address)
            answered.set()

        task = loop.create_task(serve(folder, port=0, opened=opened))

        def run() -> None:
            try:
                loop.run_until_complete(task)
            except asyncio.CancelledError:
                pass
            finally:
                loop.run_until_complete(loop.shutdown_default_executor())
                loop.close()

        thread = threading.Thread(target=run)
        thread.start()

        def end() -> None:
            loop.call_soon_threadsafe(task.cancel)
            thread.join()

        ends.append(end)
        assert answered.wait(PATIENCE_S)
        return found[0].rstrip("/")

    yield start
    for end in ends:
        end()
