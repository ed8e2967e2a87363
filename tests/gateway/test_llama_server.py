"""The gateway in front of a real llama-server: token ids, the short way, caps against the context, tools."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from running import Client, gateway_running

from thinkcap.engines.llamacpp import start_server
from thinkcap.model import pebble_gguf

KEY = "sk-upstream"
QUESTION = "What is (12 + 7) * 3?\nSolve it, then end with: #### number"
URL = "/v1/chat/completions"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKCAP_API_KEY", KEY)
        server: list[Any] = [start_server(pebble_gguf(), 1024, 4, 1, KEY)]
        models = [{"model": f"{server[0].listening_address}/v1", "name": "pebble"}]
        with gateway_running(models=models) as (address, _):
            yield address
        server.clear()


def body(**more: Any) -> dict[str, Any]:
    return {"model": "pebble", "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 400, **more}


@pytest.mark.parametrize("policy", ["nothink", "think", "close", "iris", "two_pass"])
@pytest.mark.parametrize("cap", [24, 400])
def test_every_policy_holds_its_cap_and_streams_what_it_says(address: str, policy: str, cap: int) -> None:
    client = openai.OpenAI(base_url=address, api_key="x", max_retries=0)
    asked: Any = body(model=f"pebble+{policy}", max_tokens=cap)
    if (policy, cap) == ("think", 24):
        with pytest.raises(openai.BadRequestError, match="before there was any answer"):
            client.chat.completions.create(**asked)
        return
    whole = client.chat.completions.create(**asked)
    assert whole.usage is not None
    assert whole.usage.completion_tokens <= cap
    content, thought = "", ""
    for chunk in client.chat.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            content += choice.delta.content or ""
            thought += getattr(choice.delta, "reasoning_content", None) or ""
    assert content == whole.choices[0].message.content
    assert thought == (getattr(whole.choices[0].message, "reasoning_content", None) or "")


def test_truncated_streams_are_no_failures_of_the_server(address: str) -> None:
    """The server closes the connection behind every stream, which the next pass must not meet."""
    client = Client(address)
    for _ in range(5):
        reply = client.post(URL, json=body(model="pebble+split(think=8)", stream=True))
        assert reply.text.endswith("data: [DONE]\n\n")
    counts = client.get("/metrics").text
    assert 'outcome="ok"' in counts
    assert "upstream_unreachable" not in counts
    assert "thinkcap_retries_total 0" in counts or "thinkcap_retries_total" not in counts


def test_a_full_context_is_a_400_on_both_ways_and_a_cap_beyond_it_shrinks(address: str) -> None:
    client = Client(address)
    long = "word " * 900
    for model in ("pebble", "pebble+close"):
        change: Any = {"messages": [{"role": "user", "content": long}], "max_tokens": 600}
        reply = client.post(URL, json=body(model=model) | change)
        assert reply.status_code == 400, (model, reply.text)
        assert reply.json()["error"]["code"] == "context_length_exceeded"
        assert "1024" in reply.json()["error"]["message"]
        shrunk = client.post(URL, json=body(model=model, max_tokens=2000)).json()["thinkcap"]
        assert shrunk["cap"] < 1024 < shrunk["cap_asked"] == 2000
    # Without a cap of the caller's, the default one gives way.
    request = body(model="pebble+nothink", messages=[{"role": "user", "content": "word " * 300 + QUESTION}])
    del request["max_tokens"]
    reply = client.post(URL, json=request)
    assert reply.status_code == 200, reply.text
    assert reply.json()["thinkcap"]["cap"] < 1024


def test_json_by_the_short_way_and_by_ids(address: str) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "boolean"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    for policy in ("nothink", "close", "two_pass"):
        reply = Client(address).post(URL, json=body(model=f"pebble+{policy}", response_format=form)).json()
        about = reply["thinkcap"]
        assert about["json_complete"] == (reply["choices"][0]["finish_reason"] == "stop"), (policy, reply)
        if about["json_complete"]:
            assert json.loads(reply["choices"][0]["message"]["content"]).keys() == {"n"}


@pytest.mark.parametrize("policy", ["nothink", "close"])
@pytest.mark.parametrize("stream", [False, True])
def test_logprobs_by_the_short_way_and_by_ids(address: str, policy: str, stream: bool) -> None:
    client = openai.OpenAI(base_url=address, api_key="x", max_retries=0)
    asked: Any = body(model=f"pebble+{policy}", logprobs=True)
    if stream:
        chunks = [c for chunk in client.chat.completions.create(**asked, stream=True) for c in chunk.choices]
        content = "".join(c.delta.content or "" for c in chunks)
        odds = [one for c in chunks if c.logprobs for one in c.logprobs.content or ()]
    else:
        (choice,) = client.chat.completions.create(**asked).choices
        content = choice.message.content or ""
        assert choice.logprobs is not None
        odds = choice.logprobs.content or []
    assert content
    assert bytes(b for one in odds for b in one.bytes or ()).decode().lstrip("\n") == content


@pytest.mark.parametrize("stream", [False, True])
def test_an_image_reaches_the_server_whose_refusal_is_a_400(address: str, stream: bool) -> None:
    """Also where the default policy would ask by ids, and where the picture has more bytes than the context."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}
    messages = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, picture]}]
    reply = Client(address).post(URL, json=body(messages=messages, stream=stream))
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "unsupported"
    assert "image input is not supported" in reply.json()["error"]["message"]
    reply = Client(address).post(URL, json=body(model="pebble+close", messages=messages, stream=stream))
    assert "takes text only here, not image_url" in reply.json()["error"]["message"]


