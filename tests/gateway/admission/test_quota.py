"""Limits of a key: no minute above them, what was not written comes back, and who is refused learns why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import Client, app_running, gateway_running
from stub import ANSWER, Stub

from patience import until
from thinkcap.core.errors import ConfigError
from thinkcap.gateway.admission.auth import Keys, hashed, keys_of
from thinkcap.gateway.admission.quota import DAY_S, MINUTE_S, Holder, Limits, LocalQuota, Reserved
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.refusal import Refusal

URL = "/v1/chat/completions"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def holder(**limits: int) -> Holder:
    return Holder("alice", Limits(**limits))


@given(
    st.lists(st.tuples(st.floats(0, 20), st.integers(1, 60), st.floats(0, 1)), max_size=120),
    st.integers(60, 200),
    st.integers(1, 20),
)
@settings(max_examples=60, deadline=None)
def test_no_minute_holds_more_than_its_limit(
    asked: list[tuple[float, int, float]], tokens: int, requests: int
) -> None:
    clock = Clock()
    quota = LocalQuota(clock)
    who = holder(tokens_per_minute=tokens, requests_per_minute=requests)
    spent: list[tuple[float, int]] = []
    refused: list[Refusal] = []
    for pause, cap, share in asked:
        clock.now += pause
        try:
            ticket = asyncio.run(quota.reserve(who, cap))
        except Refusal as err:
            refused.append(err)
            continue
        written = round(cap * share)
        quota.settle(ticket, written)
        spent.append((clock.now, written))
    assert all(err.status == 429 and 0 < (err.retry_after_s or 0) <= MINUTE_S * 1.051 for err in refused)
    for at, _ in spent:
        within = [written for moment, written in spent if at - MINUTE_S < moment <= at]
        assert sum(within) <= tokens
        assert len(within) <= requests


def test_who_waits_as_told_gets_in() -> None:
    clock = Clock()
    quota = LocalQuota(clock)
    who = holder(requests_per_minute=3)
    for _ in range(3):
        asyncio.run(quota.reserve(who, 1))
        clock.now += 7
    with pytest.raises(Refusal) as caught:
        asyncio.run(quota.reserve(who, 1))
    assert caught.value.code == "limit_requests_per_minute"
    assert "3 requests a minute" in caught.value.message
    clock.now += caught.value.retry_after_s or 0
    asyncio.run(quota.reserve(who, 1))


def test_the_day_is_kept_beside_the_minute() -> None:
    clock = Clock()
    quota = LocalQuota(clock)
    who = holder(requests_per_minute=1, requests_per_day=2)
    for _ in range(2):
        asyncio.run(quota.reserve(who, 1))
        clock.now += 2 * MINUTE_S
    with pytest.raises(Refusal) as caught:
        asyncio.run(quota.reserve(who, 1))
    assert caught.value.code == "limit_requests_per_day"
    clock.now += DAY_S * 1.06
    asyncio.run(quota.reserve(who, 1))


def test_a_request_larger_than_its_limit_is_no_question_of_waiting() -> None:
    with pytest.raises(Refusal) as caught:
        asyncio.run(LocalQuota().reserve(holder(tokens_per_minute=100), 101))
    assert caught.value.status == 400
    assert caught.value.retry_after_s is None


@dataclass
class Work:
    written: int | None
    started: bool


@pytest.mark.parametrize(
    ("error", "shown", "counted", "owed"),
    [
        (None, True, 20, 20),
        (None, True, None, 100),
        (asyncio.CancelledError(), True, None, 100),
        (TimeoutError(), False, None, 100),
        (Refusal("no"), False, None, 0),
        (Refusal("no"), False, 30, 30),
        (Refusal("broken"), True, None, 100),
    ],
)
def test_what_a_request_owes(error: BaseException | None, shown: bool, counted: int | None, owed: int) -> None:
    quota = LocalQuota()
    who = holder(tokens_per_minute=1000)

    async def spend() -> None:
        async with Reserved(quota, who, 100) as reserved:
            reserved.begin(Work(counted, shown))
            if error is not None:
                raise error

    try:
        asyncio.run(spend())
    except (asyncio.CancelledError, TimeoutError, Refusal):
        assert error is not None
    assert quota.used("alice", "tokens_per_minute") == owed


def headers(key: str) -> list[tuple[bytes, bytes]]:
    return [(b"authorization", b"Bearer " + key.encode())]


def test_keys_expire_at_the_end_of_their_day() -> None:
    now = datetime(2027, 1, 31, 23, 59, tzinfo=UTC)
    table = keys_of({"alice": {"key": hashed("secret"), "expires": "2027-01-31"}})
    assert Keys(table, now=lambda: now).check(headers("secret")).name == "alice"
    later = Keys(table, now=lambda: datetime(2027, 2, 1, tzinfo=UTC))
    with pytest.raises(Refusal) as caught:
        later.check(headers("secret"))
    assert (caught.value.status, caught.value.code) == (401, "expired_api_key")


def test_two_keys_of_one_holder_hold_while_one_replaces_the_other() -> None:
    table = keys_of({"alice": {"key": [hashed("new"), hashed("old")], "limits": {"requests_per_day": 5}}})
    keys = Keys(table, Limits(requests_per_day=1))
    assert keys.check(headers("new")) is keys.check(headers("old"))
    assert keys.check(headers("old")).limits.requests_per_day == 5


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"alice": "secret"}, "key 'alice'.*not a hash"),
        ({"alice": {"expires": "2027-01-01"}}, "needs a `key`"),
        ({"alice": {"key": []}}, "list of such"),
        ({"alice": {"key": hashed("a"), "expires": "soon"}}, "wanted a day"),
        (
            {"alice": {"key": hashed("a"), "limits": {"requests_per_minutes": 1}}},
            "did you mean 'requests_per_minute'",
        ),
        ({"alice": {"key": hashed("a"), "limits": {"tokens_per_day": 0}}}, "tokens_per_day"),
    ],
)
def test_mistakes_in_keys_are_one_sentence(keys: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        ServeConfig.from_mapping({"keys": keys})
    assert "secret" not in str(caught.value)


def test_a_file_of_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(
        f'bob = "{hashed("b")}"\n[alice]\nkey = "{hashed("a")}"\nexpires = 2030-01-01T12:00:00+02:00\n'
        "[alice.limits]\nrequests_per_minute = 2\n"
    )
    config = ServeConfig.from_mapping({"keys_file": str(file), "keys": {"carl": hashed("c")}})
    assert sorted(config.keys) == ["alice", "bob", "carl"]
    assert config.keys["alice"].expires == datetime(2030, 1, 1, 10, tzinfo=UTC)
    with pytest.raises(ConfigError, match="keep one"):
        ServeConfig.from_mapping({"keys_file": str(file), "keys": {"bob": hashed("c")}})
    with pytest.raises(ConfigError, match="cannot read the keys"):
        ServeConfig.from_mapping({"keys_file": str(tmp_path / "none.toml")})


@pytest.fixture(scope="module")
def gateway() -> Iterator[tuple[Client, Any]]:
    keys = {name: {"key": hashed(name), "limits": limits} for name, limits in LIMITS.items()}
    with ExitStack() as stack:
        upstream = stack.enter_context(app_running(Stub()))
        address, found = stack.enter_context(
            gateway_running(f"{upstream}/v1", keys={**keys, "free": hashed("free")})
        )
        # One moment for all: a minute that ends between two requests would change the counts.
        found.service.quota.clock = lambda: 1_000_000.0
        yield Client(address), found.service.quota


LIMITS: dict[str, dict[str, int]] = {
    "few": {"requests_per_minute": 3},
    "small": {"tokens_per_minute": 100},
    "flow": {"tokens_per_minute": 1000},
    "raw": {"tokens_per_minute": 100, "requests_per_day": 5},
}


def ask(client: Client, key: str, **more: Any) -> Any:
    said = {"model": "stub", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 60, **more}
    return client.post(more.pop("path", URL), json=said, headers={"authorization": f"Bearer {key}"})


def settled(quota: LocalQuota, name: str, tokens: int) -> bool:
    """A request is settled just after its last byte."""
    until(lambda: quota.used(name, "tokens_per_minute") == tokens, lambda: quota.used(name, "tokens_per_minute"))
    return True


def test_requests_are_counted_and_refused_with_the_time_to_wait(gateway: tuple[Client, Any]) -> None:
    client, _ = gateway
    assert [ask(client, "few").status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = ask(client, "few")
    assert 1 <= int(refused.headers["retry-after"]) <= 63
    assert refused.json()["error"]["code"] == "limit_requests_per_minute"
    assert [ask(client, "free").status_code for _ in range(5)] == [200] * 5


@pytest.mark.parametrize("stream", [False, True])
def test_what_was_not_written_is_given_back(gateway: tuple[Client, Any], stream: bool) -> None:
    """Six tokens of sixty are used, so that many requests of sixty fit into a hundred a minute."""
    client, quota = gateway
    before = quota.used("small", "tokens_per_minute")
    for number in range(3):
        assert ask(client, "small", stream=stream).status_code == 200
        assert settled(quota, "small", before + (number + 1) * (len(ANSWER) + 1))
    assert ask(client, "small", max_tokens=101).status_code == 400
    assert ask(client, "small", max_tokens=99).json()["error"]["code"] == "limit_tokens_per_minute"


def test_all_passes_of_a_policy_are_charged(gateway: tuple[Client, Any]) -> None:
    client, quota = gateway
    reply = ask(client, "flow", model="stub+split(think=8)", max_tokens=40)
    assert settled(quota, "flow", reply.json()["thinkcap"]["tokens"])


def test_raw_completions_are_charged_too(gateway: tuple[Client, Any]) -> None:
    client, quota = gateway
    said = {"model": "stub", "prompt": "a", "max_tokens": 7}
    bearer = {"authorization": "Bearer raw"}
    assert client.post("/v1/completions", json=said, headers=bearer).status_code == 200
    streamed = client.post("/v1/completions", json={**said, "stream": True}, headers=bearer)
    assert json.loads(streamed.text.splitlines()[0][6:])["choices"]
    assert settled(quota, "raw", 14)
    assert quota.used("raw", "requests_per_day") == 2
