"""A real notebook kernel: progress in the cell, the result's table and figure, and the stop button."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from thinkcap.core.sync import wait

pytest.importorskip("ipykernel", reason="needs ipykernel, of the extra dev")


def outputs(tmp_path: Path, *cells: str) -> list[list[Any]]:
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    return [cell["outputs"] for cell in book["cells"]]


@pytest.mark.slow
def test_a_study_in_a_notebook(tmp_path: Path) -> None:
    call = "thinkcap.study(policies='nothink', budgets=[32], limit=2, out='run')"
    shown, figure = outputs(tmp_path, f"import thinkcap\nresult = {call}\nresult", "result.plot()")
    lines = [out["data"]["text/plain"] for out in shown if out["output_type"] == "display_data"]
    assert len(lines) == 1, "one line, written again and again"
    assert lines[0].startswith("2 of 2 rows, ")
    (last,) = [out["data"] for out in shown if out["output_type"] == "execute_result"]
    assert "<table>" in last["text/html"]
    assert any("image/png" in out.get("data", {}) for out in figure)


def test_the_stop_button_ends_the_work_too() -> None:
    """As in a notebook: a loop runs in this thread, the work in another, the interrupt arrives here."""
    ended = threading.Event()

    async def work() -> None:
        asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGINT)
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def cell() -> None:
        with pytest.raises(KeyboardInterrupt):
            wait(work())
        assert ended.is_set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        loop = asyncio.new_event_loop()
        loop.run_until_complete(cell())
        loop.close()
    finally:
        signal.signal(signal.SIGINT, before)
