"""The bundled model behind a gateway, started once for every file of real clients."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from running import Client, gateway_running


@pytest.fixture(scope="session")
def bundled() -> Iterator[str]:
    with gateway_running("bundled") as (address, _):
        yield address


@pytest.fixture(scope="session")
def address(bundled: str) -> str:
    """The gateway that clients talk to; a file with a server of its own says so by an `address` of its own."""
    return bundled


@pytest.fixture(scope="session")
def name(address: str) -> str:
    return str(Client(address).get("/v1/models").json()["data"][0]["id"])


@pytest.fixture
def client(address: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=address, api_key="unused", max_retries=0)
