"""Several model servers, one of them hostile; requests that want to arrive as two; images that point inside."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from running import Client, gateway_running
from wire import MODELS, NO, answer, upstream

URL = "/v1/chat/completions"
KEYS = ("sk-first-1111", "sk-second-2222")


def good(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    return json.dumps({"id": "u", "model": "m", "choices": [choice], "usage": usage}).encode()


class Member:
    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[bytes] = []
        self.misdeed: Any = None

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        self.seen.append(request)
        path = request.split(b" ")[1]
        if path == b"/v1/models":
            writer.write(MODELS)
        elif path != b"/v1/chat/completions":
            writer.write(NO)
        elif self.misdeed is not None:
            await self.misdeed(writer, request)
        else:
            writer.write(answer(good(f"from {self.name}")))


class Fleet:
    def __init__(self, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self.members = [Member("first"), Member("second")]
        self.addresses = [stack.enter_context(upstream(one)) for one in self.members]
        monkeypatch.setenv("FIRST_KEY", KEYS[0])
        monkeypatch.setenv("SECOND_KEY", KEYS[1])
        name = json.loads(MODELS.partition(b"\r\n\r\n")[2])["data"][0]["id"]
        upstreams = [
            {"url": address, "key_env": key}
            for address, key in zip(self.addresses, ("FIRST_KEY", "SECOND_KEY"), strict=True)
        ]
        address, self.gateway = stack.enter_context(gateway_running([{"model": name, "upstreams": upstreams}]))
        self.client, self.model = Client(address), name
        for one in self.members:
            one.seen.clear()

    def ask(self, text: str, **more: Any) -> Any:
        said = {"model": self.model, "messages": [{"role": "user", "content": text}], "max_tokens": 20, **more}
        return self.client.post(URL, json=said)

    def of(self, member: int) -> str:
        """A question whose conversation belongs to this member."""
        for number in range(100):
            for one in self.members:
                one.seen.clear()
            self.ask(f"question {number}")
            if self.members[member].seen:
                return f"question {number}"
        raise AssertionError("no conversation came to this server")


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(stack, monkeypatch)


def test_an_answer_behind_an_answer_reaches_nobody(fleet: Fleet) -> None:
    """A server that sends two answers to one request must not answer the next client's request with the second."""
    text = fleet.of(0)

    async def twice(writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(answer(good("mine")) + answer(good("SMUGGLED")))

    fleet.members[0].misdeed = twice
    for _ in range(5):
        assert "SMUGGLED" not in fleet.ask(text).text
    fleet.members[0].misdeed = None
    for number in range(20):
        reply = fleet.ask(f"another {number}")
        assert reply.status_code == 200
        assert "SMUGGLED" not in reply.text


def test_lengths_that_contradict_each_other_shift_no_answer(fleet: Fleet) -> None:
    text = fleet.of(0)
    body = good("mine")

    async def both(writer: asyncio.StreamWriter, _: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) + answer(good("SMUGGLED")))

    fleet.members[0].misdeed = both
    for number in range(10):
        assert "SMUGGLED" not in fleet.ask(text if number % 2 else f"other {number}").text


@pytest.mark.parametrize(
    "text",
    [
        "x\r\n\r\nPOST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
        "0\r\n\r\nGET /secret HTTP/1.1\r\n\r\n",
        "\u010d\u010aGET /secret HTTP/1.1\u010d\u010a",
    ],
)
def test_a_request_inside_a_request_stays_inside(fleet: Fleet, text: str) -> None:
    for stream in (False, True):
        fleet.ask(text, stream=stream, prompt_cache_key=text[:30])
    heads = [request.split(b"\r\n")[0] for one in fleet.members for request in one.seen]
    assert set(heads) <= {b"POST /v1/chat/completions HTTP/1.1"}
    reply = fleet.client.post(
        URL, data=b"{}", headers={"content-type": "application/json", "x-request-id": "a\tb"}
    )
    assert reply.status_code == 400
    assert all(
        b"/secret" not in request.partition(b"\r\n\r\n")[0] for one in fleet.members for request in one.seen
    )


def test_framing_that_contradicts_itself_is_not_taken(fleet: Fleet) -> None:
    """What one reader takes for the end of a request and another for its middle."""
    from wire import flood

    inner = b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    head = (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (5 + len(inner))
    )
    _, reply = flood(fleet.client.base, head + inner, b"", 0)
    assert reply.count(b"HTTP/1.1 ") == 1
    assert b" 400 " in reply.split(b"\r\n")[0]


