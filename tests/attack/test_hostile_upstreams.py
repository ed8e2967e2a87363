"""A model server that lies, leaks or never ends: what of it may reach a client, and what it must not cost."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from running import Client, gateway_running, hurried
from wire import MODELS, NO, answer, resident_mb, upstream

from patience import PATIENCE_S, until
from thinkcap.engines.masking import Mask, sentence
from thinkcap.gateway import service

KEY = "sk-upstream-7f3a9c"
URL = "/v1/chat/completions"
GOOD = {
    "id": "u",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "42"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}


class Upstream:
    """Answers well until it is told to misbehave."""

    def __init__(self) -> None:
        self.misdeed: Any = None
        self.seen: list[bytes] = []
        self.address = ""
        self.gateway: Any = None
        """The one in front of it."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        self.seen.append(request)
        path = request.split(b" ")[1]
        if self.misdeed is not None:
            await self.misdeed(writer, request)
        elif path == b"/v1/models":
            writer.write(MODELS)
        elif path == b"/v1/chat/completions":
            writer.write(answer(json.dumps(GOOD).encode()))
        else:
            writer.write(NO)


@contextmanager
def serving(**settings: Any) -> Iterator[tuple[Client, Upstream]]:
    server = Upstream()
    with upstream(server) as address:
        server.address = address
        with gateway_running(f"{address}#m", **settings) as (found, server.gateway):
            yield Client(found), server


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Client, Upstream]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKCAP_API_KEY", KEY)
        with serving(attempts=1) as found:
            yield found


@pytest.fixture(autouse=True)
def _well_again(both: tuple[Client, Upstream]) -> Iterator[None]:
    yield
    both[1].misdeed = None


def ask(client: Client, **more: Any) -> Any:
    body = {"model": "m", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 64}
    return client.post(URL, json={**body, **more})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["m", "m+nothink", "m+iris"])
@pytest.mark.parametrize("status", [400, 404, 422, 500, 503])
def test_a_server_that_repeats_its_request_gives_nothing_away(
    both: tuple[Client, Upstream], stream: bool, model: str, status: int
) -> None:
    client, server = both

    async def echoes(writer: asyncio.StreamWriter, request: bytes) -> None:
        head = request.partition(b"\r\n\r\n")[0].decode()
        words = {"error": {"message": f"bad request to {server.address}: {head}"}}
        writer.write(answer(json.dumps(words).encode(), status))

    server.misdeed = echoes
    reply = ask(client, stream=stream, model=model)
    assert reply.status_code >= 400
    said = reply.text + str(reply.headers)
    assert KEY not in said
    assert server.address.removesuffix("/v1") not in said
    assert server.address.removeprefix("http://").removesuffix("/v1") not in said


