"""What a stranger can send to the gateway without a key, and what it must not cost."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from running import Client, gateway_running
from wire import CHAT, flood

from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.policies.registry import parse

MB = 2**20
BODY = {"model": "scripted", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 8}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    engine = ScriptedEngine(lambda prompt: "It is 42.")
    with gateway_running(engine, arrival_timeout_s=2.0) as (found, _):
        yield found


def alive(address: str) -> None:
    assert Client(address).get("/healthz").status_code == 200
    assert Client(address).post("/v1/chat/completions", json=BODY).status_code == 200


@pytest.mark.parametrize("path", [b"/healthz", b"/v1/chat/completions", b"/nowhere"])
@pytest.mark.parametrize("piece", [b"X-Trailer: " + b"y" * 1000 + b"\r\n", b"z" * 4096])
def test_endless_trailers_are_cut_off(address: str, path: bytes, piece: bytes) -> None:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    first = b"" if piece.startswith(b"X") else b"X-One: "
    sent, _ = flood(address, head + first, piece, 64 * MB)
    assert sent < 16 * MB, "the gateway went on reading trailers"
    alive(address)


def test_trailers_of_ordinary_size_do_no_harm(address: str) -> None:
    body = json.dumps(BODY).encode()
    request = CHAT + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    request += b"%x\r\n%b\r\n0\r\nX-Checksum: abc\r\n\r\n" % (len(body), body)
    _, reply = flood(address, request, b"", 0)
    assert b" 200 " in reply.split(b"\r\n")[0]


def test_chunks_of_one_byte_are_a_body_like_any_other(address: str) -> None:
    request = CHAT + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    body = json.dumps({**BODY, "metadata": {"x": "y" * 40_000}}).encode()
    framed = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    _, reply = flood(address, request + framed + b"0\r\n\r\n", b"", 0)
    assert b" 200 " in reply.split(b"\r\n")[0]


def test_framing_that_is_larger_than_any_head_is_cut_off(address: str) -> None:
    request = CHAT + b"Transfer-Encoding: chunked\r\n\r\n"
    sent, _ = flood(address, request, b"1;" + b"e" * 8000 + b"\r\nx\r\n", 64 * MB)
    assert sent < 16 * MB


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (CHAT + b"Content-Length: 9000000000\r\n\r\n", b" 413 "),
        (b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000000000\r\n\r\n", b" 405 "),
        (b"GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000000000\r\n\r\n", b" 404 "),
    ],
)
def test_an_answer_before_the_end_of_its_request_ends_the_connection(
    address: str, head: bytes, status: bytes
) -> None:
    sent, reply = flood(address, head, b"x" * 65536, 256 * MB)
    assert sent < 32 * MB, "the gateway went on swallowing a body nobody wants"
    assert status in reply.split(b"\r\n")[0]
    assert b"connection: close" in reply
    alive(address)


def test_a_body_that_stops_coming_is_a_408_and_the_end(address: str) -> None:
    _, reply = flood(address, CHAT + b"Content-Length: 100\r\n\r\n{", b"", 0)
    assert b" 408 " in reply.split(b"\r\n")[0]
    assert b"connection: close" in reply


def test_the_limit_on_headers_holds_however_they_arrive(address: str) -> None:
    large = CHAT + b"X-Large: " + b"y" * 60_000 + b"\r\nContent-Length: 2\r\n\r\n{}"
    _, reply = flood(address, large, b"", 0)
    assert b" 431 " in reply.split(b"\r\n")[0]
    many = CHAT + b"".join(b"X-%d: y\r\n" % n for n in range(5000)) + b"\r\n"
    _, reply = flood(address, many, b"", 0)
    assert b" 431 " in reply.split(b"\r\n")[0]
    alive(address)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "iris" + " " * 200_000 + "(x",
        "iris(" * 100_000,
        "iris(first=" + "," * 200_000,
        'iris(first="' + "\\" * 200_000,
        "iris(first=" + "(" * 200_000,
        "iris" + "\t\n" * 100_000 + ")",
        "iris(" + "a=1," * 100_000 + ")",
        "9" * 200_000,
        "iris(first=" + "9" * 200_000 + ")",
    ],
)
def test_policy_text_is_read_in_time_that_grows_with_its_length(address: str, text: str) -> None:
    with pytest.raises(Exception, match=r"policy|option") as refused:
        parse(text)
    assert len(str(refused.value)) < 2000
    assert (
        Client(address).post("/v1/chat/completions", json={**BODY, "model": f"scripted+{text}"}).status_code == 400
    )


def test_callers_cannot_mint_metric_labels() -> None:
    with gateway_running(ScriptedEngine(lambda prompt: "It is 42.")) as (address, gateway):

        def ask(first: int) -> list[int]:
            names = (f"scripted+iris(first={first})", f"scripted+iris(frist={first})", f"stranger{first}")
            bodies = [{**BODY, "max_tokens": 64, "model": name} for name in names]
            return [Client(address).post("/v1/chat/completions", json=body).status_code for body in bodies]

        assert ask(1) == [200, 400, 404]
        before = gateway.metrics.text().count(b"\n")
        for first in range(2, 12):
            assert ask(first) == [200, 400, 404]
        text = gateway.metrics.text().decode()
    assert "first=" not in text
    assert "stranger" not in text
    assert text.count("\n") == before
