"""From watching to holding: shares by hash, shadows that nobody notices, a guard that goes back."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from running import Client, app_running, gateway_running, watch_running
from stub import Stub
from test_watch import entries

from patience import until
from thinkcap.core.errors import ConfigError
from thinkcap.diagnose.diagnosis import diagnose
from thinkcap.gateway.admission.auth import new_key
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.watch.guard import within
from thinkcap.logs import read
from thinkcap.verdict.page import as_text

URL = "/v1/chat/completions"


class Failing(Stub):
    """Answers what clients send; not what a policy asks, which has the switch in it, once `fails` or `waits`."""

    fails = waits = False

    async def _chat(self, body: dict[str, Any], receive: Any, send: Any) -> None:
        if self.fails and "chat_template_kwargs" in body:
            self.faults.append("500")
        while self.waits and "chat_template_kwargs" in body:  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.01)
        await super()._chat(body, receive, send)


def body(number: int, **more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": f"question {number}"}]
    return {"model": "stub", "messages": said, "max_tokens": 10, **more}


def test_a_share_is_held_by_the_bytes_of_the_request_and_answered_as_the_gateway_does(tmp_path: Path) -> None:
    held: list[list[int]] = []
    with app_running(Stub()) as behind, gateway_running(f"{behind}/v1#stub") as (alone, _):
        for turn, share in enumerate(("20%", "20%", 0.4)):
            folder = tmp_path / str(turn)
            with watch_running(f"{behind}/v1#stub", folder, hold=share) as (client, _):
                held.append([])
                for number in range(60):
                    reply = client.post(URL, json=body(number, stream=number % 2 == 0))
                    if "x-thinkcap" not in reply.headers:
                        assert '"content": null' in reply.text or "the" not in reply.text
                        continue
                    held[-1].append(number)
                    own = Client(alone).post(URL, json=body(number, stream=number % 2 == 0))
                    assert reply.headers["x-thinkcap"] == own.headers["x-thinkcap"]
                    assert ("42" in reply.text, reply.status_code) == (True, 200)
                told = client.get("/thinkcap/healthz").json()
                text = client.get("/thinkcap/metrics").text
            arms = [line["arm"] for line in entries(folder)]
            assert arms.count("hold") == len(held[-1])
            assert told["arms"]["hold"]["answered"] == len(held[-1])
            # Ten tokens end inside the thought: that is what holding mends.
            assert told["arms"]["watch"]["empty"] == 60 - len(held[-1])
            assert f'thinkcap_arm_requests_total{{arm="hold",end="answered"}} {len(held[-1])}.0' in text
    assert held[0] == held[1]
    assert set(held[0]) < set(held[2])
    assert 5 <= len(held[0]) <= 20


def test_what_the_gateway_would_refuse_goes_to_the_server(tmp_path: Path) -> None:
    with (
        app_running(Stub()) as behind,
        watch_running(f"{behind}/v1#stub", tmp_path, hold=0.999) as (client, _),
    ):
        for asked in (body(1, knob_of_tomorrow=1), body(1, model="another"), body(1, max_tokens="ten")):
            assert "x-thinkcap" not in client.post(URL, json=asked).headers
        assert "x-thinkcap" in client.post(URL, json=body(1)).headers
        assert [line["arm"] for line in entries(tmp_path)] == ["watch", "watch", "watch", "hold"]


def test_nobody_is_answered_with_the_gateways_key_who_does_not_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINKCAP_API_KEY", "sk-gateway")
    key, line = new_key("alice")
    name, _, value = line.partition(" = ")
    with app_running(Stub()) as behind:
        for keys, good in (({}, "sk-gateway"), ({name: value.strip('"')}, key)):
            with watch_running(f"{behind}/v1#stub", tmp_path, hold=0.999, keys=keys) as (client, _):
                for sent, held in ((good, True), ("sk-other", False), ("", False)):
                    headers = {"authorization": f"Bearer {sent}"} if sent else {}
                    assert ("x-thinkcap" in client.post(URL, json=body(1), headers=headers).headers) == held
                assert client.get("/thinkcap/healthz").status_code == (401 if keys else 200)


def test_a_policy_that_fails_is_out_of_service_within_the_stated_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stub = Failing()
    with (
        app_running(stub) as behind,
        caplog.at_level(logging.ERROR, "thinkcap.gateway"),
        watch_running(f"{behind}/v1#stub", tmp_path, hold="30%", attempts=1) as (client, watch),
    ):
        for number in range(100):
            assert client.post(URL, json=body(number)).status_code == 200
        assert watch.arms is not None
        assert watch.arms.holding == 0.3
        stub.fails = True
        replies = [client.post(URL, json=body(number)) for number in range(100, 250)]
        failed = [reply.status_code for reply in replies if reply.status_code != 200]
        # About 70 requests were watched, none of which failed: the share is taken for (0 + 1) / (70 + 2).
        assert 1 <= len(failed) <= within(1 / 60, 0.1)
        assert all(reply.status_code == 200 for reply in replies[-50:])
        told = client.get("/thinkcap/healthz").json()
        assert (told["holding"], told["hold"]) == (0.0, 0.3)
        assert "requests fail, 10 points more" in told["why_back"]
        text = client.get("/thinkcap/metrics").text
        assert "thinkcap_holding 0.0" in text
        assert "thinkcap_guard_alarms_total 1.0" in text
    assert "only watched again: requests fail" in caplog.text


def test_a_shadow_runs_after_the_answer_and_changes_nothing(tmp_path: Path) -> None:
    stub = Stub()
    with (
        app_running(stub) as behind,
        watch_running(f"{behind}/v1#stub", tmp_path, shadow=1.0, watch_texts=True) as (client, _),
    ):
        direct = Client(behind)
        for number, cap in enumerate((10, 100)):
            for stream in (False, True):
                asked = body(number, max_tokens=cap, stream=stream)
                before = len(stub.bodies)
                assert client.post(URL, json=asked).content == direct.post(URL, json=asked).content
                assert stub.bodies[before] == asked
                lines = 4 * number + 2 * stream + 2
                until(lambda lines=lines: len(entries(tmp_path)) == lines)  # type: ignore[misc]
                watched, shadow = entries(tmp_path)[-2:]
                assert (watched["arm"], shadow["arm"], watched["id"]) == ("watch", "shadow", shadow["id"])
                assert shadow["sent"] == watched["answers"]
                assert shadow["answers"][0]["empty"] is False
                assert (shadow["same"], shadow["same_by"]) == ((None, "") if cap == 10 else (True, "answer"))
        told = client.get("/thinkcap/healthz").json()
    assert told["shadows"] == {"not comparable": 2, "same": 2}
    assert told["arms"]["shadow"] == {
        "answered": 4,
        "tokens": sum(a["answers"][0]["tokens"] for a in _of(tmp_path)),
    }


def _of(folder: Path, arm: str = "shadow") -> list[dict[str, Any]]:
    return [line for line in entries(folder) if line["arm"] == arm]


def test_a_journal_of_all_arms_is_diagnosed_apart(tmp_path: Path) -> None:
    with (
        app_running(Stub()) as behind,
        watch_running(f"{behind}/v1#stub", tmp_path, shadow=0.7, hold=0.2, shadow_at_once=99) as (client, _),
    ):
        for number in range(40):
            client.post(URL, json=body(number, max_tokens=10 if number % 2 else 100))
        told = client.get("/thinkcap/healthz").json()["arms"]
        sent = told["watch"]["answered"] + told["watch"]["empty"]
        until(lambda: client.get("/thinkcap/healthz").json()["arms"]["shadow"]["answered"] >= 0.5 * sent)
    found = diagnose(read([tmp_path]))
    watched, held = found.traffic
    assert (watched.held, watched.rows, watched.empty.k) == (False, sent, told["watch"]["empty"])
    assert (held.held, held.rows, held.empty.k) == (True, 40 - sent, 0)
    (beside,) = found.shadows
    lines = _of(tmp_path)
    assert (beside.pairs, beside.shadow_empty) == (len(lines), 0)
    assert beside.sent_empty == sum(line["sent"][0]["empty"] for line in lines)
    assert beside.same.k == beside.same.n == len(lines) - beside.sent_empty
    text = as_text(found)
    assert "stub, held by a policy: of" in text
    assert f"ran beside {len(lines)} answers" in text


def test_shadows_are_few_at_a_time(tmp_path: Path) -> None:
    stub = Failing()
    with (
        app_running(stub) as behind,
        watch_running(f"{behind}/v1#stub", tmp_path, shadow=1.0) as (client, _),
    ):
        stub.waits = True
        for number in range(3):
            assert client.post(URL, json=body(number)).status_code == 200
        until(lambda: client.get("/thinkcap/healthz").json()["shadows"] == {"skipped": 2})
        stub.waits = False
        until(lambda: len(_of(tmp_path)) == 1)
    assert len(_of(tmp_path, "watch")) == 3


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"hold": "10%"}, "add --watch"),
        ({"hold": "100%", "watch": True}, "leave out --watch"),
        ({"hold": 0.6, "shadow": 0.5, "watch": True}, "nothing to compare with"),
        ({"hold": "some", "watch": True}, "wanted a share such as 10%"),
        ({"shadow": 12, "watch": True}, "wanted a share such as 10%"),
    ],
)
def test_shares_that_make_no_sense_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        ServeConfig.from_mapping({"model": "http://a/v1", **settings})


def test_the_journal_of_a_failed_stream_does_not_call_it_complete(tmp_path: Path) -> None:
    with (
        app_running(Stub()) as behind,
        watch_running(f"{behind}/v1#stub", tmp_path, shadow=0.001) as (client, _),
    ):
        asked = body(1, stream=True, max_tokens=100)
        asked["messages"][0]["content"] = "fault:error"
        client.post(URL, json=asked)
        (line,) = entries(tmp_path)
    assert json.dumps(line)
    assert (line["status"], line["complete"]) == (200, False)
