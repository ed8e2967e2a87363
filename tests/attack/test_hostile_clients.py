"""What a stranger can send to the gateway without a key, and what it must not cost."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from running import Client, gateway_running, hurried
from wire import CHAT, flood

from patience import PATIENCE_S, until
from thinkcap.core.engine import Emit, Output, Prompt
from thinkcap.core.types import Sampling
from thinkcap.engines.scripted import ScriptedEngine
from thinkcap.gateway.admission.auth import hashed
from thinkcap.gateway.app import Gateway
from thinkcap.policies.registry import parse

MB = 2**20
BODY = {"model": "scripted", "messages": [{"role": "user", "content": "2?"}], "max_tokens": 8}


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple[str, Gateway]]:
    engine = ScriptedEngine(lambda prompt: "It is 42.")
    with gateway_running(engine, arrival_timeout_s=PATIENCE_S) as found:
        yield found


@pytest.fixture(scope="module")
def address(opened: tuple[str, Gateway]) -> str:
    return opened[0]


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


def test_a_body_that_stops_coming_is_a_408_and_the_end(opened: tuple[str, Gateway]) -> None:
    address, gateway = opened
    with hurried(gateway, arrival_timeout_s=0.5):
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


@pytest.mark.timeout(PATIENCE_S)
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


def test_a_name_that_was_pointed_here_opens_nothing(address: str) -> None:
    """DNS rebinding: a web page's own host name, resolved to the loopback."""
    for path in ("/v1/models", "/healthz", "/openapi.json"):
        assert Client(address, Host="evil.example").get(path).status_code == 421
        assert Client(address, Host="evil.example:8080").get(path).status_code == 421
    refused = Client(address, Host="evil.example").post("/v1/chat/completions", json=BODY)
    assert (refused.status_code, refused.json()["error"]["code"]) == (421, "foreign_host")
    for host in ("localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"):
        assert Client(address, Host=host).get("/v1/models").status_code == 200, host
    _, reply = flood(address, b"GET /v1/models HTTP/1.0\r\n\r\n", b"", 0)
    assert b" 421 " in reply.split(b"\r\n")[0]


def test_hosts_can_be_configured_and_keys_make_them_needless() -> None:
    engine = ScriptedEngine(lambda prompt: "It is 42.")
    with gateway_running(engine, hosts=["models.example"]) as (address, _):
        assert Client(address, Host="models.example").get("/v1/models").status_code == 200
        assert Client(address, Host="evil.example").get("/v1/models").status_code == 421
    with gateway_running(engine, keys={"a": hashed("k")}) as (address, _):
        keyed = Client(address, Host="any.example", Authorization="Bearer k")
        assert keyed.get("/v1/models").status_code == 200


@pytest.mark.parametrize("origin", ["http://[::1", "null", "http://", "http://localhost.evil.example", "//"])
def test_odd_origins_are_refused_not_a_crash(address: str, origin: str) -> None:
    reply = Client(address, Origin=origin).post("/v1/chat/completions", json=BODY)
    assert (reply.status_code, reply.json()["error"]["code"]) == (403, "foreign_origin")


class CallsAtOnce(ScriptedEngine):
    """Knows how many calls it had under way at its busiest."""

    under_way = most = 0

    async def generate(self, prompt: Prompt, limit: int, sampling: Sampling, emit: Emit | None = None) -> Output:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            return await super().generate(prompt, limit, sampling, emit)
        finally:
            self.under_way -= 1


def test_a_request_takes_as_many_places_as_it_makes_calls() -> None:
    engine = CallsAtOnce(lambda prompt: "#### 42", delay_s=0.05)
    with gateway_running(engine, concurrency=4, queue=100) as (address, gateway):

        def ask(more: dict[str, object]) -> int:
            return Client(address).post("/v1/chat/completions", json={**BODY, **more}).status_code

        wishes = {"policy": "vote(samples=4)", "kind": "number"}
        bodies: list[dict[str, object]] = [{"n": 4}, {"thinkcap": wishes, "max_tokens": 64}] * 6
        with ThreadPoolExecutor(12) as pool:
            assert set(pool.map(ask, bodies)) == {200}
        # The last byte is sent before the place is given back.
        until(lambda: gateway.service.admission.active == 0)
    assert engine.most == 4


def test_one_request_cannot_ask_for_thousands_of_calls_or_millions_of_tokens(address: str) -> None:
    wishes = {"policy": "vote(samples=64)", "kind": "number"}
    many = {**BODY, "n": 64, "thinkcap": wishes, "max_tokens": 640}
    reply = Client(address).post("/v1/chat/completions", json=many)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "too_many_calls")
    nested = "gate(samples=2,at_least=2,otherwise=gate(samples=64,otherwise=nothink))"
    deep = {**many, "n": 8, "thinkcap": {**wishes, "policy": nested}}
    assert Client(address).post("/v1/chat/completions", json=deep).json()["error"]["code"] == "too_many_calls"
    long = {**BODY, "n": 64, "max_tokens": 100_000}
    reply = Client(address).post("/v1/chat/completions", json=long)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "too_many_tokens")


def test_requests_are_logged_where_the_operator_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("thinkcap.gateway")
    engine = ScriptedEngine(lambda prompt: "It is 42.")
    try:
        with gateway_running(engine, log_requests=True) as (address, _):
            evil = {**BODY, "messages": [{"role": "user", "content": "one\nERROR two \x1b[31m"}]}
            assert Client(address).post("/v1/chat/completions", json=evil).status_code == 200
        written = capfd.readouterr().err
    finally:
        log.handlers.clear()
        log.setLevel(logging.NOTSET)
    (line,) = [one for one in written.splitlines() if "ERROR two" in one]
    assert '"policy"' in line
    assert "\x1b" not in line


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
