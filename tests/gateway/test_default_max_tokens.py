"""Requests without `max_tokens`: the rest of the context up to a bound, which quotas reserve and give back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from running import Client, app_running, gateway_running
from stub import ANSWER, Stub
from tool_server import ToolServer

from patience import until
from thinkcap.calibrate.profile import CapRule, Profile
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.admission.auth import hashed
from thinkcap.gateway.admission.quota import Limits, LocalQuota
from thinkcap.gateway.budget import bound_tokens, estimate_room
from thinkcap.gateway.config import ServeConfig
from thinkcap.gateway.models import Models, Served
from thinkcap.policies.registry import PolicySpec

CHAT, RESPONSES, COMPLETIONS = "/v1/chat/completions", "/v1/responses", "/v1/completions"
DEFAULT = 16_384
ASKED = {CHAT: {"messages": [{"role": "user", "content": "Hi"}]}, RESPONSES: {"input": "Hi"}}


class ListedServer(ToolServer):
    """A chat server without token ids that names its context."""

    async def _answer(self, path: str, body: dict[str, Any], send: Any) -> None:
        if path != "/v1/models":
            await super()._answer(path, body, send)
            return
        found = {"data": [{"id": "m", "max_model_len": self.context}]}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(found).encode()})


@contextmanager
def client_of(server: Any, **settings: Any) -> Iterator[Client]:
    with app_running(server) as upstream, gateway_running(f"{upstream}/v1", **settings) as (address, _):
        yield Client(address)


def budget_of(client: Client, path: str, **more: Any) -> int:
    reply = client.post(path, json={"model": "m", **ASKED[path], **more})
    assert reply.status_code == 200, reply.text
    return int(reply.json()["thinkcap"]["cap"])


@pytest.mark.parametrize("kind", ["llama", "vllm"])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("policy", ["nothink", "close"])
def test_it_is_the_rest_of_the_context(kind: Any, path: str, policy: str) -> None:
    server = ToolServer(kind, context=2000, thought="So.")
    with client_of(server) as client:
        found = budget_of(client, path, model=f"m+{policy}")
        assert 2000 - len("[user]Hi[assistant]") - 2 <= found <= 2000 - len("[user]Hi[assistant]")
        # What a client sets counts as it did.
        name = "max_output_tokens" if path == RESPONSES else "max_tokens"
        assert budget_of(client, path, model=f"m+{policy}", **{name: 300}) == 300


@pytest.mark.parametrize(
    ("context", "settings", "found"), [(100_000, {}, DEFAULT), (100_000, {"default_max_tokens": 500}, 500)]
)
@pytest.mark.parametrize("policy", ["nothink", "close"])
def test_it_is_never_above_the_setting(context: int, settings: Any, found: int, policy: str) -> None:
    with client_of(ToolServer("llama", context=context, thought="So."), **settings) as client:
        assert budget_of(client, CHAT, model=f"m+{policy}") == found


def test_an_unknown_context_leaves_the_setting() -> None:
    server = ToolServer("chat", thought="So.")
    with client_of(server) as client:
        assert budget_of(client, CHAT, model="m+nothink") == DEFAULT
        assert [body["max_tokens"] for path, body in server.bodies if path == CHAT][-1] == DEFAULT


@pytest.mark.parametrize("model", ["m+nothink", "m+iris"])
def test_a_chat_server_is_not_asked_for_more_than_its_context_can_hold(model: str) -> None:
    server = ListedServer("chat", thought="So.", context=4000)
    with client_of(server) as client:
        asked = "word " * 300
        budget_of(client, CHAT, model=model, messages=[{"role": "user", "content": asked}])
    sent = [body["max_tokens"] for _, body in server.bodies if asked in str(body.get("messages"))]
    assert 500 <= max(sent) <= 4000 - len(asked) / 3


def test_an_estimate_leaves_room_for_long_prompts_and_images() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}
    assert 20_000 < estimate_room(32_768, [{"role": "user", "content": [image]}]) < 32_768
    assert estimate_room(4096, "word " * 100_000) == 1024
    assert estimate_room(1000, "word " * 100_000) == 250


@pytest.mark.parametrize("prompt", ["word " * 60, list(range(100)), ["a", "word " * 60]])
def test_raw_completions_get_the_rest_of_the_context(prompt: Any) -> None:
    server = ToolServer("vllm", context=2000)
    with client_of(server) as client:
        client.post(COMPLETIONS, json={"model": "m", "prompt": prompt})
        sent = [body["max_tokens"] for path, body in server.bodies if path == COMPLETIONS][-1]
        length = 300 if "word" in str(prompt) else 100
        assert 2000 - length - 16 <= sent <= 2000 - length


def test_the_limits_of_operator_and_key_bound_the_default() -> None:
    config = ServeConfig(tokens_limit=8000)
    assert bound_tokens(None, config, Limits(), 1, 0) == 8000
    assert bound_tokens(None, config, Limits(), 4, 0) == 2000
    assert bound_tokens(None, config, Limits(tokens_per_minute=900, tokens_per_day=5000), 2, 0) == 450
    assert bound_tokens(None, config, Limits(tokens_per_minute=1), 2, 0) == 1
    assert bound_tokens(None, ServeConfig(), Limits(), 1, 4096) == 4096
    assert bound_tokens(20_000, config, Limits(tokens_per_minute=900), 2, 4096) == 20_000


@contextmanager
def limited(stub: Stub, tokens: int) -> Iterator[tuple[Client, LocalQuota]]:
    keys = {"alice": {"key": hashed("alice"), "limits": {"tokens_per_minute": tokens}}}
    with ExitStack() as stack:
        upstream = stack.enter_context(app_running(stub))
        address, found = stack.enter_context(gateway_running(f"{upstream}/v1", keys=keys))
        quota: Any = found.service.quota
        # A minute that ends between two requests would change the counts.
        quota.clock = lambda: 1_000_000.0
        yield Client(address, authorization="Bearer alice"), quota


def settles(quota: LocalQuota, tokens: int) -> None:
    until(
        lambda: quota.used("alice", "tokens_per_minute") == tokens,
        lambda: quota.used("alice", "tokens_per_minute"),
    )


@pytest.mark.parametrize("stream", [False, True])
def test_concurrent_requests_stay_within_a_quota_and_the_rest_comes_back(stream: bool) -> None:
    stub = Stub()
    body = {"model": "stub+nothink", "messages": [{"role": "user", "content": "2?"}], "stream": stream}
    with limited(stub, 40_000) as (client, quota), ThreadPoolExecutor(4) as pool:
        stub.gate = gate = threading.Event()
        first = [
            pool.submit(Client(client.base, authorization="Bearer alice").post, CHAT, json=body) for _ in range(2)
        ]
        settles(quota, 2 * DEFAULT)
        refused = client.post(CHAT, json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "limit_tokens_per_minute")
        gate.set()
        stub.gate = None
        assert [one.result().status_code for one in first] == [200, 200]
        written = len(ANSWER) + 1
        settles(quota, 2 * written)
        assert client.post(CHAT, json=body).status_code == 200
        settles(quota, 3 * written)


def test_a_small_quota_bounds_the_request_instead_of_refusing_it() -> None:
    with limited(Stub(), 300) as (client, quota):
        reply = client.post(CHAT, json={"model": "stub+nothink", "messages": [{"role": "user", "content": "2?"}]})
        assert reply.json()["thinkcap"]["cap"] == 300
        settles(quota, len(ANSWER) + 1)


def test_raw_completions_give_back_what_they_did_not_write() -> None:
    with limited(Stub(), 20_000) as (client, quota):
        body = {"model": "stub", "prompt": "a"}
        assert client.post(COMPLETIONS, json=body).json()["usage"]["completion_tokens"] == 100
        settles(quota, 100)
        streamed = client.post(COMPLETIONS, json={**body, "stream": True}).text
        assert "usage" not in streamed
        settles(quota, 200)
        asked = client.post(COMPLETIONS, json={**body, "stream": True, "stream_options": {"include_usage": True}})
        assert '"usage"' in asked.text
        settles(quota, 300)
        assert client.post(COMPLETIONS, json={**body, "stream": True, "stream_options": "all"}).status_code < 500


def test_a_profile_serves_a_default_above_what_it_measured_by_its_largest_budget() -> None:
    rules = (CapRule(64, PolicySpec("nothink")), CapRule(512, PolicySpec("close")))
    served = Served("m", ScriptedEngine(lambda prompt: "<think>2+3</think>5"), Profile("m", rules))
    with gateway_running(Models([served])) as (address, _):
        about = Client(address).post(CHAT, json={"model": "m", **ASKED[CHAT]}).json()["thinkcap"]
    assert (about["policy"], about["chosen_by"], about["cap"]) == ("close", "profile", DEFAULT)
