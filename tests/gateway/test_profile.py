"""The bundled model's profile never hurts: no request fails, and no cap is surely worse than `close`."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path
from typing import Any

import pytest

from thinkcap.calibrate.profile import profile_of
from thinkcap.engines import open_engine
from thinkcap.model import pebble_profile
from thinkcap.policies.registry import facts
from thinkcap.tasks import load

ROOT = Path(__file__).parents[2]


async def test_it_is_of_these_weights_and_names_only_policies_that_answer() -> None:
    profile = profile_of("bundled")
    assert profile is not None
    assert profile.doubts() == ()
    assert not any(facts(rule.policy).may_be_empty for rule in profile.rules)
    engine = await open_engine("bundled")
    await engine.aclose()
    assert profile.fingerprint == engine.card.fingerprint


def test_it_comes_from_the_study_that_make_profile_runs() -> None:
    study = tomllib.loads((ROOT / "training/profile_study.toml").read_text(encoding="utf-8"))
    profile = tomllib.loads(pebble_profile().read_text(encoding="utf-8"))
    assert [rule["at_least"] for rule in profile["cap"]] == study["budgets"]
    assert {rule["n"] for rule in profile["cap"]} == {study["limit"]}
    assert {rule["policy"] for rule in profile["cap"]} <= set(study["policies"])


@pytest.mark.parametrize(
    ("questions", "caps"),
    [(2, (40, 200, 512)), pytest.param(200, None, marks=pytest.mark.campaign)],
)
async def test_no_request_fails_and_no_cap_is_surely_worse(
    questions: int, caps: tuple[int, ...] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, campaign: Any
) -> None:
    questions = max(2, campaign.of(questions))
    monkeypatch.syspath_prepend(ROOT / "bench")
    gateway = importlib.import_module("gateway_profile")
    task = load("families", limit=questions, seed=0)
    found: list[Any] = []
    profile = profile_of("bundled")
    await gateway.compare(task, caps or gateway.CAPS, profile, tmp_path / "traces.sqlite", found.append)
    assert found
    assert [str(row) for row in found if row.hurts] == []
    campaign.says(
        f"bundled profile, {questions} fresh questions, {len(found)} caps: none surely worse than `close`"
    )
