"""Web pages of other hosts: refused, or let in where the operator names them; and what the operator reads."""

from __future__ import annotations

import pytest
from running import Client, gateway_running

from patience import PATIENCE_S
from thinkcap.core.errors import ConfigError
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.banner import banner
from thinkcap.gateway.config import ServeConfig

PAGE = "https://chat.example.com"
BODY = {"model": "scripted", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 32}
PATHS = ("/v1/chat/completions", "/v1/messages")
PREFLIGHT = {
    "Origin": PAGE,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "x-api-key",
}


def engine() -> ScriptedEngine:
    return ScriptedEngine(lambda prompt: "It is 42.")


@pytest.mark.parametrize("path", PATHS)
def test_a_page_that_is_named_may_ask_and_read(path: str) -> None:
    with gateway_running(engine(), origins=[PAGE]) as (address, _):
        client = Client(address)
        asked = client._session.options(client.base + path, headers=PREFLIGHT, timeout=PATIENCE_S)
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == PAGE
        found = client.post(path, json=BODY, headers={"Origin": PAGE})
        assert found.status_code == 200
        assert found.headers["access-control-allow-origin"] == PAGE
        other = client.post(path, json=BODY, headers={"Origin": "https://elsewhere.example.com"})
        assert other.status_code == 403
        assert "access-control-allow-origin" not in other.headers


def test_without_the_setting_no_page_gets_in() -> None:
    with gateway_running(engine()) as (address, _):
        client = Client(address)
        asked = client._session.options(client.base + PATHS[0], headers=PREFLIGHT, timeout=PATIENCE_S)
        assert asked.status_code == 405
        assert client.post(PATHS[0], json=BODY, headers={"Origin": PAGE}).status_code == 403


@pytest.mark.parametrize("origins", [["*"], ["chat.example.com"], ["https://chat.example.com/page"]])
def test_settings_that_would_let_in_anybody_or_nobody_are_refused(origins: list[str]) -> None:
    with pytest.raises(ConfigError, match="origin"):
        ServeConfig.from_mapping({"origins": origins})


def test_the_banner_names_model_dialect_policy_and_limits() -> None:
    with gateway_running(engine(), queue=7, default_max_tokens=333) as (address, gateway):
        first, page, model, limits = banner(address, gateway.service).splitlines()
    assert first == f"thinkcap serves at {address}"
    assert page == f"  page: {address.removesuffix('/v1')}/"
    assert model.startswith(
        "  scripted: policy nothink, close from 256 tokens; dialect of its own; asked by token ids"
    )
    assert "7 requests waiting, at most 333 tokens if no max_tokens is sent" in limits
