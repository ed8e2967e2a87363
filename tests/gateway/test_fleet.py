"""Several servers behind one model: who gets what, who is left out, and that nothing is sent twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from running import Client, app_running, gateway_running
from stub import ANSWER, Stub

from thinkcap.core.errors import ConfigError
from thinkcap.engines.link import Link
from thinkcap.gateway.banner import banner
from thinkcap.gateway.config import ServeConfig

URL = "/v1/chat/completions"
TEXT = " ".join(ANSWER)


class Fleet:
    """Three stubs behind one gateway."""

    def __init__(self, stack: ExitStack, count: int = 3, **settings: Any) -> None:
        self.stubs = [Stub() for _ in range(count)]
        bases = [stack.enter_context(app_running(stub)) for stub in self.stubs]
        self.named = [f"{base}/v1#stub" for base in bases]
        found = gateway_running([{"model": "stub", "upstreams": [{"url": f"{b}/v1"} for b in bases]}], **settings)
        address, self.gateway = stack.enter_context(found)
        self.client = Client(address)
        self.clear()

    def clear(self) -> None:
        for stub in self.stubs:
            stub.bodies.clear()
            stub.faults.clear()
        for member in self.members:
            member.pauses = member.strikes = 0

    @property
    def members(self) -> Any:
        fleet = self.gateway.service.models.served["stub"].fleet
        assert fleet is not None
        return fleet.members

    @property
    def asked(self) -> list[int]:
        return [len(stub.bodies) for stub in self.stubs]

    def ask(self, text: str = "2?", **more: Any) -> Any:
        said = {"model": "stub", "messages": [{"role": "user", "content": text}], "max_tokens": 64, **more}
        return self.client.post(URL, json=said)

    def home(self, text: str) -> int:
        """Which server this conversation belongs to."""
        self.clear()
        assert self.ask(text).status_code == 200
        (member,) = {i for i, n in enumerate(self.asked) if n}
        self.clear()
        return member


@pytest.fixture(scope="module")
def running() -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(stack, forward=["/v1/embeddings"])


@pytest.fixture
def fleet(running: Fleet) -> Iterator[Fleet]:
    running.clear()
    yield running
    running.clear()


@pytest.fixture(scope="module")
def hasty() -> Iterator[Fleet]:
    """For servers that fall silent."""
    with ExitStack() as stack:
        yield Fleet(stack, stall_timeout_s=2.0)


def test_turns_of_a_conversation_go_to_one_server(fleet: Fleet) -> None:
    homes = set()
    for number in range(12):
        fleet.clear()
        turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"question {number}"}]
        for _ in range(3):
            assert fleet.ask(messages=turns).status_code == 200
            turns += [{"role": "assistant", "content": TEXT}, {"role": "user", "content": "and then?"}]
        (home,) = {i for i, n in enumerate(fleet.asked) if n}
        homes.add(home)
    assert homes == {0, 1, 2}


def test_the_banner_counts_the_servers(fleet: Fleet) -> None:
    assert ", 3 servers" in banner("http://127.0.0.1:1/v1", fleet.gateway.service)


def test_clients_may_name_their_conversation(fleet: Fleet) -> None:
    for text in ("one", "two", "three", "four", "five", "six"):
        assert fleet.ask(text, prompt_cache_key="mine").status_code == 200
    assert sorted(fleet.asked)[:2] == [0, 0]


def test_all_passes_of_a_request_go_to_one_server(fleet: Fleet) -> None:
    for number in range(6):
        fleet.clear()
        reply = fleet.ask(f"question {number}", model="stub+split(think=8)", max_tokens=40)
        assert reply.status_code == 200
        assert len(reply.json()["thinkcap"]["stages"]) > 1
        assert sum(n > 0 for n in fleet.asked) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["kill", "500", "429", "html"])
def test_a_request_that_has_shown_nothing_moves_on(fleet: Fleet, fault: str, stream: bool) -> None:
    home = fleet.home("moved")
    fleet.stubs[home].faults.append(fault)
    reply = fleet.ask("moved", stream=stream)
    assert reply.status_code == 200
    assert TEXT in _text(reply, stream)
    assert sorted(fleet.asked) == [0, 1, 1]


def test_a_stalled_stream_moves_on_before_its_first_piece(hasty: Fleet) -> None:
    """Also where the head of the answer and a role have come: nobody has seen a word."""
    home = hasty.home("stalled")
    hasty.stubs[home].delay_s = 3600
    try:
        reply = hasty.ask("stalled", stream=True)
    finally:
        hasty.stubs[home].delay_s = 0
    assert TEXT in _text(reply, True)
    assert hasty.members[home].pauses == 1


def test_a_whole_answer_moves_on_from_a_server_that_says_nothing(hasty: Fleet) -> None:
    """It has ten minutes, as all requests have here, and is not kept waiting for them."""
    home = hasty.home("waiting")
    hasty.stubs[home].stalled = True
    try:
        reply = hasty.ask("waiting")
    finally:
        hasty.stubs[home].stalled = False
    assert TEXT in _text(reply, False)
    assert hasty.members[home].pauses == 1


@pytest.mark.parametrize("fault", ["reset", "half", "stall"])
def test_what_was_shown_is_never_repeated(fleet: Fleet, hasty: Fleet, fault: str) -> None:
    fleet = hasty if fault == "stall" else fleet
    home = fleet.home("broken")
    fleet.stubs[home].faults.append(fault)
    reply = fleet.ask("broken", stream=True)
    events = [line for line in reply.text.splitlines() if line.startswith("data: ")]
    assert "error" in json.loads(events[-1][6:])
    assert reply.text.count("thought0") <= 1
    assert sum(fleet.asked) == 1


def test_what_the_caller_did_wrong_is_said_once(fleet: Fleet) -> None:
    home = fleet.home("wrong")
    fleet.stubs[home].faults.append("400")
    reply = fleet.ask("wrong")
    assert reply.status_code == 400
    assert sum(fleet.asked) == 1
    assert not any(member.pauses for member in fleet.members)


def test_one_request_cannot_bring_down_everybody(fleet: Fleet) -> None:
    """A question that kills servers is handed to `attempts` of them, not to all there are."""
    with ExitStack() as stack:
        many = Fleet(stack, count=5, attempts=2)
        assert many.ask("fault:kill").status_code == 502
        assert sum(many.asked) == 2


def test_a_server_that_is_gone_is_left_out_and_comes_back() -> None:
    with ExitStack() as stack:
        stub, last = Stub(), Stub()
        lasting = stack.enter_context(app_running(last))
        leaving = ExitStack()
        base = leaving.enter_context(app_running(stub))
        settings = [{"model": "stub", "upstreams": [{"url": f"{base}/v1"}, {"url": f"{lasting}/v1", "weight": 2}]}]
        address, gateway = stack.enter_context(gateway_running(settings))
        client = Client(address)
        fleet = gateway.service.models.served["stub"].fleet
        assert fleet is not None
        leaving.close()
        for number in range(20):
            said = {"model": "stub", "messages": [{"role": "user", "content": f"{number}"}], "max_tokens": 20}
            assert client.post(URL, json=said).status_code == 200
        assert fleet.members[0].pauses
        assert client.get("/readyz").status_code == 200
        # The rest is the fleet's own test: a trial after the pause, and all is as before.


def test_other_paths_go_to_whoever_is_well(fleet: Fleet) -> None:
    assert fleet.client.post("/v1/embeddings", json={"input": "x"}).status_code == 200
    reply = fleet.client.post("/v1/completions", json={"model": "stub", "prompt": "a", "max_tokens": 3})
    assert reply.json()["choices"][0]["text"] == " ".join(ANSWER[:3])
    text = fleet.client.post(
        "/v1/completions", json={"model": "stub", "prompt": "a", "max_tokens": 3, "stream": True}
    ).text
    assert text.count("data: ") == 4


def test_addresses_with_one_name_are_one_model() -> None:
    config = ServeConfig.from_mapping(
        {"model": ["http://a:1/v1#q", "bundled", "http://b:1/v1#q", "http://c:1/v1#r"]}
    )
    first, second, third = config.models
    assert (first.model, [one.url for one in first.upstreams]) == ("q", ["http://a:1/v1", "http://b:1/v1"])
    assert (second.address, third.address) == ("bundled", "http://c:1/v1#r")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"model": "q", "upstreams": [{"url": "a:1/v1"}]}, "not an address"),
        ({"model": "q", "upstreams": [{"url": "http://a/v1", "wieght": 2}]}, "did you mean 'weight'"),
        ({"model": "q", "upstreams": [{"url": "http://a/v1", "weight": 0}]}, "from 0.01 to 1000"),
        ({"model": "q", "upstreams": [{"url": "http://a/v1"}, {"url": "http://b/v2"}]}, "one path"),
        ({"model": "q", "upstreams": [{"url": "http://a/v1"}, {"url": "http://a/v1"}]}, "named twice"),
        ({"model": "q", "upstreams": [{"url": "http://u:p@a/v1"}]}, "password"),
        ({"model": "q", "upstreams": [{"url": "http://a/v1#q"}]}, "names a model"),
        ({"model": "http://a/v1#q", "upstreams": [{"url": "http://b/v1"}]}, "saw the address"),
        ({"model": "q", "serve_with": "vllm", "upstreams": [{"url": "http://b/v1"}]}, "one of the two"),
        ({"model": ["bundled", "m.gguf"], "upstreams": [{"url": "http://b/v1"}]}, "of one model"),
    ],
)
def test_mistakes_in_the_settings_are_one_sentence(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ServeConfig.from_mapping(table)


def test_a_server_of_another_model_is_refused_at_the_start_and_no_connection_left_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[Link] = []
    begin = Link.__init__

    def noted(link: Link, *args: Any, **options: Any) -> None:
        begin(link, *args, **options)
        opened.append(link)

    monkeypatch.setattr(Link, "__init__", noted)
    # The one that is looked at is the right one, so that the other is found out when all is open.
    monkeypatch.setattr("thinkcap.engines.fleet.Fleet.choose", lambda fleet, route, tried=(): fleet.members[0])
    with app_running(Stub()) as one, app_running(Other()) as two:
        tables = [{"model": "stub", "upstreams": [{"url": f"{one}/v1"}, {"url": f"{two}/v1"}]}]
        with pytest.raises(ConfigError, match="does not serve 'stub'"), gateway_running(tables):
            pass
    assert len(opened) > 2
    assert all(link._connections.closed for link in opened)


def test_a_key_of_its_own_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISSING_KEY", raising=False)
    with app_running(Stub()) as one:
        tables = [{"model": "stub", "upstreams": [{"url": f"{one}/v1", "key_env": "MISSING_KEY"}]}]
        with pytest.raises(ConfigError, match="MISSING_KEY"), gateway_running(tables):
            pass


class Other(Stub):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/v1/models":
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}
            )
            await send({"type": "http.response.body", "body": b'{"data": [{"id": "another"}]}'})
            return
        await super().__call__(scope, receive, send)


def _text(reply: Any, stream: bool) -> str:
    if not stream:
        return str(reply.json()["choices"][0]["message"]["content"])
    datas = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
    return "".join(c["delta"].get("content") or "" for d in datas for c in d.get("choices", ())).strip()
