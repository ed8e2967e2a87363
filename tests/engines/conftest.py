"""One tiny model and one llama-server for all engine tests of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny import KEY, SLOTS, write_tiny, write_tiny_hf

from thinkcap.engines.llamacpp import start_server


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="session")
def served(tiny: Path) -> Iterator[str]:
    """The address of a real llama-server with the tiny model and a key."""
    server: list[Any] = [start_server(tiny, 2048, SLOTS, 0, KEY)]
    yield server[0].listening_address
    server.clear()


@pytest.fixture(scope="session")
def tiny_hf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("torch", "transformers"):
        pytest.importorskip(package, reason=f"needs {package}: pip install 'thinkcap[hf]'", exc_type=ImportError)
    return write_tiny_hf(tmp_path_factory.mktemp("model") / "tiny")
