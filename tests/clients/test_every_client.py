"""Clients of all kinds, unchanged from PyPI, on the bundled model; those not installed are skipped by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import gateway_running
from ways import WAYS, HeldBack, Way, carried_out, snippets

from thinkcap.engines.llamacpp import start_server
from thinkcap.model import pebble_gguf

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
KEY = "sk-upstream"


@pytest.fixture(scope="module")
def embedded() -> Iterator[str]:
    with gateway_running("bundled") as (address, _):
        yield address


@pytest.fixture(scope="module")
def behind() -> Iterator[str]:
    """In front of llama.cpp's server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKCAP_API_KEY", KEY)
        server: list[Any] = [start_server(pebble_gguf(), 1024, 4, 1, KEY)]
        with gateway_running([{"model": f"{server[0].listening_address}/v1", "name": "pebble"}]) as (address, _):
            yield address
        server.clear()


@pytest.fixture(autouse=True)
def unused_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """lm-eval takes its key from nowhere else."""
    monkeypatch.setenv("OPENAI_API_KEY", "unused")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.client}: {way.tried}")
def test_a_client_gets_its_answer(way: Way, request: pytest.FixtureRequest) -> None:
    if not way.version:
        pytest.skip(f"{way.client} is not installed; make setup-clients")
    try:
        carried_out(way, request.getfixturevalue("behind" if way.raw else "embedded"), "pebble")
    except HeldBack as err:
        pytest.skip(str(err))


def test_the_page_shows_the_very_code_that_ran() -> None:
    shown = (
        PAGE.read_text(encoding="utf-8").partition("<!-- snippets -->")[2].partition("<!-- end of snippets -->")[0]
    )
    assert shown.strip() == snippets(), "write it again: python bench/clients.py --page docs/clients.md"
