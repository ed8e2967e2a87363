"""Engines and `thinkcap doctor` before a model server that means harm: one line each, little memory, an end."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from running import Client, gateway_running, hurried
from wire import MODELS, answer, resident_mb, upstream

from patience import until
from thinkcap.cli import main
from thinkcap.core.complete import complete
from thinkcap.core.errors import ThinkcapError
from thinkcap.core.types import Question, Request
from thinkcap.engines import open_engine
from thinkcap.engines.retry import RetryPolicy
from thinkcap.gateway.app import Gateway

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
GOOD: dict[str, Any] = {
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "42"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2},
}
Misdeed = Callable[[asyncio.StreamWriter], Awaitable[None]]


def says(raw: bytes) -> Misdeed:
    async def do(writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()
        writer.close()

    return do


def endless(head: bytes, piece: bytes, gap_s: float = 0.0) -> Misdeed:
    async def do(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(gap_s)

    return do


def wrong(path: str, value: object) -> Misdeed:
    """A good answer with one field of the wrong type."""
    body = json.loads(json.dumps(GOOD))
    place = body
    *way, last = path.split(".")
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    place[int(last) if last.isdigit() else last] = value
    return says(answer(json.dumps(body).encode()))


def packed(encoding: bytes, body: bytes) -> Misdeed:
    return says(answer(body, more=b"Content-Encoding: " + encoding + b"\r\n"))


BOMB = b"0" * 20_000_000
ZSTD = bytes.fromhex("28b52ffd") + b"\x00" * 64
BROTLI = b"\xcb\xff\xff\xff\xff" + b"\x00" * 64
JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"
MISDEEDS: dict[str, Misdeed] = {
    "a line without end": endless(SSE, b"x" * 65536),
    "an answer without end": endless(JSON_HEAD, b" " * 65536),
    "events without end": endless(SSE, b'data: {"choices": [{"delta": {}}]}\n\n' * 500),
    "a head without end": endless(b"HTTP/1.1 200 OK\r\n", b"X-Y: " + b"z" * 4096 + b"\r\n"),
    "a slow drip": endless(JSON_HEAD, b" ", gap_s=0.05),
    "a slow drip of events": endless(SSE, b": x\n", gap_s=0.05),
    "huge digits": says(answer(b'{"choices": [], "usage": {"completion_tokens": ' + b"9" * 100_000 + b"}}")),
    "deep JSON": says(answer(b"[" * 500_000)),
    "deep JSON in an event": says(SSE + b"data: " + b'{"a":' * 100_000 + b"\n\n"),
    "no JSON": says(answer(b"<html>hello</html>")),
    "a length too large": says(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"),
    "a length that is none": says(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"),
    "no HTTP": says(b"\x00\xff" * 100),
    "elsewhere": says(b"HTTP/1.1 302 X\r\nLocation: http://127.0.0.1:1/v1\r\nContent-Length: 0\r\n\r\n"),
    "gzip": packed(b"gzip", gzip.compress(BOMB)),
    "deflate": packed(b"deflate", zlib.compress(BOMB)),
    "zstd": packed(b"zstd", ZSTD),
    "br": packed(b"br", BROTLI),
    "words that move a terminal": says(answer(b'{"error": {"message": "\\u001b[2J\\u202e"}}', 400)),
    **{
        f"{path} is {value!r:.20}": wrong(path, value)
        for path in ("model", "choices", "choices.0", "choices.0.message", "choices.0.message.content", "usage")
        for value in (7, "x" * 50_000, [[]])
    },
    **{
        f"{path} is {value!r:.20}": wrong(path, value)
        for path in ("choices.0.finish_reason", "choices.0.index", "usage.completion_tokens")
        for value in (-(2**70), {"a": 1}, 1e308)
    },
}


class Server:
    """Behaves for the first so many generations, then does what it was told."""

    def __init__(self) -> None:
        self.misdeed: Misdeed | None = None
        self.left = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
        if request.startswith(b"GET") and (self.left > 0 or self.misdeed is None):
            writer.write(MODELS)
        elif self.left > 0 or self.misdeed is None:
            self.left -= 1
            writer.write(answer(json.dumps(GOOD).encode()))
        else:
            await self.misdeed(writer)


@pytest.fixture(scope="module")
def server() -> Any:
    one = Server()
    with upstream(one) as address:
        yield one, f"{address}#m"


@pytest.mark.parametrize("after", [0, 1000], ids=["from the start", "once it is open"])
@pytest.mark.parametrize("name", MISDEEDS)
def test_an_engine_ends_in_one_line(server: tuple[Server, str], name: str, after: int) -> None:
    one, address = server
    one.misdeed, one.left = MISDEEDS[name], after
    began, before = time.monotonic(), resident_mb()

    async def ask() -> None:
        retry = RetryPolicy(first_byte_s=1.0, between_bytes_s=1.0, total_s=2.0, attempts=1)
        engine = await open_engine(address, retry=retry, canary_every=10**9, canary_s=1e9)
        try:
            one.left = 0
            await complete(
                engine, Request(Question("q", ({"role": "user", "content": "2?"},)), "nothink", 8, "probe")
            )
        finally:
            await engine.aclose()

    try:
        asyncio.run(ask())
    except ThinkcapError as err:
        said = str(err)
        assert len(said) < 1200
        assert said.isprintable()
    assert time.monotonic() - began < 120
    assert resident_mb() - before < 96


DOCTORED = ["a line without end", "a slow drip", "deep JSON", "gzip", "words that move a terminal", "usage is 7"]


@pytest.mark.parametrize("after", [0, 9], ids=["from the start", "in the middle"])
@pytest.mark.parametrize("name", DOCTORED)
def test_the_doctor_ends_with_a_table_or_one_line(
    server: tuple[Server, str], name: str, after: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, address = server
    one.misdeed, one.left = MISDEEDS[name], after
    before = resident_mb()
    with suppress(SystemExit):
        main(["doctor", address, "--timeout", "0.3", "--tokens", "8", "--card", str(tmp_path / "card.json")])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    assert len(shown.err.splitlines()) <= 1
    assert all(c.isprintable() or c == "\n" for c in shown.out + shown.err)
    assert resident_mb() - before < 96


STREAMED = b'data: {"choices": [{"index": 0, "text": "y"}]}\n\n'


@pytest.mark.parametrize(
    ("misdeed", "said"),
    [
        (endless(SSE, STREAMED * 100), "cap_not_held"),
        (endless(SSE, STREAMED[:-1] + b"\n", gap_s=0.4), "timeout"),
        (
            says(SSE + b'data: {"choices": [], "usage": {"completion_tokens": 900}}\n\ndata: [DONE]\n\n'),
            "cap_not_held",
        ),
        (endless(SSE, b": still here\n\n", gap_s=0.05), "timeout"),
        (endless(SSE, b'data: {"choices": [{"delta": {"content": "y"}}]}\n\n' * 100), "upstream_garbled"),
    ],
    ids=[
        "text beyond the cap",
        "a slow drip",
        "a count beyond the cap",
        "comments only",
        "events that show nothing",
    ],
)
def test_completions_are_held_to_the_cap_and_the_time(
    server: tuple[Server, str], opened: tuple[Client, Gateway], misdeed: Misdeed, said: str
) -> None:
    client, gateway = opened
    server[0].misdeed, server[0].left = misdeed, 0
    limits = {"request_timeout_s": 2.0} if said == "timeout" else {}
    with hurried(gateway, **limits):
        body = {"model": "m", "prompt": "2?", "max_tokens": 16, "stream": True}
        assert said in client.post("/v1/completions", json=body).text
        # The last byte is sent before the place is given back.
        until(lambda: gateway.service.admission.active == 0)


@pytest.fixture(scope="module")
def opened(server: tuple[Server, str]) -> Iterator[tuple[Client, Gateway]]:
    server[0].misdeed = None
    with gateway_running(server[1], attempts=1) as (address, gateway):
        yield Client(address), gateway


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/completions"])
@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", gzip.compress(BOMB)), ("deflate", zlib.compress(BOMB)), ("zstd", ZSTD), ("br", BROTLI)],
)
def test_a_packed_body_is_never_unpacked(
    opened: tuple[Client, Gateway], path: str, encoding: str, body: bytes
) -> None:
    client, _ = opened
    before = resident_mb()
    reply = client.post(path, data=body, headers={"Content-Encoding": encoding})
    assert reply.status_code in (400, 415)
    assert resident_mb() - before < 32


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {"messages": [{"role": "user", "content": "2?"}], "max_tokens": 2_000_000}),
        ("/v1/responses", {"input": "2?", "max_output_tokens": 2_000_000}),
        ("/v1/completions", {"prompt": ["2?"] * 64, "max_tokens": 100_000}),
        ("/v1/completions", {"prompt": "2?", "n": 64, "max_tokens": 100_000}),
    ],
)
def test_limits_hold_on_every_wire(opened: tuple[Client, Gateway], path: str, body: dict[str, Any]) -> None:
    client, _ = opened
    reply = client.post(path, json={"model": "m", **body})
    assert reply.status_code == 400
    assert "tokens" in reply.text