def test_an_error_inside_a_stream_gives_nothing_away(both: tuple[Client, Upstream]) -> None:
    client, server = both

    async def echoes(writer: asyncio.StreamWriter, request: bytes) -> None:
        event = {"error": {"message": f"slot lost, Authorization: Bearer {KEY} at {server.address}", "code": 400}}
        writer.write(answer(b"data: " + json.dumps(event).encode() + b"\n\n", kind=b"text/event-stream"))

    server.misdeed = echoes
    for model in ("m", "m+iris"):
        said = ask(client, stream=True, model=model).text
        assert "slot lost" in said
        assert KEY not in said
        assert "127.0.0.1" not in said


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["m", "m+iris"])
def test_a_whole_answer_without_end_is_refused(both: tuple[Client, Upstream], stream: bool, model: str) -> None:
    client, server = both
    sent = 0

    async def endless(writer: asyncio.StreamWriter, request: bytes) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900000000000\r\n\r\n{")
        while not writer.is_closing():
            writer.write(b" " * 65536)
            sent += 65536
            await writer.drain()

    server.misdeed = endless
    reply = ask(client, model=model, stream=stream)
    assert reply.status_code == 502
    assert sent < 128 * 2**20


@pytest.mark.parametrize("model", ["m", "m+iris"])
@pytest.mark.parametrize(
    "event",
    [
        pytest.param(b'data: {"choices": [{"delta": {}}]}\n\n' * 1000, id="events that show nothing"),
        pytest.param(b": still here\n\n" * 4000, id="comments"),
        pytest.param(b"x" * 65536, id="a line without end"),
        pytest.param(b'data: {"choices": [{"delta": {"content": "y"}}]}\n\n' * 1000, id="text without end"),
        pytest.param(
            b'data: {"choices": [{"delta": {"content": "' + b"y" * 500_000 + b'"}}]}\n\n', id="large pieces"
        ),
    ],
)
def test_a_stream_without_end_is_cut_off(both: tuple[Client, Upstream], model: str, event: bytes) -> None:
    client, server = both
    sent = 0

    async def endless(writer: asyncio.StreamWriter, request: bytes) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while not writer.is_closing():
            writer.write(event)
            sent += len(event)
            await writer.drain()

    server.misdeed = endless
    before = resident_mb()
    said = ask(client, model=model, stream=True).text
    assert "error" in said or '"length"' in said
    assert sent < 600 * 2**20
    assert resident_mb() - before < 128


def test_a_bomb_of_compressed_zeros_is_refused_unopened(both: tuple[Client, Upstream]) -> None:
    client, server = both
    bomb = gzip.compress(b"0" * 50_000_000)

    async def explodes(writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(answer(bomb, more=b"Content-Encoding: gzip\r\n"))

    server.misdeed = explodes
    for model in ("m", "m+iris"):
        for stream in (False, True):
            reply = ask(client, model=model, stream=stream)
            assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_garbled")
    assert b"accept-encoding: identity" in server.seen[-1].lower()


@pytest.mark.parametrize("model", ["m", "m+iris"])
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": -7},
        {"completion_tokens": 10**30},
        {"completion_tokens": "many"},
        {"completion_tokens_details": {"reasoning_tokens": -1}},
    ],
)
def test_counts_that_cannot_be_are_a_502(both: tuple[Client, Upstream], model: str, usage: Any) -> None:
    client, server = both

    async def lies(writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(answer(json.dumps({**GOOD, "usage": usage}).encode()))

    server.misdeed = lies
    reply = ask(client, model=model)
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_garbled")


@pytest.mark.parametrize("status", [100, 199, 304, 999])
@pytest.mark.parametrize("path", [URL, "/v1/embeddings"])
def test_odd_statuses_are_a_502(forwarding: tuple[Client, Upstream], status: int, path: str) -> None:
    client, server = forwarding

    async def odd(writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(answer(b"{}", status))
        await writer.drain()
        writer.close()

    server.misdeed = odd
    body = {"model": "m", "messages": [{"role": "user", "content": "2?"}]}
    reply = client.post(path, json=body)
    assert reply.status_code == 502
    assert reply.json()["error"]["type"] == "upstream_error"


@pytest.fixture(scope="module")
def forwarding() -> Iterator[tuple[Client, Upstream]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKCAP_API_KEY", KEY)
        settings = {"forward": ["/v1/embeddings"], "concurrency": 1, "queue": 0, "attempts": 1}
        with serving(**settings) as found:
            yield found


@pytest.fixture(autouse=True)
def _forwards_well_again(forwarding: tuple[Client, Upstream]) -> Iterator[None]:
    yield
    forwarding[1].misdeed = None


def test_forwarded_paths_wait_their_turn_and_leak_nothing(forwarding: tuple[Client, Upstream]) -> None:
    client, server = forwarding
    reached, go = 0, False

    async def slow(writer: asyncio.StreamWriter, request: bytes) -> None:
        nonlocal reached
        reached += 1
        while not go:  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.01)
        writer.write(answer(b'{"data": []}'))

    server.misdeed = slow
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(Client(client.base).post, "/v1/embeddings", json={}) for _ in range(8)]
        until(lambda: sum(one.done() for one in asked) == 7)
        go = True
    assert sorted(one.result().status_code for one in asked) == [200] + [429] * 7
    assert reached == 1

    async def echoes(writer: asyncio.StreamWriter, request: bytes) -> None:
        writer.write(answer(request.partition(b"\r\n\r\n")[0], 400))

    server.misdeed = echoes
    said = client.post("/v1/embeddings", json={}).text
    assert KEY not in said
    assert "127.0.0.1" not in said

    async def silent(writer: asyncio.StreamWriter, request: bytes) -> None:
        await asyncio.sleep(3600)

    server.misdeed = silent
    with hurried(server.gateway, request_timeout_s=1.0):
        assert client.post("/v1/embeddings", json={}).status_code == 504


def test_many_probes_are_one_question_to_the_model_server(
    both: tuple[Client, Upstream], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Asked anew once a second, which many probes may take where the machine is slow.
    monkeypatch.setattr(service, "_FRESH_S", PATIENCE_S)
    client, server = both
    server.seen.clear()
    for _ in range(50):
        assert client.get("/readyz").status_code == 200
    assert len(server.seen) <= 1


@pytest.mark.parametrize(
    ("words", "hidden"),
    [
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ("{'authorization': 'Bearer abc123'}", "abc123"),
        ('{"X-Api-Key": "abc123"}', "abc123"),
        ("api_key=abc123&x=1", "abc123"),
        ("see http://user:pw@10.0.0.5:8000/v1 for more", "10.0.0.5"),
        ("redis://10.0.0.5 is down", "10.0.0.5"),
        ("Host: inner.example:8000", "inner.example"),
        ("cannot reach inner.example", "inner.example"),
        ("x" * 490 + " key-of-ours-1234", "key-of-ours"),
    ],
)
def test_what_looks_like_a_key_or_an_address_is_hidden(words: str, hidden: str) -> None:
    mask = Mask("key-of-ours-1234", "http://inner.example:8000/v1")
    assert hidden not in mask(words)


def test_masking_leaves_ordinary_words_alone() -> None:
    words = "maximum context length of 4096 exceeded: 5000 tokens"
    assert Mask("k", "http://inner:1/v1")(words) == words


@pytest.mark.timeout(PATIENCE_S)
@pytest.mark.parametrize(
    "words",
    [
        "authorization" * 40_000,
        "authorization:" + " " * 400_000,
        "bearer " * 60_000,
        "http" + "+" * 400_000 + "://x",
        "http://" * 60_000,
        "api_key='" * 50_000,
        "\x1b[31m\u202e\n" * 50_000,
        "{" * 200_000,
        '{"error":' * 50_000,
    ],
)
def test_a_servers_words_are_masked_in_time_that_grows_with_their_length(words: str) -> None:
    said = Mask(KEY, "http://inner.example:8000/v1")(sentence(words))
    assert len(said) <= 500
    assert said.isprintable()
