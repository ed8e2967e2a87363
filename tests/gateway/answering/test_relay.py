"""The gateway in front of an HTTP server that thinks, obeys, fails, lies and leaves."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from running import Client, app_running, gateway_running, hurried
from stub import ANSWER, THOUGHT, Stub

from patience import until
from thinkcap.gateway.app import Gateway

URL = "/v1/chat/completions"
TEXT = " ".join(ANSWER)
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def stub() -> Stub:
    return Stub()


@pytest.fixture(scope="module")
def upstream(stub: Stub) -> Iterator[str]:
    with app_running(stub) as address:
        yield f"{address}/v1"


@pytest.fixture(scope="module")
def opened(upstream: str) -> Iterator[tuple[str, Gateway]]:
    with gateway_running(upstream, forward=["/v1/embeddings"]) as found:
        yield found


@pytest.fixture(scope="module")
def client(opened: tuple[str, Gateway]) -> Client:
    return Client(opened[0])


@pytest.fixture(scope="module")
def hasty(upstream: str) -> Iterator[Client]:
    """For servers that fall silent."""
    with gateway_running(upstream, stall_timeout_s=1.0) as (address, _):
        yield Client(address)


@pytest.fixture(autouse=True)
def _clean(stub: Stub) -> Iterator[None]:
    stub.faults.clear()
    stub.bodies.clear()
    yield
    stub.faults.clear()


def body(text: str = "2?", **more: Any) -> dict[str, Any]:
    return {"model": "stub", "messages": [{"role": "user", "content": text}], "max_tokens": 64, **more}


def streamed(client: Client, request: dict[str, Any]) -> tuple[int, list[Any]]:
    reply = client.post(URL, json={**request, "stream": True})
    if reply.status_code != 200:
        return reply.status_code, [reply.json()]
    datas = [line[6:] for line in reply.content.decode().splitlines() if line.startswith("data: ")]
    assert "[DONE]" not in datas[:-1]
    ended = datas[-1] == "[DONE]"
    found = [json.loads(d) for d in (datas[:-1] if ended else datas)]
    assert ended != ("error" in found[-1])
    return 200, found


def joined(found: list[Any], name: str) -> str:
    return "".join(c["delta"].get(name) or "" for e in found for c in e.get("choices", ())).strip()


def test_a_single_call_goes_through_with_cap_switch_and_name(client: Client, stub: Stub) -> None:
    reply = client.post(URL, json=body(max_completion_tokens=32, user="u-1", stop=["xx"]))
    found = reply.json()
    (sent,) = stub.bodies
    assert sent["max_tokens"] == 32
    assert "max_completion_tokens" not in sent
    assert sent["chat_template_kwargs"]["enable_thinking"] is False
    assert (sent["user"], sent["stop"], sent["temperature"]) == ("u-1", ["xx"], 0.0)
    assert found["choices"][0]["message"]["content"] == TEXT
    assert found["usage"]["completion_tokens"] == found["thinkcap"]["tokens"] == len(ANSWER) + 1
    assert found["thinkcap"]["stages"][0]["budget"] == 32
    assert reply.headers["x-thinkcap"].startswith("policy=nothink")


def test_thinking_goes_through_with_its_tokens_apart(client: Client) -> None:
    found = client.post(URL, json=body(model="stub+think")).json()
    assert found["choices"][0]["message"]["reasoning_content"] == " ".join(THOUGHT)
    assert found["thinkcap"]["stages"][0]["reasoning_tokens"] == len(THOUGHT)
    renamed = client.post(URL, json=body(model="stub+think", thinkcap={"reasoning_field": "both"})).json()
    message = renamed["choices"][0]["message"]
    assert message["reasoning"] == message["reasoning_content"] == " ".join(THOUGHT)


def test_the_name_a_server_has_for_thoughts_is_kept() -> None:
    other = Stub(field="reasoning")
    with app_running(other) as upstream, gateway_running(f"{upstream}/v1") as (address, _):
        for model in ("stub+think", "stub+two_pass"):
            message = Client(address).post(URL, json=body(model=model)).json()["choices"][0]["message"]
            assert message["reasoning"].startswith("thought0"), model
            assert "reasoning_content" not in message
        _, found = streamed(Client(address), body(model="stub+two_pass"))
        assert joined(found, "reasoning").startswith("thought0")


def test_a_stream_goes_through_and_ends_with_what_happened(client: Client) -> None:
    status, found = streamed(client, body(model="stub+think"))
    assert status == 200
    assert joined(found, "reasoning_content") == " ".join(THOUGHT)
    assert joined(found, "content") == TEXT
    assert found[-1]["choices"][0]["finish_reason"] == "stop"
    assert found[-1]["thinkcap"]["tokens"] == len(THOUGHT) + len(ANSWER) + 1
    assert not any(e.get("usage") for e in found)
    _, found = streamed(
        client, body(stream_options={"include_usage": True}, thinkcap={"reasoning_field": "reasoning"})
    )
    assert found[-1]["usage"]["completion_tokens"] == len(ANSWER) + 1


def test_a_thought_that_used_up_the_cap_is_an_error_not_an_empty_answer(client: Client) -> None:
    reply = client.post(URL, json=body(model="stub+think", max_tokens=5))
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "answer_not_reached"
    _, found = streamed(client, body(model="stub+think", max_tokens=5))
    assert found[-1]["error"]["code"] == "answer_not_reached"
    reply = client.post(URL, json=body("say nothing", stream=True))
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "empty_answer")


def test_several_passes_over_chat_hold_the_cap(client: Client, stub: Stub) -> None:
    found = client.post(URL, json=body(model="stub+two_pass", max_tokens=20)).json()
    assert [s["stage"] for s in found["thinkcap"]["stages"]] == ["think", "extract"]
    assert found["usage"]["completion_tokens"] <= 20
    assert stub.bodies[0]["max_tokens"] == 10
    assert found["choices"][0]["message"]["content"] == TEXT


def test_tools_go_through_and_come_back(client: Client, stub: Stub) -> None:
    tools = [TOOL]
    reply = client.post(URL, json=body(tools=tools, tool_choice="auto", max_tokens=500)).json()
    assert reply["choices"][0]["finish_reason"] == "tool_calls"
    assert reply["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "weather"
    assert (reply["thinkcap"]["policy"], reply["thinkcap"]["chosen_by"]) == ("nothink", "tools")
    assert stub.bodies[0]["tools"] == tools
    _, found = streamed(client, body(tools=tools))
    assert any(c["delta"].get("tool_calls") for e in found for c in e["choices"])
    # A policy of several passes sends the tools in its answer pass only.
    stub.bodies.clear()
    reply = client.post(URL, json=body(tools=tools, model="stub+two_pass", max_tokens=200)).json()
    assert reply["choices"][0]["message"]["tool_calls"][0]["id"] == "call-1"
    assert ["tools" in b for b in stub.bodies] == [False, True]
    _, found = streamed(client, body(tools=tools, model="stub+two_pass", max_tokens=200))
    assert found[-1]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("model", ["stub", "stub+two_pass"])
def test_logprobs_come_whole_and_streamed(client: Client, model: str) -> None:
    asked = body(model=model, logprobs=True, top_logprobs=2, max_tokens=200)
    (choice,) = client.post(URL, json=asked).json()["choices"]
    odds = choice["logprobs"]["content"]
    assert [one["token"] for one in odds] == ANSWER
    assert all(len(one["top_logprobs"]) == 2 for one in odds)
    _, found = streamed(client, asked)
    pieces = [c["logprobs"]["content"] for e in found for c in e["choices"] if c.get("logprobs")]
    assert [one for piece in pieces for one in piece] == odds


def test_a_model_without_a_thinking_mode_gets_what_was_sent() -> None:
    stub = Stub(thought=0)
    with app_running(stub) as upstream, gateway_running(f"{upstream}/v1") as (address, _):
        stub.bodies.clear()
        for more in ({}, {"tools": [TOOL]}, {"model": "stub+nothink"}):
            found = Client(address).post(URL, json=body(max_tokens=500, **more) | more).json()
            assert found["thinkcap"]["policy"] == "nothink"
        plain, tools, named = stub.bodies
    assert plain["messages"] == tools["messages"] == body()["messages"]
    assert tools["tools"] == [TOOL]
    assert "chat_template_kwargs" not in plain
    assert "without thinking aloud" in named["messages"][-1]["content"]


PICTURE = [
    {"type": "text", "text": "What is on it?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["stub", "stub+two_pass"])
def test_images_go_to_a_server_that_takes_them(client: Client, stub: Stub, model: str, stream: bool) -> None:
    asked = body(model=model, max_tokens=200, stream=stream, messages=[{"role": "user", "content": PICTURE}])
    assert client.post(URL, json=asked).status_code == 200
    assert len(stub.bodies) == (2 if "+" in model else 1)
    for sent in stub.bodies:
        # Our own line of an answer pass may follow; nothing the caller sent is missing.
        assert sent["messages"][-1]["content"][:2] == PICTURE


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["stub", "stub+two_pass"])
def test_images_a_server_cannot_read_are_a_400_in_its_words(stream: bool, model: str) -> None:
    with app_running(Stub(images=False)) as upstream, gateway_running(f"{upstream}/v1") as (address, _):
        asked = body(model=model, max_tokens=200, stream=stream, messages=[{"role": "user", "content": PICTURE}])
        reply = Client(address).post(URL, json=asked)
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "unsupported"
    assert "image input is not supported" in reply.json()["error"]["message"]


def test_a_response_format_says_whether_the_json_is_whole(client: Client) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    assert client.post(URL, json=body(response_format=wanted)).json()["thinkcap"]["json_complete"] is False
    _, found = streamed(client, body(response_format=wanted))
    assert found[-1]["thinkcap"]["json_complete"] is False


@pytest.mark.parametrize("fault", ["kill", "500"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["stub", "stub+two_pass"])
def test_a_failure_before_the_first_byte_is_tried_again(
    client: Client, stub: Stub, fault: str, stream: bool, model: str
) -> None:
    stub.faults.append(fault)
    reply = client.post(URL, json=body(model=model, stream=stream))
    assert reply.status_code == 200, reply.text
    assert "42" in reply.text


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("kill", 502, "upstream_unreachable"),
        ("500", 502, "upstream_failed"),
        ("400", 400, "context_length_exceeded"),
        ("429", 429, "upstream_busy"),
        ("garbage", 502, "upstream_garbled"),
        ("html", 502, "upstream_garbled"),
        ("half", 502, "upstream_unreachable"),
    ],
)
def test_failures_have_names(client: Client, fault: str, status: int, code: str) -> None:
    reply = client.post(URL, json=body(f"fault:{fault}"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    if fault == "429":
        assert reply.headers["retry-after"] == "7"


def test_an_answer_that_never_comes_is_a_504(opened: tuple[str, Gateway]) -> None:
    address, gateway = opened
    with hurried(gateway, request_timeout_s=1.0):
        reply = Client(address).post(URL, json=body("fault:stall"))
    assert (reply.status_code, reply.json()["error"]["code"]) == (504, "request_timeout")


@pytest.mark.parametrize(
    "fault",
    [
        "stall",
        "reset",
        "half",
        "garbage",
        "badjson",
        "error",
        "null",
        "types",
        "surrogate",
        "deep",
        "endless",
        "nofinish",
    ],
)
@pytest.mark.parametrize("model", ["stub", "stub+think", "stub+close(reserve=40)"])
def test_a_broken_stream_ends_with_an_error_event(client: Client, hasty: Client, fault: str, model: str) -> None:
    status, found = streamed(hasty if fault == "stall" else client, body(f"fault:{fault}", model=model))
    assert status in (200, 502, 504)
    if fault in ("garbage", "surrogate"):
        # Bytes that are no text cost one character, not the answer.
        text = joined(found, "content").replace("\ufffd", " ").replace("?", " ")
        assert " ".join(text.split()) == TEXT
        return
    assert found[-1]["error"]["code"].startswith("upstream"), found[-1]


def test_comments_line_ends_and_other_fields_do_no_harm(client: Client) -> None:
    status, found = streamed(client, body("fault:comments"))
    assert status == 200
    assert joined(found, "content") == TEXT


def test_a_server_that_writes_beyond_its_limit_is_hung_up_on(client: Client) -> None:
    _, found = streamed(client, body("fault:over", model="stub+think", max_tokens=6))
    assert found[-1]["choices"][0]["finish_reason"] == "length"
    assert len(found) < len(THOUGHT) + len(ANSWER)
    assert found[-1]["thinkcap"]["over_cap"] > 0


@pytest.mark.parametrize("model", ["stub", "stub+no_trace", "stub+think"])
def test_an_answer_beyond_its_limit_is_cut_to_what_fits_and_says_so(
    client: Client, stub: Stub, model: str
) -> None:
    stub.faults.append("over")
    cap = 3 if model != "stub+think" else 19
    reply = client.post(URL, json=body(model=model, max_tokens=cap)).json()
    choice = reply["choices"][0]
    assert TEXT.startswith(choice["message"]["content"])
    assert len(choice["message"]["content"]) < len(TEXT)
    assert choice["finish_reason"] == "length"
    assert reply["thinkcap"]["complete"] is False
    assert reply["thinkcap"]["over_cap"] == len(ANSWER) + 1 + (len(THOUGHT) if cap == 19 else 0) - cap
    assert "cap_not_held" in client.get("/metrics").text


def test_behind_another_gateway_there_is_one_thinkcap_field(stub: Stub) -> None:
    with (
        app_running(stub) as upstream,
        gateway_running(f"{upstream}/v1") as (inner, _),
        gateway_running(f"{inner}#stub") as (outer, _),
    ):
        whole = Client(outer).post(URL, json=body())
        assert whole.text.count('"thinkcap"') == 1
        assert whole.json()["thinkcap"]["cap"] == body()["max_tokens"]
        status, found = streamed(Client(outer), body())
        assert status == 200
        assert sum("thinkcap" in event for event in found) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["stub", "stub+two_pass"])
def test_a_client_that_leaves_ends_the_work_upstream(client: Client, stub: Stub, stream: bool, model: str) -> None:
    stub.delay_s, before = 3600.0, stub.cancelled
    try:
        host, port = client.base.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as wire:
            sent = json.dumps(body(model=model, stream=stream)).encode()
            head = f"POST {URL} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(sent)}\r\n\r\n".encode()
            wire.sendall(head + sent)
            until(lambda: stub.active > 0)
        until(lambda: stub.cancelled > before and stub.active == 0)
    finally:
        stub.delay_s = 0.0


def test_configured_paths_are_forwarded_and_others_refused(client: Client) -> None:
    assert client.post("/v1/embeddings", json={"input": "x"}).json()["data"][0]["embedding"] == [0.5]
    assert client.post("/v1/moderations", json={}).json()["error"]["code"] == "path_not_offered"


def test_unknown_fields_are_forwarded_only_where_the_operator_says_so(stub: Stub) -> None:
    with app_running(stub) as upstream, gateway_running(f"{upstream}/v1", forward_unknown=True) as (address, _):
        stub.bodies.clear()
        Client(address).post(URL, json=body(min_p=0.1))
        assert stub.bodies[-1]["min_p"] == 0.1
        Client(address).post(URL, json=body(min_p=0.2, model="stub+two_pass"))
        assert stub.bodies[-1]["min_p"] == 0.2


def test_many_requests_and_faults_at_once_all_end(client: Client, stub: Stub) -> None:
    """Around some that have fallen silent for as long as it takes."""
    faults = ["", "", "kill", "reset", "half", "badjson", "error", "500"]

    def one(number: int) -> str:
        fault = faults[number % len(faults)]
        request = body(f"fault:{fault}" if fault else "2?", model="stub+think" if number % 2 else "stub")
        status, found = streamed(client_of(), request)
        return "error" if status != 200 or "error" in found[-1] else joined(found, "content")

    def client_of() -> Client:
        return Client(client.base)

    def silent(number: int) -> requests.Response:
        asked = body("fault:stall", model="stub+think" if number % 2 else "stub", stream=True)
        return client_of().post(URL, json=asked, stream=True)

    with ExitStack() as stack:
        for number in range(10):
            stack.enter_context(silent(number))
        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(one, range(80)))
        assert stub.active == 10
    for number, result in enumerate(results):
        assert result == ("error" if faults[number % len(faults)] else TEXT)
    until(lambda: stub.active == 0)
    until(lambda: "thinkcap_in_flight 0.0" in client.get("/metrics").text)