def test_a_request_that_moves_on_takes_no_key_along(fleet: Fleet) -> None:
    text = fleet.of(0)

    async def refuse(writer: asyncio.StreamWriter, _: bytes) -> None:
        writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")

    fleet.members[0].misdeed = refuse
    assert fleet.ask(text).json()["choices"][0]["message"]["content"] == "from second"
    for one, own, other in ((0, *KEYS), (1, *reversed(KEYS))):
        assert fleet.members[one].seen
        assert all(
            own.encode() in request and other.encode() not in request for request in fleet.members[one].seen
        )


def test_a_server_cannot_send_the_gateway_elsewhere(fleet: Fleet) -> None:
    text = fleet.of(0)

    async def elsewhere(writer: asyncio.StreamWriter, _: bytes) -> None:
        place = f"{fleet.addresses[1]}/stolen".encode()
        writer.write(b"HTTP/1.1 307 Over there\r\nLocation: " + place + b"\r\nContent-Length: 0\r\n\r\n")

    fleet.members[0].misdeed = elsewhere
    fleet.ask(text)
    assert not any(b"/stolen" in request for request in fleet.members[1].seen)


INSIDE = [
    "http://127.0.0.1/a.png",
    "http://127.1/a.png",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[64:ff9b::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.1.2.3:8080/a.png",
    "http://192.168.0.1/",
    "http://0.0.0.0/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://metadata.google.internal/",
    "http://printer.local/",
    "http://intranet/",
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://example.org@127.0.0.1/",
    "http://example.org\\@127.0.0.1/",
    "http://127.0.0.1\t/",
    "http://[::1%25lo]/",
    "file:///etc/passwd",
    "ftp://example.org/a.png",
    "gopher://example.org/",
    "//127.0.0.1/",
    "/etc/passwd",
    "HTTP://127.0.0.1/",
]


@pytest.mark.parametrize("url", INSIDE)
def test_no_image_points_inside(fleet_once: Fleet, url: str) -> None:
    """The model server would fetch it, from where it stands."""
    for path, body in _with_image(fleet_once.model, url):
        for one in fleet_once.members:
            one.seen.clear()
        reply = fleet_once.client.post(path, json=body)
        assert reply.status_code == 400, (path, reply.text)
        assert not any(one.seen for one in fleet_once.members)


@pytest.mark.parametrize(
    "url", ["https://example.org/a.png", "http://93.184.216.34/a.png", "data:image/png;base64,AAAA"]
)
def test_public_images_and_data_are_passed_on(fleet_once: Fleet, url: str) -> None:
    for path, body in _with_image(fleet_once.model, url):
        assert fleet_once.client.post(path, json=body).status_code == 200


@pytest.fixture(scope="module")
def fleet_once() -> Iterator[Fleet]:
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        yield Fleet(stack, patch)


def test_hosts_the_operator_names_are_all_there_are() -> None:
    from thinkcap.gateway.media import check_media
    from thinkcap.gateway.refusal import Refusal

    def message(url: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]

    for url in ("https://cdn.example.org/a", "http://10.0.0.7/a", "data:image/png;base64,AA"):
        check_media(message(url), ("example.org", "10.0.0.7"))
    for url in ("https://example.com/a", "https://notexample.org/a", "http://10.0.0.8/"):
        with pytest.raises(Refusal, match="does not allow its host"):
            check_media(message(url), ("example.org", "10.0.0.7"))


def _with_image(model: str, url: str) -> list[tuple[str, dict[str, Any]]]:
    chat = {"type": "image_url", "image_url": {"url": url}}
    found: list[tuple[str, dict[str, Any]]] = [
        (URL, {"model": model, "max_tokens": 20, "messages": [{"role": "user", "content": [chat]}]}),
        (
            "/v1/responses",
            {
                "model": model,
                "max_output_tokens": 20,
                "input": [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}],
            },
        ),
    ]
    if not url.startswith("data:"):
        image = {"type": "image", "source": {"type": "url", "url": url}}
        body = {"model": model, "max_tokens": 20, "messages": [{"role": "user", "content": [image]}]}
        found.append(("/v1/messages", body))
    return found
