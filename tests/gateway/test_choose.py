"""Which policy answers: the caller's, the profile's, or the default that needs none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from running import Client, gateway_running

from thinkcap.calibrate.profile import Profile
from thinkcap.core.engine import EngineCard
from thinkcap.core.errors import ConfigError
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.choose import choose
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import Models, Served, open_models
from thinkcap.gateway.refusal import Refusal
from thinkcap.gateway.telemetry.metrics import Metrics
from thinkcap.gateway.wires.chat import read

CARD = EngineCard("test", "m", "f", "ids")
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
PROFILE = Profile.from_mapping(
    {
        "model": "m",
        "cap": [
            {"at_least": 64, "policy": "nothink"},
            {"at_least": 200, "policy": "vote(samples=3)", "otherwise": "iris(first=50)"},
            {"at_least": 800, "policy": "mrsd"},
        ],
    }
)


def chosen(cap: int, card: EngineCard = CARD, profile: Profile | None = None, **more: Any) -> tuple[str, str]:
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}], **more}
    found = choose(read(json.dumps(body).encode()), None, cap, card, profile, 256)
    return found.spec.label, found.by


@pytest.mark.parametrize(
    ("cap", "card", "policy"),
    [
        (255, CARD, "nothink"),
        (256, CARD, "close"),
        (4096, replace(CARD, prefills=False), "iris"),
        (4096, replace(CARD, switch="prompt"), "nothink"),
        (16, replace(CARD, switch="none"), "close"),
        (4096, replace(CARD, switch="block"), "stop(answer=512)"),
    ],
)
def test_the_default_by_cap_and_by_what_the_model_can(cap: int, card: EngineCard, policy: str) -> None:
    assert chosen(cap, card) == (policy, "default")


@pytest.mark.parametrize(
    ("cap", "more", "found"),
    [
        (63, {}, ("nothink", "default")),
        (64, {}, ("nothink", "profile")),
        (799, {"thinkcap": {"kind": "number"}}, ("vote(samples=3)", "profile")),
        (799, {}, ("iris(first=50)", "profile")),
        (800, {"thinkcap": {"kind": "math"}}, ("mrsd", "profile")),
        (800, {}, ("close", "default")),
        (800, {"thinkcap": {"policy": "iris"}}, ("iris", "request")),
        (
            800,
            {"thinkcap": {"policy": "iris(first=9)", "options": {"answer": 7}}},
            ("iris(first=9,answer=7)", "request"),
        ),
        (800, {"reasoning_effort": "none"}, ("nothink", "request")),
        (800, {"reasoning_effort": "high"}, ("close(reserve=200)", "request")),
        (800, {"messages": [{"role": "user", "content": [PICTURE]}]}, ("nothink", "media")),
        (800, {"tools": [{"type": "function", "function": {"name": "f"}}]}, ("nothink", "tools")),
    ],
)
def test_the_profile_by_cap_kind_and_wish(cap: int, more: dict[str, Any], found: tuple[str, str]) -> None:
    assert chosen(cap, profile=PROFILE, **more) == found


def test_options_without_a_policy_are_refused() -> None:
    with pytest.raises(Refusal, match=r"thinkcap\.policy"):
        chosen(64, thinkcap={"options": {"first": 3}})


def test_a_profile_is_used_and_named_in_the_answer() -> None:
    engine = ScriptedEngine(lambda prompt: "It is 42.")
    with gateway_running(Models([Served("m", engine, PROFILE)])) as (address, _):
        body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "max_tokens": 300}
        found = Client(address).post("/v1/chat/completions", json=body).json()["thinkcap"]
        assert (found["policy"], found["chosen_by"], found["cap"]) == ("iris(first=50)", "profile", 300)
        assert found["stages"][0]["budget"] == 50


@pytest.mark.parametrize("stream", [False, True])
def test_a_policy_measured_with_fewer_tokens_spends_at_most_those(stream: bool) -> None:
    entry = {"at_least": 304, "policy": "split", "budget": 224}
    profile = Profile.from_mapping({"model": "m", "cap": [{"at_least": 64, "policy": "nothink"}, entry]})
    engine = ScriptedEngine(lambda prompt: "word " * 1000)
    with gateway_running(Models([Served("m", engine, profile)])) as (address, _):
        body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "max_tokens": 400, "stream": stream}
        reply = Client(address).post("/v1/chat/completions", json=body)
    assert "policy=split; chosen_by=profile; cap=224" in reply.headers["x-thinkcap"]
    assert 0 < engine.generated <= 224


async def test_a_profile_of_other_weights_is_refused_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('model = "m"\nfingerprint = "other"\n[[cap]]\nat_least = 1\npolicy = "nothink"\n')
    config = ServeConfig.from_mapping({"model": "bundled", "profile": str(path)})
    with pytest.raises(ConfigError, match="measured on 'other'"):
        await open_models(config, Metrics())


def test_names_with_a_plus_of_their_own() -> None:
    engine = ScriptedEngine(lambda prompt: "x")
    models = Models([Served("a", engine), Served("a+b", engine)])
    assert models.find("a+b")[0].name == "a+b"
    assert [models.find(n)[1] for n in ("a", "a+iris", "a+b+iris", "a+c+d")] == [None, "iris", "iris", "c+d"]
    with pytest.raises(Refusal, match="no model"):
        models.find("b")
    with pytest.raises(ConfigError, match="the same name: a, a"):
        Models([Served("a", engine), Served("a", engine)])
