"""A model server that lies, leaks or never ends: what of it may reach a client, and what it must not cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from running import Client, gateway_running
from wire import MODELS, NO, answer, upstream

from thinkcap.engines.masking import Mask

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
        with gateway_running(f"{address}#m", **settings) as (found, _):
            yield Client(found), server


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Client, Upstream]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKCAP_API_KEY", KEY)
        with serving(stall_timeout_s=5.0, request_timeout_s=20.0, attempts=1) as found:
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
