"""Every knob means something or is refused, and budgets survive loops, a full context and speculative steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import Client, gateway_before, gateway_running
from tool_server import TOOL, ToolServer

from thinkcap.engines.scripted import QUIET, ScriptedEngine
from thinkcap.gateway.call import Call, Wishes
from thinkcap.gateway.effort import SHARES, level, limit

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
ASKED = [{"role": "user", "content": "Well?"}]


@contextmanager
def serving(kind: Any, **more: Any) -> Iterator[tuple[Client, ToolServer]]:
    server = ToolServer(kind, **more)
    with gateway_before(server) as address:
        yield Client(address), server


def chat(client: Client, cap: int | None, **more: Any) -> dict[str, Any]:
    bound = {} if cap is None else {"max_tokens": cap}
    reply = client.post(CHAT, json={"model": "m", "messages": ASKED, **bound, **more})
    found: dict[str, Any] = reply.json()
    assert reply.status_code == 200, found
    return found


@given(
    cap=st.integers(1, 10**6),
    kept=st.none() | st.integers(1, 10**6),
    levels=st.sampled_from([(), ("low", "high")]),
)
def test_more_effort_never_allows_fewer_tokens(cap: int, kept: int | None, levels: tuple[str, ...]) -> None:
    calls = [Call("m", (), wishes=Wishes(answer_tokens=kept), effort=effort) for effort in SHARES]
    found = [limit(call, cap, levels) for call in calls]
    assert all(a is not None and b is not None and a <= b for a, b in pairwise(found))
    assert all(one is not None and 0 <= one < max(cap, 1) + (cap == 1) for one in found)
    if kept is not None:
        assert all(one is not None and one + kept <= max(cap, kept) for one in found)


@given(levels=st.lists(st.text("abc", min_size=1), min_size=1, max_size=5, unique=True))
def test_more_effort_never_is_a_lower_level(levels: list[str]) -> None:
    found = [levels.index(level(effort, levels)) for effort in SHARES]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (0, len(levels) - 1)


def test_an_effort_of_the_models_own_name_is_that_level() -> None:
    known = ("low", "medium", "high")
    assert [level(e, known) for e in SHARES] == ["low", "low", "medium", "high", "high", "high"]
    assert level("medium", ()) == level(None, known) == ""


def test_answer_tokens_are_kept_from_the_thought() -> None:
    with serving("llama") as (client, _):
        kept = chat(client, 400, thinkcap={"answer_tokens": 300})
        none = chat(client, 400, thinkcap={"answer_tokens": 400})
    assert kept["thinkcap"]["stages"][0]["tokens"] == 100
    assert kept["choices"][0]["message"]["content"] == "Plain."
    assert none["thinkcap"]["policy"] == "nothink"


WISHES: dict[str, Any] = {
    "top_k": 7,
    "min_p": 0.1,
    "presence_penalty": 0.5,
    "frequency_penalty": 0.25,
    "repetition_penalty": 1.1,
    "logit_bias": {"65": 2.0},
}


@pytest.mark.parametrize("kind", ["llama", "vllm", "chat"])
@pytest.mark.parametrize("policy", ["nothink", "two_pass"])
def test_wishes_reach_the_server(kind: Any, policy: str) -> None:
    with serving(kind, thought="so") as (client, server):
        chat(client, 400, model=f"m+{policy}", **WISHES)
        sent = [body for path, body in server.bodies if path.endswith(("completion", "completions"))][-1]
    renamed = {"repetition_penalty": "repeat_penalty"} if kind == "llama" and policy != "nothink" else {}
    greedy = {"top_k": 1} if renamed else {}
    assert {name: sent[renamed.get(name, name)] for name in WISHES} == {**WISHES, **greedy}


@pytest.mark.parametrize("wish", [{"prediction": {"type": "content", "content": "x"}}, {"verbosity": "low"}])
def test_what_ids_cannot_carry_is_refused_by_name(wish: dict[str, Any]) -> None:
    (name,) = wish
    with serving("llama", thought="so") as (client, server):
        refused = client.post(CHAT, json={"model": "m+close", "messages": ASKED, "max_tokens": 400, **wish})
        chat(client, 400, model="m+nothink", **wish)
        assert server.bodies[-1][1][name] == wish[name]
    assert refused.status_code == 400
    assert f"'{name}'" in refused.json()["error"]["message"]


@pytest.mark.parametrize("tools", [[], [TOOL]])
def test_a_nearly_full_context_shrinks_the_cap_and_says_so(tools: list[Any]) -> None:
    with serving("llama", context=500) as (client, _):
        found = chat(client, 5000, tools=tools)["thinkcap"]
        near = client.post(CHAT, json={"model": "m", "messages": [{"role": "user", "content": "x" * 460}]})
        full = {"model": "m", "messages": [{"role": "user", "content": "x" * 490}], "max_tokens": 20}
        refused = [client.post(CHAT, json={**full, "model": m}) for m in ("m", "m+close")]
    assert 400 < found["cap"] < 500
    assert found["cap_asked"] == 5000
    assert found["tokens"] <= found["cap"]
    assert near.json()["thinkcap"]["cap"] < 30
    assert "cap_asked" not in near.json()["thinkcap"], "nobody asked for a cap"
    assert [r.json()["error"]["code"] for r in refused] == ["context_length_exceeded"] * 2


@pytest.mark.parametrize("kind", ["vllm", "chat"])
def test_a_repetition_is_an_end_like_any_other(kind: Any) -> None:
    with serving(kind, finish="repetition") as (client, _):
        closed = chat(client, 400, model="m+two_pass")
        cut = chat(client, 4, model="m+nothink")
        streamed = client.post(
            CHAT, json={"model": "m+nothink", "messages": ASKED, "max_tokens": 4, "stream": True}
        )
    assert closed["choices"][0]["message"]["content"] == "Plain."
    assert closed["thinkcap"]["stages"][0]["repeats"] is True
    assert (cut["choices"][0]["finish_reason"], cut["thinkcap"]["complete"]) == ("length", False)
    assert cut["thinkcap"]["stages"][0]["repeats"] is True
    assert '"finish_reason":"length"' in streamed.text
    assert '"repetition"' not in streamed.text


@pytest.mark.parametrize("step", [1, 4, 7])
@pytest.mark.parametrize("over", [0, 3])
def test_speculative_steps_pass_no_budget(step: int, over: int) -> None:
    """Several tokens come with each step, and the last step may pass the limit: budgets hold all the same."""
    with serving("vllm", step=step, over=over) as (client, _):
        for stream in (False, True):
            for budget in (10, 33, 50):
                body = {"model": "m", "messages": ASKED, "max_tokens": 300, "stream": stream}
                body |= {"thinking_token_budget": budget, "stream_options": {"include_usage": True}}
                if not stream:
                    del body["stream_options"]
                reply = client.post(CHAT, json=body)
                assert reply.status_code == 200, reply.text
                if stream:
                    assert f'"reasoning_tokens":{budget},' in reply.text
                    continue
                about = reply.json()["thinkcap"]
                assert about["stages"][0]["tokens"] == budget
                assert about["tokens"] <= 300
                assert about.get("over_cap", 0) == over


def test_a_thought_in_circles_is_ended_long_before_its_cap() -> None:
    def script(prompt: str) -> str:
        said = prompt.rpartition("[assistant]")[2]
        if prompt.endswith(QUIET) or "</think>" in said:
            return "42"
        return "<think>" + "so it is 42, but wait, is it 42? " * 400 + "</think>42"

    with gateway_running(ScriptedEngine(script)) as (address, _):
        body = {"model": "scripted", "messages": ASKED, "max_tokens": 8000}
        found = Client(address).post(CHAT, json=body).json()
        short = Client(address).post(CHAT, json={**body, "max_tokens": 1000}).json()
    assert found["thinkcap"]["policy"] == "stop(answer=1000)"
    assert found["thinkcap"]["tokens"] < 1200
    assert found["choices"][0]["message"]["content"] == "42"
    assert short["thinkcap"]["policy"] == "close"


def test_responses_speak_of_max_output_tokens() -> None:
    with serving("llama") as (client, _):
        body = {"model": "m+think", "input": "Well?", "max_output_tokens": 9}
        error = client.post(RESPONSES, json=body).json()["error"]
    assert error["param"] == "max_output_tokens"
    assert error["message"].startswith("max_output_tokens of 9")


@pytest.mark.parametrize("policy", ["nothink", "close"])
def test_a_stream_of_messages_begins_with_the_length_of_its_prompt(policy: str) -> None:
    with serving("llama", thought="so") as (client, _):
        body = {"model": f"m+{policy}", "messages": ASKED, "max_tokens": 300}
        start = client.post(MESSAGES, json={**body, "stream": True}).text.partition("\n\n")[0]
        count = client.post(f"{MESSAGES}/count_tokens", json={"model": "m", "messages": ASKED}).json()
    assert count["input_tokens"] > 0
    assert f'"input_tokens":{count["input_tokens"]}' in start


def test_tools_that_run_elsewhere_are_ignored_and_named_unless_forced() -> None:
    search = {"type": "web_search"}
    function = {"type": "function", **TOOL["function"]}
    ours = {"name": "look_up", "input_schema": TOOL["function"]["parameters"]}
    theirs = {"type": "web_search_20250305", "name": "web_search"}
    with serving("llama", thought="so") as (client, _):
        asked = {"model": "m", "input": "Well?", "max_output_tokens": 300, "tools": [search, function]}
        reply = client.post(RESPONSES, json=asked).json()
        forced = client.post(RESPONSES, json={**asked, "tool_choice": {"type": "web_search"}}).json()
        said = {"model": "m", "messages": ASKED, "max_tokens": 300, "tools": [theirs, ours]}
        message = client.post(MESSAGES, json=said).json()
        named = {"type": "tool", "name": "web_search"}
        refused = client.post(MESSAGES, json={**said, "tool_choice": named}).json()
    assert reply["thinkcap"]["ignored"] == ["tool web_search"]
    assert [item["type"] for item in reply["output"]] == ["reasoning", "function_call"]
    assert forced["error"]["param"] == "tool_choice"
    assert "web_search" in forced["error"]["message"]
    assert message["thinkcap"]["ignored"] == ["tool web_search_20250305"]
    assert message["stop_reason"] == "tool_use"
    assert "web_search" in refused["error"]["message"]
