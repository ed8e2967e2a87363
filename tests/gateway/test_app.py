"""The gateway over a scripted engine: the cap, the wire, the stream, and what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import Client, gateway_running

from thinkcap.core.errors import EngineRefused, EngineUnreachable
from thinkcap.engines.scripted import QUIET, ScriptedEngine
from thinkcap.policies.registry import POLICIES

URL = "/v1/chat/completions"


def script(prompt: str) -> Any:
    asked = prompt.rpartition("[user]")[2]
    if "break now" in asked:
        return EngineUnreachable("http://10.0.0.9:8000/completion closed the connection")
    if "no thanks" in asked:
        return EngineRefused("http://10.0.0.9:8000/completion said 400: bad grammar", 400)
    if "stay silent" in asked:
        return ""
    if "[assistant]" + QUIET in prompt:
        return "\0" + "a" * 3 if "endless" in asked else '{"n": 42}' if "json" in asked else "It is 42."
    return "<think>" + "so " * 20 + "</think>It is 42."


@pytest.fixture(scope="module")
def engine() -> ScriptedEngine:
    return ScriptedEngine(script)


@pytest.fixture(scope="module")
def client(engine: ScriptedEngine) -> Iterator[Client]:
    with gateway_running(engine) as (address, _):
        yield Client(address)


def body(text: str = "2?", **more: Any) -> dict[str, Any]:
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], **more}


def events(client: Client, request: dict[str, Any]) -> list[Any]:
    response = client.post(URL, json={**request, "stream": True})
    assert response.status_code == 200, response.text
    lines = [line for line in response.text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line[6:]) for line in lines[:-1]]


def joined(found: list[Any], name: str) -> str:
    return "".join(c["delta"].get(name) or "" for e in found for c in e["choices"])


def test_small_caps_are_answered_without_thinking(client: Client) -> None:
    reply = client.post(URL, json=body(max_tokens=64))
    found = reply.json()
    assert found["choices"][0]["message"] == {"role": "assistant", "content": "It is 42."}
    assert found["choices"][0]["finish_reason"] == "stop"
    assert found["usage"]["completion_tokens"] == 10
    assert found["thinkcap"]["policy"] == "nothink"
    assert found["thinkcap"]["chosen_by"] == "default"
    assert reply.headers["x-thinkcap"].startswith("policy=nothink; chosen_by=default; cap=64; tokens=10")


def test_from_the_threshold_on_it_thinks_and_closes(client: Client) -> None:
    found = client.post(URL, json=body(max_completion_tokens=300)).json()
    message = found["choices"][0]["message"]
    assert message["content"] == "It is 42."
    assert message["reasoning_content"].startswith("so so")
    assert found["thinkcap"]["policy"] == "close"
    assert found["usage"]["completion_tokens_details"]["reasoning_tokens"] == 62


def test_a_cut_thought_is_closed_and_the_report_says_so(client: Client) -> None:
    found = client.post(URL, json=body(max_tokens=40, model="scripted+close")).json()
    report = found["thinkcap"]
    assert [s["stage"] for s in report["stages"]] == ["think", "close"]
    assert report["chosen_by"] == "request"
    assert report["stages"][1]["forced_tokens"] > 0
    assert (
        sum(s["tokens"] for s in report["stages"]) == report["tokens"] == found["usage"]["completion_tokens"] <= 40
    )


def test_the_smaller_of_two_caps_holds(client: Client) -> None:
    found = client.post(URL, json=body(max_tokens=300, max_completion_tokens=5)).json()
    assert found["thinkcap"]["cap"] == 5
    assert found["choices"][0]["finish_reason"] == "length"
    assert found["choices"][0]["message"]["content"] == "It is"


SERVABLE = [name for name in POLICIES if name != "placebo"]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(policy=st.sampled_from(SERVABLE), cap=st.integers(1, 400), stream=st.booleans(), n=st.integers(1, 3))
def test_the_sum_of_all_passes_never_exceeds_the_cap(
    client: Client, engine: ScriptedEngine, policy: str, cap: int, stream: bool, n: int
) -> None:
    request = body(max_tokens=cap, n=n, thinkcap={"policy": policy, "kind": "number"})
    before = engine.generated
    if stream:
        reply = client.post(URL, json={**request, "stream": True})
        datas = [line[6:] for line in reply.text.splitlines() if line.startswith("data: {")]
        last = json.loads(datas[-1]) if datas else reply.json()
    else:
        reply = client.post(URL, json=request)
        last = reply.json()
    assert engine.generated - before <= cap * n
    if reply.status_code == 200 and "error" not in last:
        one = last["thinkcap"]["choices"] if n > 1 else [last["thinkcap"]]
        assert all(c["tokens"] <= cap for c in one)
    else:
        assert last["error"]["code"] in ("answer_not_reached", "empty_answer"), last


def test_streaming_gives_thought_then_answer_then_what_happened(client: Client) -> None:
    found = events(client, body(max_tokens=300, stream_options={"include_usage": True}))
    assert found[0]["choices"][0]["delta"]["role"] == "assistant"
    assert joined(found, "reasoning_content").startswith("so so")
    assert joined(found, "content") == "It is 42."
    assert found[-1]["choices"] == []
    assert found[-1]["usage"]["completion_tokens"] == found[-2]["thinkcap"]["tokens"]
    assert found[-2]["choices"][0]["finish_reason"] == "stop"
    kinds = ["t" if "reasoning_content" in e["choices"][0]["delta"] else "a" for e in found[1:-2]]
    assert kinds == sorted(kinds, reverse=True)


def test_a_hidden_probe_that_is_final_is_streamed_at_once(client: Client) -> None:
    found = events(client, body(max_tokens=400, model="scripted+iris"))
    assert joined(found, "content") == "It is 42."
    assert joined(found, "reasoning_content") == ""
    assert found[-1]["thinkcap"]["answered_by"] == "probe"


def test_streamed_and_whole_answers_are_the_same(client: Client) -> None:
    for policy in ("nothink", "think", "close", "two_pass", "iris", "generous"):
        for cap in (20, 60, 300):
            request = body(max_tokens=cap, thinkcap={"policy": policy})
            whole = client.post(URL, json=request).json()
            streamed = client.post(URL, json={**request, "stream": True})
            if "error" in whole:
                assert "answer_not_reached" in streamed.text
                continue
            found = [json.loads(x[6:]) for x in streamed.text.splitlines() if x.startswith("data: {")]
            assert joined(found, "content") == whole["choices"][0]["message"]["content"], (policy, cap)
            assert found[-1]["thinkcap"] == whole["thinkcap"]


def test_trials_are_charged_and_never_shown() -> None:
    """A thought of lines; after a forced close the model says 41, and says so surely."""

    def lines(prompt: str) -> str:
        turn = prompt.rpartition("[assistant]")[2]
        return "41\n" if "</think>" in turn else "<think>" + "one step\n" * 6 + "</think>#### 42"

    request = body(max_tokens=400, thinkcap={"policy": "settle(at=line,last=9)", "kind": "number"})
    with gateway_running(ScriptedEngine(lines)) as (address, _):
        found = events(Client(address), {**request, "stream_options": {"include_usage": True}})
    about, usage = found[-2]["thinkcap"], found[-1]["usage"]
    assert joined(found, "content") == "#### 42"
    assert joined(found, "reasoning_content") == "one step\n" * 5 + "one step"
    tried = [stage["tokens"] for stage in about["stages"] if stage["stage"] == "trial"]
    assert (about["trials"], about["trial_tokens"]) == (len(tried), sum(tried)) == (6, sum(tried))
    assert usage["completion_tokens"] == about["tokens"] <= 400


@pytest.mark.parametrize(
    ("wish", "names"),
    [
        ("upstream", {"reasoning_content"}),
        ("reasoning", {"reasoning"}),
        ("both", {"reasoning", "reasoning_content"}),
    ],
)
def test_reasoning_comes_under_the_names_asked_for(client: Client, wish: str, names: set[str]) -> None:
    request = body(max_tokens=300, thinkcap={"reasoning_field": wish})
    message = client.post(URL, json=request).json()["choices"][0]["message"]
    assert message.keys() - {"role", "content"} == names
    found = events(client, request)
    seen = {k for e in found for c in e["choices"] for k in c["delta"]} - {"role", "content"}
    assert seen == names


def test_several_choices_each_have_the_cap(client: Client) -> None:
    found = client.post(URL, json=body(max_tokens=20, n=3)).json()
    assert [c["index"] for c in found["choices"]] == [0, 1, 2]
    assert found["usage"]["completion_tokens"] == 30
    assert [c["tokens"] for c in found["thinkcap"]["choices"]] == [10, 10, 10]


def test_a_stop_word_ends_the_answer_and_holds_back_halves(client: Client) -> None:
    for request in (body(max_tokens=300, stop=[" 4"]), body(max_tokens=64, stop=" 4")):
        assert client.post(URL, json=request).json()["choices"][0]["message"]["content"] == "It is"
        found = events(client, request)
        assert joined(found, "content") == "It is"
        assert found[-1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("stream", [False, True])
def test_no_answer_is_an_error_and_never_an_empty_200(client: Client, stream: bool) -> None:
    reply = client.post(URL, json=body("stay silent", max_tokens=50, stream=stream))
    assert reply.status_code == 502
    assert reply.json()["error"]["code"] == "empty_answer"
    reply = client.post(URL, json=body(max_tokens=30, model="scripted+think"))
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "answer_not_reached"
    assert reply.json()["error"]["param"] == "max_tokens"


def test_after_the_headers_no_answer_is_an_error_event(client: Client) -> None:
    reply = client.post(URL, json=body(max_tokens=30, model="scripted+think", stream=True))
    assert reply.status_code == 200
    last = [line for line in reply.text.splitlines() if line.startswith("data: ")][-1]
    assert json.loads(last[6:])["error"]["code"] == "answer_not_reached"
    assert "[DONE]" not in reply.text


@pytest.mark.parametrize("stream", [False, True])
def test_upstream_errors_are_openai_errors_without_addresses(client: Client, stream: bool) -> None:
    reply = client.post(URL, json=body("break now", stream=stream))
    assert reply.status_code == 502
    assert reply.json()["error"]["code"] == "upstream_unreachable"
    assert "10.0.0.9" not in reply.text
    reply = client.post(URL, json=body("no thanks", stream=stream))
    assert reply.status_code == 400
    assert "bad grammar" in reply.json()["error"]["message"]


F: dict[str, Any] = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"max_token": 5}, "unknown_field", "did you mean 'max_tokens'"),
        ({"max_tokens": 0}, "invalid_value", "max_tokens"),
        ({"max_tokens": "5"}, "invalid_value", "max_tokens"),
        ({"temperature": 3}, "invalid_value", "temperature"),
        ({"messages": []}, "invalid_value", "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "invalid_value", "role"),
        ({"thinkcap": {"polcy": "iris"}}, "invalid_value", "polcy"),
        ({"thinkcap": {"policy": "iriss"}}, "unknown_policy", "did you mean 'iris'"),
        ({"thinkcap": {"policy": "os:getcwd"}}, "unknown_policy", "os:getcwd"),
        ({"thinkcap": {"policy": "placebo"}}, "unsupported", "placebo"),
        ({"thinkcap": {"policy": "vote"}}, "kind_needed", "thinkcap.kind"),
        ({"thinkcap": {"policy": "vote(samples=1000000)", "kind": "number"}}, "invalid_value", "samples"),
        ({"thinkcap": {"policy": "iris", "options": {"first": -1}}}, "invalid_value", "first"),
        ({"thinkcap": {"policy": "iris", "options": {"prompts": "x"}}}, "invalid_value", "prompts"),
        ({"thinkcap": {"policy": "gate(otherwise=os:getcwd)", "kind": "number"}}, "unknown_policy", "os:getcwd"),
        ({"thinkcap": {"policy": "gate(otherwise=os:x(a=1))", "kind": "number"}}, "unknown_policy", "os:x"),
        (
            {"thinkcap": {"policy": "gate(otherwise=vote(samples=99))", "kind": "number"}},
            "invalid_value",
            "samples",
        ),
        ({"thinkcap": {"policy": "gate(otherwise=iris(frist=9))", "kind": "number"}}, "invalid_value", "'first'"),
        ({"thinkcap": {"policy": "stop(table=/etc/passwd)"}}, "invalid_value", "no files"),
        ({"model": "scripted+iris", "thinkcap": {"policy": "town"}}, "invalid_value", "town"),
        ({"tools": [F]}, "unsupported", "tools"),
        ({"tool_choice": "required"}, "invalid_value", "tool_choice needs tools"),
        ({"tools": [F], "tool_choice": "always"}, "invalid_value", "'always'; wanted none, auto, required"),
        ({"tools": [F], "tool_choice": {"type": "allowed_tools"}}, "invalid_value", "allowed_tools"),
        ({"tools": [F], "tool_choice": {**F, "function": {"name": "g"}}}, "invalid_value", "'g'; wanted"),
        ({"response_format": {"type": "json_object"}}, "unsupported", "response_format"),
        ({"response_format": {"type": "json_schema"}}, "invalid_value", "schema"),
        ({"top_logprobs": 2}, "invalid_value", "logprobs"),
        ({"stream_options": {"include_usage": True}}, "invalid_value", "stream"),
        ({"chat_template_kwargs": {"foo": 1}}, "unsupported", "foo"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            "unsupported",
            "image_url",
        ),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "unsupported", "tool"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(client: Client, change: Any, code: str, words: str) -> None:
    reply = client.post(URL, json={**body(), **change})
    assert reply.status_code == 400, reply.text
    error = reply.json()["error"]
    assert error["code"] == code
    assert words in error["message"]
    assert error["type"] == "invalid_request_error"


def test_unknown_models_and_paths_are_404_in_openai_form(client: Client) -> None:
    reply = client.post(URL, json={**body(), "model": "gpt-5"})
    assert reply.status_code == 404
    assert "scripted" in reply.json()["error"]["message"]
    for path in ("/v1/embeddings", "/v1/completions"):
        reply = client.post(path, json={})
        assert reply.status_code == 404
        assert reply.json()["error"]["code"] == "path_not_offered"
        assert path in reply.json()["error"]["message"]
    assert client.get("/nowhere").json()["error"]["code"] == "path_not_found"
    assert client.get(URL).json()["error"]["code"] == "method_not_allowed"


def test_thinking_can_be_switched_off_in_the_ways_clients_know(client: Client) -> None:
    for off in ({"reasoning_effort": "none"}, {"chat_template_kwargs": {"enable_thinking": False}}):
        found = client.post(URL, json=body(max_tokens=400, **off)).json()
        assert found["thinkcap"]["policy"] == "nothink"
        assert found["thinkcap"]["chosen_by"] == "request"


def test_text_parts_system_and_turns_reach_the_model(client: Client) -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "2"}, {"type": "text", "text": "?"}]},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "json"},
    ]
    found = client.post(URL, json={"model": "scripted", "messages": messages, "max_tokens": 50}).json()
    assert found["choices"][0]["message"]["content"] == '{"n": 42}'


def test_bookkeeping_fields_and_neutral_values_are_accepted(client: Client) -> None:
    neutral = {
        "user": "u",
        "n": 1,
        "presence_penalty": 0,
        "frequency_penalty": 0.0,
        "logit_bias": {},
        "logprobs": False,
    }
    reply = client.post(
        URL, json=body(max_tokens=300, **neutral, stop=None, tool_choice="auto", metadata={"a": "b"})
    )
    assert reply.status_code == 200, reply.text
    assert reply.json()["thinkcap"]["policy"] == "close"


def test_models_health_readiness_and_metrics(client: Client) -> None:
    client.post(URL, json=body(max_tokens=40, model="scripted+two_pass"))
    listed = client.get("/v1/models").json()["data"]
    assert [m["id"] for m in listed] == ["scripted"]
    assert client.get("/v1/models/scripted").json()["id"] == "scripted"
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").status_code == 200
    text = client.get("/metrics").text
    for name in (
        'thinkcap_requests_total{model="scripted",policy="two_pass",status="200"}',
        'thinkcap_tokens_total{model="scripted",policy="two_pass",stage="think"}',
        'thinkcap_extractions_total{model="scripted",policy="two_pass"}',
        "thinkcap_request_seconds_bucket",
        "thinkcap_first_token_seconds_bucket",
        "thinkcap_in_flight 0.0",
    ):
        assert name in text
