"""A shadow is what a study would have measured: on the same questions the same answers and tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from running import watch_running
from test_arms import URL, _of, until

from thinkcap.api import run_study
from thinkcap.core.sync import wait
from thinkcap.engines.llamacpp import start_server
from thinkcap.model import pebble_gguf
from thinkcap.study.config import StudyConfig
from thinkcap.tasks import load

KEY, CAPS, QUESTIONS = "sk-upstream", (64, 300), 2


def test_shadows_on_the_bundled_model_equal_an_offline_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINKCAP_API_KEY", KEY)
    server: list[Any] = [start_server(pebble_gguf(), 1024, 1, 1, KEY)]
    model = f"{server[0].listening_address}/v1"
    profile = tmp_path / "profile.toml"
    profile.write_text('model = "pebble"\n[[cap]]\nat_least = 1\npolicy = "close"\n')
    config = StudyConfig.from_mapping(
        {
            "model": model,
            "tasks": ["families"],
            "limit": QUESTIONS,
            "policies": ["close"],
            "budgets": list(CAPS),
            "out": str(tmp_path / "run"),
            "online": True,
        },
    )
    studied = {(row.question, row.budget): row for row in wait(run_study(config)).rows}
    asked = {}
    with watch_running(
        model, tmp_path / "journal", shadow=1.0, shadow_at_once=64, watch_texts=True, profile=str(profile)
    ) as (client, _):
        name = client.get("/v1/models", headers={"authorization": f"Bearer {KEY}"}).json()["data"][0]["id"]
        for question in load("families", limit=QUESTIONS, seed=0).questions:
            for cap in CAPS:
                said = [dict(m) for m in question.messages]
                body = {"model": name, "messages": said, "max_tokens": cap, "temperature": 0}
                reply = client.post(URL, json=body, headers={"authorization": f"Bearer {KEY}"})
                assert reply.status_code == 200
                asked[(said[-1]["content"], cap)] = studied[(question.id, cap)]
        until(lambda: len(_of(tmp_path / "journal")) == len(asked))
    server.clear()
    lines = _of(tmp_path / "journal")
    for line in lines:
        row = asked.pop((line["question"], line["cap"]))
        assert line["policy"] == "close"
        assert (line["answer"].strip(), line["answers"][0]["tokens"]) == (
            (row.text or "").strip(),
            row.tokens_charged,
        )
    assert not asked
    assert {line["same"] for line in lines} >= {True}