TOOL_MODEL = os.environ.get("THINKCAP_TOOL_MODEL", "")


OSLO: list[Any] = [{"role": "user", "content": "What is the weather in Oslo?"}]
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@pytest.mark.slow
@pytest.mark.skipif(not TOOL_MODEL, reason="THINKCAP_TOOL_MODEL names no GGUF of a model that calls tools")
def test_tools_of_a_real_instruct_model() -> None:
    """Qwen2.5-Coder-1.5B-Instruct, say, whose calls stand between tags; what the server reads comes through.

    Left to itself it writes its calls in a code block, which llama.cpp hands on as content; `required` keeps the
    answer from ending before a call but lets text come first. A push towards the opening tag, strong enough to
    begin with it and too weak to repeat it at once, makes it a call that llama.cpp's grammar binds and its parser
    reads. The cap ends it before the push makes it call again.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THINKCAP_API_KEY", KEY)
        server: list[Any] = [start_server(Path(TOOL_MODEL), 2048, 1, 2, KEY)]
        upstream = Client(server[0].listening_address, Authorization=f"Bearer {KEY}")
        (tag,) = upstream.post("/tokenize", json={"content": "<tool_call>", "parse_special": True}).json()[
            "tokens"
        ]
        free: Any = {"messages": OSLO, "tools": [WEATHER], "max_tokens": 40, "temperature": 0}
        pushed: Any = {**free, "max_tokens": 24, "tool_choice": "required", "logit_bias": {str(tag): 23.5}}
        plain, own = (upstream.post(URL, json=asked).json()["choices"][0] for asked in (free, pushed))
        with gateway_running(models=[{"model": f"{server[0].listening_address}/v1", "name": "m"}]) as (address, _):
            client = openai.OpenAI(base_url=address, api_key="x", max_retries=0, timeout=600)
            text = client.chat.completions.create(model="m", **free).choices[0]
            whole = client.chat.completions.create(model="m", **pushed)
            chunks = list(client.chat.completions.create(model="m", **pushed, stream=True))
            (call,) = whole.choices[0].message.tool_calls or ()
            told = [
                *OSLO,
                {"role": "assistant", "content": "", "tool_calls": [call.model_dump()]},
                {"role": "tool", "tool_call_id": call.id, "content": "snow, minus 7 degrees"},
            ]
            answer = client.chat.completions.create(model="m", messages=told, tools=[WEATHER], max_tokens=40)
        server.clear()
    assert (text.message.content, text.finish_reason) == (plain["message"]["content"], plain["finish_reason"])
    assert "weather" in (text.message.content or "")
    assert (call.type, call.function.name) == ("function", "weather")
    assert json.loads(call.function.arguments) == {"city": "Oslo"}
    (given,) = own["message"]["tool_calls"]
    assert call.function.arguments == given["function"]["arguments"]
    assert whole.choices[0].finish_reason == own["finish_reason"]
    assert (whole.model_extra or {})["thinkcap"]["chosen_by"] == "tools"
    assert whole.usage is not None
    assert whole.usage.completion_tokens <= 24
    pieces = [piece.function for chunk in chunks for c in chunk.choices for piece in c.delta.tool_calls or ()]
    assert [f.name for f in pieces if f and f.name] == ["weather"]
    assert json.loads("".join(f.arguments or "" for f in pieces if f)) == {"city": "Oslo"}
    assert "7" in (answer.choices[0].message.content or "")


def test_tools_are_refused_by_name_where_the_template_has_none(address: str) -> None:
    for model in ("pebble", "pebble+close"):
        reply = Client(address).post(URL, json=body(model=model, tools=[WEATHER]))
        assert reply.status_code == 400, reply.text
        assert "tools" in reply.json()["error"]["message"]
