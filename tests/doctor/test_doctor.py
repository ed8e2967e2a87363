"""The doctor tells an honest server from a liar, and knows a real llama-server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from running import app_running
from stub import Stub

from thinkcap.cli.doctor import command
from thinkcap.core.errors import ConfigError, EngineRefused
from thinkcap.doctor.examine import DoctorReport, examine
from thinkcap.engines.llamacpp import start_server
from thinkcap.model import pebble_gguf

KEY = "sk-upstream"


def verdicts(report: DoctorReport) -> dict[str, str]:
    return {f.name: f.verdict for f in report.findings}


async def test_an_honest_server() -> None:
    with app_running(Stub(thought=40)) as address:
        found = verdicts(await examine(f"{address}/v1", tokens=128))
    assert found["thinking off means off"] == "yes"
    assert found["reasoning apart"] == "yes"
    assert found["native budget holds"] == "yes"
    assert found["max_tokens holds"] == "yes"
    assert found["length is truthful"] == "yes"
    assert found["token ids"] == "no"
    assert found["prefix property"] == "yes"
    assert found["response format"] == "no"


async def test_a_server_that_ignores_the_switch_and_the_budget() -> None:
    with app_running(Stub(thought=40, lies=("switch", "budget"))) as address:
        report = await examine(f"{address}/v1", tokens=128)
    found = verdicts(report)
    assert found["thinking off means off"] == "no"
    assert found["native budget holds"] == "no"
    assert "ignored" in next(f.seen for f in report.findings if f.name == "native budget holds")


async def test_a_server_that_writes_on_beyond_max_tokens_is_refused_at_once() -> None:
    with (
        app_running(Stub(lies=("limit",))) as address,
        pytest.raises(EngineRefused, match="does not keep the limit"),
    ):
        await examine(f"{address}/v1")


async def test_only_addresses_are_examined() -> None:
    with pytest.raises(ConfigError, match="http://host"):
        await examine("bundled")


@pytest.fixture
def llama(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("THINKCAP_API_KEY", KEY)
    server: list[Any] = [start_server(pebble_gguf(), 2048, 2, 1, KEY)]
    yield server[0].listening_address
    server.clear()


def test_a_real_llama_server_on_the_command_line(llama: str, tmp_path: Path) -> None:
    card = tmp_path / "card.json"
    result = CliRunner().invoke(command, [f"{llama}/v1", "--tokens", "128", "--json", "--card", str(card)])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found == json.loads(card.read_text())
    seen = {name: one["verdict"] for name, one in found["findings"].items()}
    assert found["card"]["transport"] == "ids"
    for name in ("thinking off means off", "usage given", "max_tokens holds", "length is truthful", "token ids"):
        assert seen[name] == "yes", (name, found["findings"][name])
    for name in ("prefix property", "seeds respected", "prefix caching"):
        assert seen[name] == "yes", (name, found["findings"][name])
    assert found["findings"]["reasoning apart"]["seen"].startswith("in reasoning_content")
    assert "chat_template_kwargs.enable_thinking" in found["findings"]["thinking off means off"]["seen"]
    # It holds a budget by itself, and drops tools without a word: the bundled model's template has none.
    assert seen["native budget holds"] == "yes", found["findings"]["native budget holds"]
    assert "reasoning_budget_tokens = 16" in found["findings"]["native budget holds"]["seen"]
    assert seen["tools reach the model"] == "no", found["findings"]["tools reach the model"]
    assert KEY not in result.output
